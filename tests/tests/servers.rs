//! Servers with clients (`--client`): these run once, while they are recorded, and every later execution, replay and
//! view repeats what they did. And searches that begin in the middle of an execution (`--begin-at`).

use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use tests::heddle::Home;
use tests::hostile::{await_gone, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// A port that no other test uses. Only the recording binds it.
fn port() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let process = std::process::id() % 400;
    (20_000 + 20 * process as u16 + NEXT.fetch_add(1, Ordering::Relaxed)).to_string()
}

struct Server {
    home: Home,
    program: PathBuf,
    address: String,
}

impl Server {
    fn at(address: &str) -> Server {
        let home = Home::new();
        let program = build(&home, "serves", "serves", &[]);
        Server { home, program, address: address.to_owned() }
    }

    fn new() -> Server {
        Server::at(&port())
    }

    /// The command of a client that sends these texts.
    fn client(&self, texts: &str) -> String {
        format!("{} ask {} {texts}", self.program.display(), self.address)
    }

    /// The arguments of a verb for the server in a mode, with one client for each of the texts.
    fn arguments(&self, verb: &str, mode: &str, clients: &[&str], options: &[&str]) -> Vec<String> {
        let mut all = vec![verb.to_owned()];
        if !options.contains(&"--resume") {
            all.extend(["--out".to_owned(), "out".to_owned()]);
        }
        all.extend(options.iter().map(|one| (*one).to_owned()));
        for texts in clients {
            all.extend(["--client".to_owned(), self.client(texts)]);
        }
        let program = self.program.display().to_string();
        all.extend(["--".to_owned(), program, mode.to_owned(), self.address.clone()]);
        all
    }

    fn explore(&self, mode: &str, clients: &[&str], options: &[&str]) -> Report {
        let options = [&["--json"], options].concat();
        self.home.heddle(self.arguments("explore", mode, clients, &options)).report()
    }
}

#[test]
fn a_lost_visit_is_found_replayed_and_explained_without_the_clients() {
    for begin in [None, Some("idle"), Some("serve"), Some("serves.c:129")] {
        let server = Server::new();
        let begin_at = begin.map_or(Vec::new(), |place| vec!["--begin-at", place]);
        let report = server.explore("lost", &["hello", "hello"], &begin_at);
        let [bug] = &report.bugs[..] else { panic!("{begin:?}: {report:#?}") };
        assert_eq!(bug.kind, FailureKind::Abort, "{begin:?}: {report:#?}");
        assert!(report.unconfirmed.is_empty(), "{begin:?}: {report:#?}");
        let trace = bug.trace.clone().expect("a trace");
        // No client runs from here on: the program of the clients is there no more under its name.
        let replayed = server.home.heddle(["replay", "--times", "5", &trace]);
        assert_eq!(replayed.status, 1, "{begin:?}: {replayed:?}");
        assert!(replayed.stdout.contains("5 of 5 runs"), "{begin:?}: {replayed:?}");
        let shrunk = server.home.heddle(["shrink", &trace]);
        // In one order of everything before, it may take more.
        let most = if begin.is_some_and(|place| place != "idle") { 2 } else { 1 };
        let few =
            (1..=most).any(|count| shrunk.stdout.contains(&format!("to   {count} preemption")));
        assert!(few, "{begin:?}: {shrunk:?}");
        let shown = server.home.heddle(["show", "--list", &trace]).stdout;
        for part in ["client 1", "client 2", "ready connection", "ready send of 6 bytes"] {
            assert!(shown.contains(part), "{begin:?}: no {part} in {shown}");
        }
        if begin.is_none() {
            let page = server.home.heddle(["explain", &trace]).stdout;
            assert!(page.contains("atomicity violation"), "{page}");
        }
    }
}

#[test]
fn a_server_without_a_failure_has_none() {
    for (mode, workers) in [("sound", "1"), ("timed", "2")] {
        for begin in ["", "idle"] {
            let server = Server::new();
            let mut options = vec!["--max-executions", "1500", "--workers", workers];
            if !begin.is_empty() {
                options.extend(["--begin-at", begin]);
            }
            let report = server.explore(mode, &["hello", "good day"], &options);
            assert_eq!(report.verdict, Verdict::Incomplete, "{mode} {begin}: {report:#?}");
            assert!(report.unconfirmed.is_empty(), "{mode} {begin}: {report:#?}");
            assert_eq!(report.executions + report.given_up, 1500, "{mode} {begin}: {report:#?}");
            assert_eq!((report.cut, report.outside), (0, 0), "{mode} {begin}: {report:#?}");
            let note = report.notes.iter().any(|note| note.contains("--client"));
            assert!(note, "{mode} {begin}: {report:#?}");
        }
    }
}

#[test]
fn one_client_of_a_sound_server_is_explored_completely() {
    let server = Server::new();
    let report = server.explore("sound", &["hello"], &["--strategy", "dpor", "--begin-at", "idle"]);
    assert_eq!(report.verdict, Verdict::Clean, "{report:#?}");
    let assumed = |part: &str| report.notes.iter().any(|note| note.contains(part));
    assert!(assumed("--client") && assumed("--begin-at"), "{report:#?}");
    // In one order of everything before, there are fewer schedules.
    let whole = server.explore("sound", &["hello"], &["--strategy", "dpor"]);
    assert_eq!(whole.verdict, Verdict::Clean, "{whole:#?}");
    assert!(whole.classes >= report.classes, "{whole:#?} {report:#?}");
}

#[test]
fn the_program_gets_the_addresses_that_it_asked_for() {
    let path = std::env::temp_dir().join(format!("heddle-serves-{}/it", std::process::id()));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut addresses = vec![port(), path.display().to_string()];
    match std::net::TcpListener::bind("[::1]:0") {
        Ok(_) => addresses.push(format!("v6:{}", port())),
        Err(_) => println!("SKIPPED: addresses of version 6, which this machine does not have"),
    }
    for address in addresses {
        let server = Server::at(&address);
        let options = ["--max-executions", "200", "--strategy", "random"];
        let report = server.explore("names", &["hello", "hello"], &options);
        assert_eq!(report.verdict, Verdict::Incomplete, "{address}: {report:#?}");
        assert!(report.unconfirmed.is_empty(), "{address}: {report:#?}");
    }
    std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
}

/// What a client would do after another answer is not known.
#[test]
fn an_execution_ends_where_an_answer_differs_from_the_recording() {
    let server = Server::new();
    let report = server.explore("order", &["a b", "c d"], &["--max-executions", "300"]);
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:#?}");
    assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{report:#?}");
    assert!(report.outside > 0, "{report:#?}");
    assert!(report.outside < report.executions, "{report:#?}");
    assert_eq!(report.cut, 0, "{report:#?}");
}

#[test]
fn a_client_that_gets_no_answer_is_a_deadlock_with_its_name() {
    let server = Server::new();
    // In the recording, the first text of the second client is the second that the server gets, and the server answers
    // all of the first client's.
    let lonely = server.home.heddle(server.arguments("explore", "silent", &["a", "b"], &[]));
    // The second client never gets an answer, also when it is recorded.
    assert_eq!(lonely.status, 3, "{lonely:?}");
    assert!(lonely.stderr.contains("client 2"), "{lonely:?}");
    assert!(lonely.stderr.contains("neither sends anything nor ends"), "{lonely:?}");
}

#[test]
fn a_run_with_clients_prints_what_the_program_prints_and_can_be_replayed() {
    let server = Server::new();
    let run = server.home.heddle(server.arguments("run", "sound", &["hello"], &[]));
    assert_eq!(run.status, 0, "{run:?}");
    let trace = run.trace();
    let replayed = server.home.heddle(["replay", trace]);
    assert_eq!(replayed.status, 0, "{replayed:?}");
    let json = server.home.heddle(["show", "--json", trace]).stdout;
    assert!(json.contains("ask"), "{json}");
}

#[test]
fn a_resumed_search_has_the_clients_that_it_had() {
    let server = Server::new();
    let first = server.explore("sound", &["hello", "hello"], &["--max-executions", "100"]);
    assert_eq!(first.executions + first.given_up, 100, "{first:#?}");
    let options = ["--max-executions", "200", "--resume", "out"];
    let resumed = server.explore("sound", &["hello", "hello"], &options);
    assert_eq!(resumed.executions + resumed.given_up, 200, "{resumed:#?}");
    let arguments = server.arguments("explore", "sound", &["other"], &["--resume", "out"]);
    let other = server.home.heddle(arguments);
    assert_eq!(other.status, 2, "{other:?}");
    assert!(other.stderr.contains("--client"), "{other:?}");
}

#[test]
fn what_keeps_clients_from_being_recorded_is_named() {
    let server = Server::new();
    let refused = |options: &[&str], part: &str| {
        let run = server.home.heddle(server.arguments("explore", "sound", &[], options));
        assert_eq!(run.status, 3, "{options:?}: {run:?}");
        assert!(run.stderr.contains(part), "{options:?}: {run:?}");
    };
    refused(&["--client", "exit 7"], "client 1 (`exit 7`) ended with status 7");
    refused(&["--client", "true"], "client 1 (`true`) made no connection");
    refused(&["--client", "no-such-command"], "ended with status 127");
    let sleeps = ["--patience", "500ms", "--client", "sleep 60"];
    refused(&sleeps, "wait for client 1 (`sleep 60`), which has made no connection");
    let many = ["--client", "true"].repeat(17);
    refused(
        &many,
        "the clients could not be recorded: more than 16 clients, or 512 connections of them",
    );
    // The client ends the process of the program, which is the parent of its parent.
    let kills = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)";
    refused(&["--client", kills], "died while its clients were recorded: ");
    let other = ["explore", "--client", "true", "--", "true"];
    let run = server.home.heddle(other);
    assert_eq!(run.status, 3, "{run:?}");
    assert!(run.stderr.contains("before it listened"), "{run:?}");
    // Another process has the address, as natively.
    let taken = std::net::TcpListener::bind(format!("127.0.0.1:{}", server.address)).unwrap();
    let run = server.home.heddle(server.arguments("explore", "sound", &["hello"], &[]));
    drop(taken);
    assert_eq!(run.status, 3, "{run:?}");
    assert!(run.stderr.contains("): `heddle run` without --client shows how"), "{run:?}");
}

#[test]
fn a_client_leaves_no_process_behind() {
    let server = Server::new();
    let lingers = build(&server.home, "endless", "lingers", &[]);
    let client = format!("{} & {}", lingers.display(), server.client("hello"));
    let arguments = server.arguments("run", "sound", &[], &["--client", &client]);
    let run = server.home.heddle(arguments);
    assert_eq!(run.status, 0, "{run:?}");
    await_gone(&lingers);
}

#[test]
fn a_place_to_begin_at_that_is_not_there_is_named() {
    let server = Server::new();
    for (place, status, part) in [
        ("nowhere", 2, "no function nowhere"),
        ("serves.c:9999", 2, "line 9999"),
        ("serve && main", 2, "expected idle, a function, or FILE:LINE"),
    ] {
        let arguments = server.arguments("explore", "sound", &["hello"], &["--begin-at", place]);
        let run = server.home.heddle(arguments);
        assert_eq!(run.status, status, "{place}: {run:?}");
        assert!(run.stderr.contains(part), "{place}: {run:?}");
    }
}

/// The process that waits at the beginning of the search runs no part of the program again.
#[test]
fn the_part_before_the_beginning_is_run_once() {
    let server = Server::new();
    let options = ["--strategy", "random", "--max-executions", "200", "--points", "api"];
    let whole = server.explore("sound", &["hello"], &options);
    let idle =
        server.explore("sound", &["hello"], &[&options[..], &["--begin-at", "idle"]].concat());
    assert_eq!((whole.executions, idle.executions), (200, 200), "{whole:#?} {idle:#?}");
    assert!(whole.max_steps >= idle.max_steps, "{whole:#?} {idle:#?}");
}
