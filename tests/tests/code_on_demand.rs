//! Code is decoded and probed when the program is about to execute it.

use tests::heddle::Home;
use tests::hostile::build;
use traces::report::{Report, Verdict};

fn explore(options: &[&str], arguments: &[&str]) -> Report {
    let home = Home::new();
    let program = build(&home, "enters_late", "enters_late", &[]).display().to_string();
    let mut command = vec![program.as_str()];
    command.extend(arguments);
    home.explore(options, &command)
}

/// Each of the 64 functions has two accesses. One of them is called in both, and the last one is in the page of another
/// function.
#[test]
fn only_functions_that_are_executed_are_probed() {
    let few = explore(&["--strategy", "dpor"], &["calls", "1"]);
    let many = explore(&["--strategy", "random", "--max-executions", "10"], &["calls", "64"]);
    assert_eq!(few.verdict, Verdict::Clean, "{few:#?}");
    assert!(
        many.points.probes >= few.points.probes + 2 * 62,
        "{} and {}",
        few.points.probes,
        many.points.probes
    );
    // The report counts all code that can be decoded.
    assert_eq!((few.points.code, few.points.covered), (many.points.code, many.points.covered));
}

/// The function is decoded in the middle of an execution, in each process or once.
#[test]
fn a_conflict_in_code_that_is_executed_late_is_found() {
    let searches = ["memory", "fork"].map(|reset| {
        let options = ["--strategy", "dpor", "--keep-going", "--reset", reset];
        let report = explore(&options, &["rare"]);
        assert!(report.complete, "{reset}: {report:#?}");
        let [bug] = &report.bugs[..] else { panic!("{reset}: {report:#?}") };
        assert!(bug.message.contains("total == 1 + was_late"), "{reset}: {report:#?}");
        (report.executions, report.points.probes)
    });
    assert_eq!(searches[0], searches[1]);
}

#[test]
fn the_programs_own_handler_sees_only_its_own_faults() {
    let report = explore(&[], &["handler"]);
    assert!(report.bugs.is_empty(), "{report:#?}");
}

#[test]
fn an_instruction_in_two_pages_is_probed() {
    let report = explore(&["--strategy", "dpor", "--keep-going"], &["straddles"]);
    let [bug] = &report.bugs[..] else { panic!("{report:#?}") };
    assert!(bug.message.contains("stored == 2"), "{report:#?}");
}

/// A debugger shows the program's text as it is at the start.
#[test]
fn a_replay_shows_the_same_failure() {
    let home = Home::new();
    let program = build(&home, "enters_late", "enters_late", &[]).display().to_string();
    let found = home.explore(&["--strategy", "dpor"], &[&program, "rare"]);
    let trace = found.bugs[0].trace.as_deref().expect("a trace");
    let replayed = home.heddle(["replay", "--json", "--times", "3", trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
}
