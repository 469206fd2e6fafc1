//! Programs with timers that expire again and again.

use std::path::Path;
use std::process::Command;
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::FailureKind;
use traces::report::Report;

/// Explores `./program` of the home.
fn explore(home: &Home, options: &[&str], arguments: &[&str]) -> Report {
    let explore = ["explore", "--json", "--workers", "1"];
    let all = [&explore[..], options, &["--", "./program"], arguments].concat();
    run(home.command(&all), BOUND).report()
}

fn compile_claim(home: &Home, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("claims").join(name);
    let mut compiler = Command::new("gcc");
    compiler.args(["-g", "-O1", "-pthread", "-o"]).arg(home.path().join("program")).arg(source);
    assert!(compiler.status().expect("gcc runs").success(), "{name}");
}

/// The threads wait for each other permanently, whatever the timer does.
#[test]
fn a_deadlock_beside_an_interval_timer_is_one() {
    for name in [
        "interval-timer-counts-while-none-signals.c",
        "timer-descriptor-counts-while-none-signals.c",
    ] {
        for strategy in ["auto", "dpor"] {
            let home = Home::new();
            compile_claim(&home, name);
            let report = explore(&home, &["--strategy", strategy], &[]);
            let [bug] = &report.bugs[..] else { panic!("{name}: {report:?}") };
            assert_eq!(bug.kind, FailureKind::Deadlock, "{name}: {report:?}");
            let reason =
                "a timer is armed, but its expirations change nothing that a thread waits for";
            assert!(format!("{bug:?}").contains(reason), "{name}: {bug:?}");
            assert!(report.max_steps < 1000, "{name}: {report:?}");
        }
    }
}

/// No thread that can run is later than the slack: the timer expires a hundred times within that, and not as often as the
/// strategy likes.
#[test]
fn a_periodic_timer_does_not_keep_a_thread_from_its_next_step() {
    const CASES: &[&str] =
        &["locks", "takes", "reads", "polls", "sleeps", "yields", "naps", "waits", "receives"];
    let home = Home::new();
    build(&home, "interval_timers", "program", &[]);
    let mut wrong = Vec::new();
    for case in CASES {
        for strategy in ["auto", "dpor", "directed", "random", "icb"] {
            let options = ["--strategy", strategy, "--max-executions", "300"];
            let report = explore(&home, &options, &[case]);
            if !report.bugs.is_empty() || report.max_steps > 10_000 {
                wrong.push(format!("{case}, {strategy}: {report:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The handler wakes a thread at last, so no execution ends before that. Each handler may be as late as the slack of a
/// second, in which the timer of 10 ms expires a hundred times, and the thread handles all of these as one signal.
#[test]
fn a_handler_that_wakes_a_thread_after_many_signals_is_no_deadlock() {
    let home = Home::new();
    compile_claim(&home, "interval-timer-wakes-at-last.c");
    for strategy in ["auto", "directed"] {
        let options = ["--strategy", strategy, "--max-executions", "300"];
        let report = explore(&home, &options, &[]);
        assert!(report.bugs.is_empty(), "{strategy}: {report:?}");
        assert!((600..300 * 101 + 1000).contains(&report.max_steps), "{strategy}: {report:?}");
    }
}

/// What a predicate watches has no clock: the same steps are enabled as without it, so that the trace repeats.
#[test]
fn a_predicate_does_not_change_when_timers_expire() {
    let home = Home::new();
    compile_claim(&home, "interval-timer-wakes-at-last.c");
    let never = ["--strategy", "directed", "--never", "ticks > 330", "--max-executions", "300"];
    let report = explore(&home, &never, &[]);
    let [bug] = &report.bugs[..] else { panic!("{report:?}") };
    assert_eq!(bug.kind, FailureKind::BrokenCondition, "{report:?}");
}
