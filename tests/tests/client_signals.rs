//! Signals that clients send (`--client 'kill -TERM $HEDDLE_PID'`): the search decides when they come.

use std::path::PathBuf;
use tests::heddle::Home;
use tests::hostile::build;
use traces::FailureKind;
use traces::report::{Report, Verdict};

const STOPS: &str = "kill -TERM $HEDDLE_PID";
const ASKS_AND_STOPS: &str = "kill -USR1 $HEDDLE_PID; sleep 0.1; kill -TERM $HEDDLE_PID";

struct Signalled {
    home: Home,
    program: PathBuf,
}

impl Signalled {
    fn new() -> Signalled {
        let home = Home::new();
        let program = build(&home, "signalled", "signalled", &[]);
        Signalled { home, program }
    }

    fn explore(&self, mode: &str, client: &str, options: &[&str]) -> Report {
        let program = self.program.display().to_string();
        let start = ["explore", "--json", "--out", "out", "--client", client];
        let all = [&start, options, &["--", &program, mode]].concat();
        self.home.heddle(all).report()
    }
}

#[test]
fn a_signal_between_a_look_and_a_wait_is_a_deadlock() {
    let program = Signalled::new();
    let report = program.explore("handler", STOPS, &[]);
    let [bug] = &report.bugs[..] else { panic!("{report:#?}") };
    assert_eq!(bug.kind, FailureKind::Deadlock, "{report:#?}");
    assert!(report.unconfirmed.is_empty(), "{report:#?}");
    let trace = bug.trace.clone().expect("a trace");
    let replayed = program.home.heddle(["replay", "--times", "5", &trace]);
    assert!(replayed.stdout.contains("5 of 5 runs"), "{replayed:?}");
    let shown = program.home.heddle(["show", "--list", &trace]).stdout;
    assert!(shown.contains("client 1") && shown.contains("signal 15"), "{shown}");
}

#[test]
fn a_signal_that_a_program_waits_for_correctly_is_no_failure() {
    for mode in ["suspend", "waits", "pipe", "file"] {
        let program = Signalled::new();
        let report = program.explore(mode, STOPS, &["--strategy", "dfs"]);
        assert_eq!(report.verdict, Verdict::Clean, "{mode}: {report:#?}");
        assert_eq!((report.outside, report.cut), (0, 0), "{mode}: {report:#?}");
    }
}

#[test]
fn a_handler_that_interrupts_an_update_is_found() {
    let program = Signalled::new();
    let report = program.explore("counts", ASKS_AND_STOPS, &[]);
    let [bug] = &report.bugs[..] else { panic!("{report:#?}") };
    assert_eq!(bug.kind, FailureKind::Abort, "{report:#?}");
    assert!(report.unconfirmed.is_empty(), "{report:#?}");
}

/// The second signal comes while the handler of the first one runs, which began before the wait.
#[test]
fn a_signal_that_comes_before_the_wait_which_unblocks_it_ends_the_wait() {
    let program = Signalled::new();
    let report =
        program.explore("counts", ASKS_AND_STOPS, &["--keep-going", "--max-executions", "200"]);
    let [bug] = &report.bugs[..] else { panic!("{report:#?}") };
    assert_eq!(bug.kind, FailureKind::Abort, "{report:#?}");
}

#[test]
fn a_signal_that_the_program_does_not_expect_is_named() {
    let program = Signalled::new();
    let path = program.program.display().to_string();
    let client = "kill -HUP $HEDDLE_PID";
    let run = program.home.heddle(["explore", "--client", client, "--", &path, "handler"]);
    assert_eq!(run.status, 3, "{run:?}");
    let expected =
        "sent signal 1, which ended the program: it had no handler for it, and did not block it";
    assert!(run.stderr.contains(expected), "{run:?}");
}
