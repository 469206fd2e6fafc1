//! State outside the program's memory that executions leave behind, and other processes: a search
//! retries before it reports a divergence, and reports what it had to skip.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, await_gone, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn explore(home: &Home, options: &[&str], program: &[&str]) -> Run {
    // What executions leave behind is the subject: they share the files.
    let args = ["explore", "--json", "--points", "api", "--workers", "1", "--scratch=never"];
    run(home.command([&args[..], options, &["--"], program].concat()), BOUND)
}

/// Explores a program that behaves differently in its first `first` executions, and in every
/// `every`-th one. It has not run before.
fn counting(options: &[&str], first: &str, every: &str) -> Report {
    let home = Home::new();
    build(&home, "counts_on_disk", "program", &[]);
    explore(&home, options, &["./program", first, every]).report()
}

const STRATEGIES: [&[&str]; 4] = [
    &["--strategy", "dfs"],
    &["--strategy", "icb"],
    &["--strategy", "dpor"],
    &["--strategy", "dpor", "--bound", "3"],
];

/// Before the search there are up to two executions without any search: a reference execution for
/// memory reset, and one that is compared with it.
const EARLIER: u64 = 2;

#[test]
fn warm_up_runs_let_the_first_executions_create_what_later_ones_find() {
    for (number, strategy) in STRATEGIES.iter().enumerate() {
        let calm = counting(strategy, "0", "0");
        assert_eq!((calm.verdict, calm.diverged), (Verdict::Clean, 0), "{calm:?}");
        let changing = counting(strategy, &(EARLIER + 3).to_string(), "0");
        assert_eq!(changing.verdict, Verdict::Incomplete, "{changing:?}");
        // A reduction has finished after as many executions; that its checking walks differ is
        // sufficient.
        if number < 2 {
            assert!(changing.diverged > 0 && !changing.complete, "{changing:?}");
            let says = ["diverged from its prefix at step", "three times", "write", "--prime"];
            assert!(says.iter().all(|part| changing.reason.contains(part)), "{}", changing.reason);
        }
        // The search continues with the program's new behaviour.
        if changing.diverged > 0 {
            assert!(changing.executions >= calm.executions, "{changing:?}");
        }
        let primed = counting(&[*strategy, &["--prime", "5"]].concat(), "5", "0");
        assert_eq!(primed.executions, calm.executions, "{primed:?}");
        assert_eq!((primed.verdict, primed.diverged), (Verdict::Clean, 0), "{primed:?}");
        assert!(
            primed.notes[0]
                .starts_with("5 warm-up executions created files and caches before the search"),
            "{primed:?}"
        );
    }
}

#[test]
fn an_execution_that_occasionally_diverges_is_run_again() {
    let bounded = ["--strategy", "dfs", "--bound", "2"];
    for strategy in [&bounded[..2], &bounded[..]] {
        let calm = counting(strategy, "0", "0");
        // The first execution of the search is a normal one: all others repeat its prefix.
        let disturbed = counting(strategy, "0", "5");
        assert_eq!(disturbed.executions, calm.executions, "{disturbed:?}");
        assert_eq!((disturbed.verdict, disturbed.diverged), (Verdict::Clean, 0), "{disturbed:?}");
    }
}

/// A failure in a warm-up run is reported: it may never occur again.
#[test]
fn a_failure_in_a_warm_up_run_is_reported() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    build(&home, "counts_on_disk", "fails", &[]);
    let failing = explore(&home, &["--prime", "3"], &["./fails"]);
    assert!(failing.stderr.contains("warm-up run 1 failed"), "{failing:?}");
    let wrong = explore(&home, &["--prime", "-1"], &["./program"]);
    assert_eq!((wrong.status, wrong.stdout.as_str()), (2, ""), "{wrong:?}");
    assert!(wrong.stderr.contains("0 or more"), "{wrong:?}");
}

#[test]
fn file_locks_block_and_deadlock() {
    for kind in ["-DFLOCK", "-DFCNTL"] {
        let home = Home::new();
        let program = build(&home, "locks_files", "program", &[kind]);
        let fine = explore(&home, &["--strategy", "dfs"], &["./program"]).report();
        assert_eq!((fine.verdict, fine.diverged), (Verdict::Clean, 0), "{kind}: {fine:?}");
        assert!(fine.executions >= 2, "either may be first: {fine:?}");
        // Two descriptors may refer to the same file, which no reduction knows.
        let reduced = explore(&home, &["--strategy", "dpor"], &["./program"]).report();
        assert_eq!(reduced.verdict, Verdict::Incomplete, "{kind}: {reduced:?}");
        build(&home, "locks_files", "program", &[kind, "-DOPPOSITE"]);
        let opposite = explore(&home, &["--strategy", "dfs"], &["./program"]).report();
        assert_eq!(opposite.verdict, Verdict::Bug, "{kind}: {opposite:?}");
        assert_eq!(opposite.bugs[0].kind, FailureKind::Deadlock, "{kind}: {opposite:?}");
        let trace = opposite.bugs[0].trace.as_deref().expect("a trace");
        let again = run(home.command(["replay", "--times", "3", trace]), BOUND);
        assert_eq!(again.status, 1, "{kind}: {again:?}");
        await_gone(&program);
    }
}

/// If no task is enabled, Heddle polls again: another process may only be slow.
#[test]
fn a_task_that_waits_for_another_process_is_given_time() {
    let home = Home::new();
    let program = build(&home, "asks_a_server", "program", &[]);
    let server = UnixListener::bind(home.path().join("server")).expect("a socket");
    let served = std::thread::spawn(move || {
        // Accepts connections until the test ends with its own connection.
        for (number, client) in server.incoming().enumerate() {
            let mut client = client.expect("a connection");
            let mut byte = [0];
            match client.read(&mut byte) {
                Ok(1) if byte[0] == b'a' => client.write_all(b"b").expect("it waits"),
                _ => return number,
            }
        }
        0
    });
    let found = explore(&home, &["--strategy", "dfs"], &["./program"]).report();
    assert_eq!((found.verdict, found.diverged), (Verdict::Clean, 0), "{found:?}");
    let mut last = std::os::unix::net::UnixStream::connect(home.path().join("server")).unwrap();
    last.write_all(b"z").expect("it listens");
    assert!(served.join().expect("it served") as u64 >= found.executions);
    await_gone(&program);
}

/// Explores a program that waits for another process in this way.
fn waits_outside(limit: &str, way: &[&str]) -> Report {
    let home = Home::new();
    build(&home, "waits_outside", "program", &[]);
    let options = ["--patience", limit, "--max-executions", "1"];
    explore(&home, &options, &[&["./program"], way].concat()).report()
}

#[test]
fn a_peer_that_never_answers_is_named_with_the_call_and_the_descriptor() {
    let ways = [
        ("accept", "a wait in accept for descriptor 3 (a socket), which no other process ended"),
        ("poll", "a wait in poll for descriptor 3 (a socket), which no other process ended"),
        (
            "loop",
            "a loop that calls accept for descriptor 3 (a socket), which no other process ended",
        ),
        ("lock", "a wait in flock for the lock of descriptor 3, which no other process ended"),
        ("child", "a wait for a signal, which no other process ended"),
    ];
    for (way, what) in ways {
        let report = waits_outside("200ms", &[way, "1000"]);
        assert_eq!(report.verdict, Verdict::Unsupported, "{way}: {report:?}");
        let bug = &report.bugs[0];
        assert_eq!(bug.kind, FailureKind::Unsupported, "{way}: {report:?}");
        assert!(bug.message.contains(what), "{way}: {}", bug.message);
        assert!(bug.message.contains("--patience"), "{way}: {}", bug.message);
    }
}

#[test]
fn the_signal_of_a_child_is_awaited_up_to_the_limit() {
    // Longer than the runtime waits without a step.
    let report = waits_outside("60s", &["child", "4"]);
    assert!(report.bugs.is_empty() && report.executions == 1, "{report:?}");
}
