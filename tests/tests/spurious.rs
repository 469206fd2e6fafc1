//! Spurious wake-ups, with `--spurious`: what is found, and that a trace records them.

use tests::heddle::Home;
use tests::targets::program;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn search(home: &Home, name: &str, options: &[&str], args: &[&str]) -> Report {
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    let usual = ["explore", "--json", "--workers", "1", "--max-executions", "300"];
    home.heddle([&usual[..], options, &["--", &path], args].concat()).report()
}

#[test]
fn a_wait_without_a_loop_fails_only_with_spurious_wake_ups() {
    let home = Home::new();
    for strategy in ["auto", "random", "icb", "dpor", "dfs"] {
        let report = search(&home, "spurious_if", &["--strategy", strategy, "--spurious"], &[]);
        assert!(report.bugs[0].message.contains("`ready' failed"), "{strategy}: {report:#?}");
        let report = search(&home, "spurious_if", &["--strategy", strategy], &[]);
        assert!(report.bugs.is_empty(), "{strategy}: {report:#?}");
    }
    // A condition variable of Rust's library is a futex.
    let report = search(&home, "spurious_rs", &["--spurious"], &["once"]);
    assert_eq!(report.bugs[0].kind, FailureKind::Panic, "{report:#?}");
    let report = search(&home, "spurious_rs", &[], &["once"]);
    assert!(report.bugs.is_empty(), "{report:#?}");
}

/// One task signals once and one waits: the wait may begin before the signal, after it, or not be
/// needed.
#[test]
fn each_possible_spurious_wake_up_is_a_choice() {
    let home = Home::new();
    for (most, schedules, classes) in [("0", 5, 2), ("1", 7, 4), ("2", 9, 6)] {
        let spurious = format!("--spurious={most}");
        for (strategy, executions) in [("dfs", schedules), ("dpor", classes)] {
            let options = ["--strategy", strategy, "--points", "api", &spurious];
            let report = search(&home, "spurious", &options, &[]);
            let result = (report.verdict, report.classes);
            assert_eq!(result, (Verdict::Clean, executions), "{strategy} {most}: {report:#?}");
        }
    }
}

#[test]
fn a_trace_records_spurious_wake_ups() {
    let home = Home::new();
    let report = search(&home, "spurious_if", &["--spurious"], &[]);
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let replayed = home.heddle(["replay", "--times", "20", &trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    let shrunk = home.heddle(["shrink", &trace]).stdout;
    assert!(shrunk.contains("proved minimal"), "{shrunk}");
    let shown = home.heddle(["show", &trace]).stdout;
    assert!(shown.contains("1 spurious wake-up"), "{shown}");
    assert!(shown.contains("wait changed [spurious wake-up]"), "{shown}");
    let explained = home.heddle(["explain", &trace]).stdout;
    assert!(
        explained.contains("\nspurious wake-up: a wait returned without a wake-up"),
        "{explained}"
    );
}
