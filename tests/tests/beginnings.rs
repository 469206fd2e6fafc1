//! Searches of the beginnings of long executions, and threads that compute for long.

use tests::debugging::compiled;
use tests::heddle::Home;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn report(source: &str, options: &[&str], args: &[&str]) -> Report {
    let home = Home::new();
    let source = format!("{}/hostile/{source}", env!("CARGO_MANIFEST_DIR"));
    let path = compiled(&home, &source, "program", &["-O1"]);
    let mut all = options.to_vec();
    all.extend(["--json", "--", &path]);
    all.extend(args);
    home.heddle(&all).report()
}

fn beginnings(options: &[&str], args: &[&str]) -> Report {
    let all = [&["explore", "--beginnings", "500"], options].concat();
    report("long_run.c", &all, args)
}

#[test]
fn long_executions_end_after_their_first_steps() {
    for strategy in ["auto", "random", "icb"] {
        let search = ["--strategy", strategy, "--max-executions", "60", "--workers", "1"];
        let report = beginnings(&search, &["counts", "40000"]);
        assert!(report.classes > 20, "{strategy}: {report:?}");
        assert_eq!(report.cut, report.classes, "{strategy}: {report:?}");
        assert_eq!((report.verdict, report.complete), (Verdict::Incomplete, false), "{report:?}");
        assert!((500..=16_000).contains(&report.step_limit), "{strategy}: {report:?}");
        assert_eq!(report.max_steps, report.step_limit, "{strategy}: {report:?}");
        // An execution that later ones repeat has the length of the others.
        assert_eq!(report.step_limit > 500, strategy == "random", "{strategy}: {report:?}");
    }
}

#[test]
fn lengths_do_not_depend_on_the_number_of_workers() {
    let counts = |workers| {
        let search = ["--strategy", "random", "--max-executions", "200", "--workers", workers];
        let report = beginnings(&search, &["counts", "40000"]);
        (report.executions, report.distinct, report.cut, report.step_limit, report.max_steps)
    };
    assert_eq!(counts("1"), counts("2"));
}

#[test]
fn short_executions_run_to_their_end() {
    let search = ["--strategy", "dfs", "--bound", "1", "--workers", "1"];
    let report = beginnings(&search, &["counts", "20"]);
    assert_eq!(report.cut, 0, "{report:?}");
    let all = self::report("long_run.c", &[&["explore"], &search[..]].concat(), &["counts", "20"]);
    assert_eq!((report.executions, report.bound), (all.executions, all.bound), "{report:?}");
}

#[test]
fn a_thread_that_computes_for_long_does_not_spin() {
    let run = ["run", "--points", "api", "--spin-after", "100ms"];
    let found = report("computes.c", &run, &["computes", "100000000"]);
    assert!(found.bugs.is_empty(), "{found:?}");
    let found = report("computes.c", &run, &["spins"]);
    let kinds: Vec<FailureKind> = found.bugs.iter().map(|bug| bug.kind).collect();
    assert_eq!(kinds, [FailureKind::Spin], "{found:?}");
}
