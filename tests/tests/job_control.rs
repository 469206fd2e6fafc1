//! Programs that stop themselves: they are continued at once, as by a shell.

use tests::heddle::Home;
use tests::hostile::build;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn program(home: &Home) -> String {
    build(home, "stopped", "stopped", &[]).display().to_string()
}

fn explore(mode: &str) -> Report {
    let home = Home::new();
    home.heddle(["explore", "--json", "--", &program(&home), mode]).report()
}

/// Whether a report names this as not explored.
fn names(report: &Report, what: &str) -> bool {
    report.notes.iter().any(|note| note.starts_with(&format!("not explored: {what}")))
}

#[test]
fn a_program_that_stops_itself_is_continued_and_gets_the_signal_for_it() {
    let home = Home::new();
    let run = home.heddle(["run", "--", &program(&home), "suspends"]);
    assert_eq!(run.status, 0, "{run:?}");
    assert!(run.stdout.contains("suspended 2, continued 2\n"), "{run:?}");
    let report = explore("suspends");
    assert!(report.bugs.is_empty(), "{report:#?}");
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(names(&report, "the time for which a signal stops the process"), "{report:#?}");
}

#[test]
fn a_handler_that_runs_where_the_process_continues_is_explored() {
    let report = explore("redraws");
    let [bug] = &report.bugs[..] else { panic!("{report:#?}") };
    assert_eq!(bug.kind, FailureKind::Assertion, "{report:#?}");
    assert!(bug.message.contains("columns == 80"), "{report:#?}");
    assert!(report.unconfirmed.is_empty(), "{report:#?}");
}

#[test]
fn stopping_and_continuing_discard_each_other() {
    let report = explore("discards");
    assert!(report.bugs.is_empty(), "{report:#?}");
    assert!(names(&report, "which pending signal was discarded by another one"), "{report:#?}");
}

#[test]
fn a_timer_that_stops_the_process_is_not_supported() {
    let report = explore("timer");
    let expected = "a signal of a timer that stops the process";
    assert!(report.reason.contains(expected), "{report:#?}");
}
