//! Waits that come back by themselves, on request: what is found, and that a trace has it.

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
fn a_wait_without_a_loop_fails_only_where_it_is_asked_for() {
    let home = Home::new();
    for strategy in ["auto", "random", "icb", "dpor", "dfs"] {
        let report = search(&home, "spurious_if", &["--strategy", strategy, "--spurious"], &[]);
        assert!(report.bugs[0].message.contains("`ready' failed"), "{strategy}: {report:#?}");
        let report = search(&home, "spurious_if", &["--strategy", strategy], &[]);
        assert!(report.bugs.is_empty(), "{strategy}: {report:#?}");
    }
    // A condition variable of Rust's is a futex.
    let report = search(&home, "spurious_rs", &["--spurious"], &["once"]);
    assert_eq!(report.bugs[0].kind, FailureKind::Panic, "{report:#?}");
    let report = search(&home, "spurious_rs", &[], &["once"]);
    assert!(report.bugs.is_empty(), "{report:#?}");
}

/// One that signals once and one that waits: the wait may come before, or after, or not be needed.
#[test]
fn each_wait_that_may_come_back_by_itself_is_a_choice() {
    let home = Home::new();
    for (most, schedules, classes) in [("0", 5, 2), ("1", 7, 4), ("2", 9, 6)] {
        let spurious = format!("--spurious={most}");
        for (strategy, executions) in [("dfs", schedules), ("dpor", classes)] {
            let options = ["--strategy", strategy, "--points", "api", &spurious];
            let report = search(&home, "spurious", &options, &[]);
            let came = (report.verdict, report.executions);
            assert_eq!(came, (Verdict::Clean, executions), "{strategy} {most}: {report:#?}");
        }
    }
}

#[test]
fn a_trace_has_what_came_back_by_itself() {
    let home = Home::new();
    let report = search(&home, "spurious_if", &["--spurious"], &[]);
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let replayed = home.heddle(["replay", "--times", "20", &trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    let shrunk = home.heddle(["shrink", &trace]).stdout;
    assert!(shrunk.contains("proved minimal"), "{shrunk}");
    let shown = home.heddle(["show", &trace]).stdout;
    assert!(shown.contains("1 spurious wake-up"), "{shown}");
    assert!(shown.contains("wait changed [comes back by itself]"), "{shown}");
    let explained = home.heddle(["explain", &trace]).stdout;
    assert!(explained.contains("\nspurious wake-up: a wait came back"), "{explained}");
}
