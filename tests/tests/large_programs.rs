//! Programs with much code: learning is part of the search.

use tests::debugging::compiled;
use tests::heddle::Home;
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// The executions that choose at calls into the threads library only.
const OPENING: u64 = 16;

fn explore(name: &str, options: &[&str], args: &[&str]) -> Report {
    let home = Home::new();
    let source = format!("{}/hostile/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let path = compiled(&home, &source, "program", &["-O1"]);
    let mut all = vec!["explore", "--json", "--workers", "1"];
    all.extend(options);
    all.extend(["--", &path]);
    all.extend(args);
    home.heddle(&all).report()
}

#[test]
fn the_first_executions_of_a_program_with_much_code_need_none_of_it() {
    let report = explore("much_code", &["--max-executions", "40"], &["locks"]);
    assert_eq!(report.bugs[0].kind, FailureKind::Deadlock, "{report:#?}");
    let bug = &report.bugs[0];
    assert!((1..=OPENING).contains(&bug.found_at), "{report:#?}");
    let counts = (report.executions, report.classes, report.learning);
    assert_eq!(counts, (bug.found_at, 0, bug.found_at));
    assert_eq!(report.points.probes, 0, "{report:#?}");
}

#[test]
fn executions_that_learn_count_in_a_program_with_much_code() {
    let report = explore("much_code", &["--max-executions", "100"], &["counts"]);
    assert_eq!(report.bugs[0].kind, FailureKind::Assertion, "{report:#?}");
    let bug = &report.bugs[0];
    assert!(bug.found_at > OPENING && bug.found_at <= report.executions, "{report:#?}");
    assert!(report.learning > OPENING, "{report:#?}");
}

/// One execution of the learning phase observes accesses, if the limit leaves room for it and for the search.
#[test]
fn a_search_with_few_executions_observes_the_accesses() {
    for (limit, observes) in [("1", false), ("3", true), ("20", true)] {
        let options = ["--strategy", "dpor", "--max-executions", limit];
        let report = explore("much_code", &options, &["counts"]);
        assert_eq!(report.points.probes > 0, observes, "{report:#?}");
        assert!(report.executions <= limit.parse().expect("a number"), "{report:#?}");
        assert_ne!(report.verdict, Verdict::Clean, "{report:#?}");
    }
}

/// A program with one task has one schedule.
#[test]
fn a_search_whose_executions_observed_nothing_is_not_complete() {
    for (limit, is_complete) in [("1", false), ("2", false), ("40", true)] {
        let report = explore("much_code", &["--max-executions", limit], &["alone"]);
        assert_eq!(report.complete, is_complete, "{report:#?}");
        assert!(report.executions <= limit.parse().expect("a number"), "{report:#?}");
    }
}

#[test]
fn a_complete_search_of_a_program_with_much_code_consists_of_its_classes() {
    let search = ["--strategy", "dpor", "--points", "racy"];
    let report = explore("much_code", &search, &[]);
    let api = explore("much_code", &["--strategy", "dpor", "--points", "api"], &[]);
    assert_eq!(report.verdict, Verdict::Clean, "{report:#?}");
    assert_eq!(report.classes, api.classes, "{report:#?} {api:#?}");
    assert!(report.executions >= report.classes + OPENING, "{report:#?}");
    assert_eq!(api.executions, api.classes, "{api:#?}");
}
