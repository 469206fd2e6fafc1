//! Servers whose clients run in each execution (`--live-clients`): what they do after other answers than those of a
//! recording, and that a failure needs them no more.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use tests::heddle::{Home, Run};
use tests::hostile::{await_gone, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

struct Server {
    home: Home,
    program: PathBuf,
    port: String,
}

impl Server {
    fn new() -> Server {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        // No other test uses it.
        let process = std::process::id() % 400;
        let port = 28_000 + 10 * process as u16 + NEXT.fetch_add(1, Ordering::Relaxed);
        let home = Home::new();
        let program = build(&home, "serves", "serves", &[]);
        Server { home, program, port: port.to_string() }
    }

    /// The command of a client: `ask` or `insist`, with its texts behind the address.
    fn client(&self, how: &str, texts: &str) -> String {
        format!("{} {how} {} {texts}", self.program.display(), self.port)
    }

    fn run(&self, mode: &str, clients: &[String], options: &[&str]) -> Run {
        let mut all = vec!["explore".to_owned(), "--out".to_owned(), "out".to_owned()];
        all.extend(options.iter().map(|one| (*one).to_owned()));
        for client in clients {
            all.extend(["--client".to_owned(), client.clone()]);
        }
        let program = self.program.display().to_string();
        all.extend(["--".to_owned(), program, mode.to_owned(), self.port.clone()]);
        self.home.heddle(all)
    }

    fn explore(&self, mode: &str, clients: &[String], options: &[&str]) -> Report {
        self.run(mode, clients, &[&["--json"], options].concat()).report()
    }

    /// The trace of the only failure, which is of this kind. It happens again each time, without the clients.
    fn trace_of(&self, report: &Report, kind: FailureKind) -> String {
        let [bug] = &report.bugs[..] else { panic!("{report:#?}") };
        assert_eq!(bug.kind, kind, "{report:#?}");
        assert!(report.unconfirmed.is_empty(), "{report:#?}");
        let trace = bug.trace.clone().expect("a trace");
        let replayed = self.home.heddle(["replay", "--times", "20", &trace]);
        assert!(replayed.stdout.contains("20 of 20 runs"), "{replayed:?}");
        trace
    }
}

const LIVE: &str = "--live-clients";

/// The first client got "visit 1" in the recording, and says something else only after "visit 2".
#[test]
fn what_a_client_does_after_another_answer_is_found() {
    let server = Server::new();
    let clients = [server.client("insist", "'visit 2' first"), server.client("ask", "hello")];
    let recorded = server.explore("order", &clients, &["--max-executions", "500"]);
    assert!(recorded.bugs.is_empty() && recorded.outside > 0, "{recorded:#?}");
    let hint = recorded.notes.iter().find(|note| note.contains(LIVE));
    assert!(hint.is_some_and(|note| note.contains("than in the recording")), "{recorded:#?}");
    let report = server.explore("order", &clients, &[LIVE, "--max-executions", "500"]);
    assert_eq!(report.strategy, "random", "{report:#?}");
    assert_eq!((report.outside, report.workers), (0, 1), "{report:#?}");
    let note = report.notes.iter().find(|note| note.contains(LIVE));
    assert!(note.is_some_and(|note| note.starts_with("2 clients ran in each")), "{report:#?}");
    let trace = server.trace_of(&report, FailureKind::Abort);
    let shown = server.home.heddle(["show", "--list", &trace]).stdout;
    assert!(shown.matches("ready send of 6 bytes").count() >= 3, "{shown}");
}

/// The client of a test checks what it gets.
#[test]
fn a_live_client_that_fails_after_another_answer_is_a_failure() {
    let server = Server::new();
    let clients = [server.client("expect", "'visit 1'"), server.client("ask", "hello")];
    let report = server.explore("order", &clients, &[LIVE, "--max-executions", "500"]);
    let trace = server.trace_of(&report, FailureKind::Exit);
    let message = &report.bugs[0].message;
    assert!(message.starts_with("client 1 (`"), "{message}");
    assert!(message.ends_with("'visit 1'`) ended with status 4"), "{message}");
    let shrunk = server.home.heddle(["shrink", &trace]);
    assert!(shrunk.stdout.contains("to   0 preemptions"), "{shrunk:?}");
}

#[test]
fn a_lost_visit_of_live_clients_is_shrunk_without_them() {
    let server = Server::new();
    let clients = [server.client("ask", "hello"), server.client("ask", "hello")];
    for strategy in ["random", "pos", "pct"] {
        let options = [LIVE, "--strategy", strategy, "--max-executions", "1000"];
        let report = server.explore("lost", &clients, &options);
        let trace = server.trace_of(&report, FailureKind::Abort);
        let shrunk = server.home.heddle(["shrink", &trace]);
        assert!(shrunk.stdout.contains("to   1 preemption"), "{strategy}: {shrunk:?}");
    }
}

#[test]
fn a_live_client_that_gets_no_answer_is_a_deadlock_with_its_name() {
    let server = Server::new();
    let clients = [server.client("ask", "hello"), server.client("ask", "hello")];
    let options = [LIVE, "--patience", "2s", "--max-executions", "1000"];
    let report = server.explore("some", &clients, &options);
    server.trace_of(&report, FailureKind::Deadlock);
    let message = &report.bugs[0].message;
    assert!(message.contains("waits for answer"), "{message}");
    assert!(message.contains("waits for an answer on its connection 1, of which 0"), "{message}");
}

#[test]
fn live_clients_of_a_server_without_a_failure_find_none() {
    let server = Server::new();
    let clients = [server.client("ask", "hello again"), server.client("ask", "good day")];
    for mode in ["sound", "names", "timed"] {
        let report = server.explore(mode, &clients, &[LIVE, "--max-executions", "60"]);
        assert_eq!(report.verdict, Verdict::Incomplete, "{mode}: {report:#?}");
        assert!(report.unconfirmed.is_empty(), "{mode}: {report:#?}");
        assert_eq!((report.executions, report.cut), (60, 0), "{mode}: {report:#?}");
    }
}

/// It is slow, and waits for no data of the program: no deadlock.
#[test]
fn a_live_client_that_waits_for_a_time_is_named() {
    let server = Server::new();
    // The second time it takes longer than the program waits.
    let slow = format!("{}; test -e seen && sleep 5; touch seen", server.client("ask", "hello"));
    let options = [LIVE, "--patience", "1s", "--max-executions", "1"];
    let report = server.explore("sound", &[slow], &options);
    assert!(report.bugs.is_empty(), "{report:#?}");
    assert_eq!(report.verdict, Verdict::Unsupported, "{report:#?}");
    let [once] = &report.unconfirmed[..] else { panic!("{report:#?}") };
    assert_eq!(once.kind, FailureKind::Unsupported, "{report:#?}");
    assert!(once.message.contains("neither sends anything nor ends"), "{report:#?}");
}

#[test]
fn live_clients_leave_no_process_behind() {
    let server = Server::new();
    let lingers = build(&server.home, "endless", "lingers", &[]);
    let client = format!("{} & {}", lingers.display(), server.client("ask", "hello"));
    let report = server.explore("sound", &[client], &[LIVE, "--max-executions", "5"]);
    assert_eq!(report.executions, 5, "{report:#?}");
    await_gone(&lingers);
}

#[test]
fn what_cannot_be_searched_with_live_clients_is_refused() {
    let server = Server::new();
    let clients = [server.client("ask", "hello")];
    for (options, part) in [
        (
            &["--strategy", "dpor"][..],
            "--live-clients needs a strategy that repeats no part of an earlier execution, as dpor does: add \
             --strategy random",
        ),
        (&["--strategy", "auto"], "as auto does: add --strategy random"),
        (
            &["--workers", "2"],
            "--live-clients runs one execution at a time, since the clients connect to one address: remove \
             --workers",
        ),
        (&["--cluster", "embedded"], "cannot be used with"),
    ] {
        let run = server.run("sound", &clients, &[&[LIVE], options].concat());
        assert_eq!(run.status, 2, "{options:?}: {run:?}");
        assert!(run.stderr.contains(part), "{options:?}: {run:?}");
    }
    let run = server.run("sound", &[], &[LIVE]);
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.stderr.contains("--client <COMMAND>"), "{run:?}");
}
