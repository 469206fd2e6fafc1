//! `--atomic` and `--focus`: where tasks are preempted, and what the report claims.

use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Report, Verdict};

/// A search of two tasks that each read and then set a balance, in two critical sections.
fn bank(options: &[&str]) -> Report {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    let path = path.to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--max-executions", "20000"];
    args.extend(options);
    args.extend(["--", &path]);
    home.heddle(&args).report()
}

fn reports_scope(report: &Report) -> bool {
    report.notes.iter().any(|note| note.contains("the search was scoped"))
}

#[test]
fn a_failure_that_needs_a_preemption_is_found_only_where_preemptions_are_allowed() {
    for (option, pattern, found) in [
        ("--focus", "bank.c", true),
        ("--focus", "bank", true),
        ("--focus", "?et", true),
        ("--focus", "main", false),
        ("--atomic", "main", true),
        ("--atomic", "bank.c", false),
        ("--atomic", "*et", false),
    ] {
        for strategy in ["icb", "dfs", "auto"] {
            let report = bank(&["--strategy", strategy, option, pattern]);
            let is_found = report.verdict == Verdict::Bug;
            assert_eq!(is_found, found, "{option} {pattern} {strategy}: {report:?}");
            assert!(reports_scope(&report), "{option} {pattern} {strategy}: {report:?}");
            // The report claims nothing about schedules with preemptions elsewhere.
            assert_eq!(report.bound, Some(-1), "{option} {pattern} {strategy}: {report:?}");
        }
    }
}

#[test]
fn a_reduction_in_a_scope_is_not_reported_as_complete() {
    for strategy in ["dpor", "auto"] {
        let report = bank(&["--strategy", strategy, "--atomic", "bank.c"]);
        assert_eq!(report.verdict, Verdict::Incomplete, "{report:?}");
        assert_eq!(report.diverged, 0, "{report:?}");
    }
    assert_eq!(bank(&["--strategy", "dfs", "--atomic", "bank.c"]).verdict, Verdict::Clean);
}

#[test]
fn a_pattern_that_matches_nothing_is_refused() {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    for option in ["--atomic", "--focus"] {
        let run = home.heddle(["explore", option, "no_such_name", "--", &path.to_string_lossy()]);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.stderr.contains("no_such_name"), "{run:?}");
    }
}

#[test]
fn a_failure_found_in_a_scope_replays_without_it() {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    let args = ["explore", "--json", "--focus", "set", "--", &path.to_string_lossy()];
    let report = home.heddle(args).report();
    let trace = report.bugs[0].trace.as_deref().expect("a trace");
    assert_eq!(home.heddle(["replay", "--times", "5", trace]).status, 1);
}
