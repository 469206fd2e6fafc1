//! What executions leave outside the program's memory, and what other processes do meanwhile: a search
//! tries again before it believes, and says what it had to leave out.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use tests::heddle::{Home, Run, run};
use tests::hostile::{BOUND, await_gone, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn explore(home: &Home, options: &[&str], program: &[&str]) -> Run {
    let args = ["explore", "--json", "--points", "api", "--workers", "1"];
    run(home.command([&args[..], options, &["--"], program].concat()), BOUND)
}

/// A program that does something else in its first so many executions, and in every so-manieth; nobody
/// ran it before.
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

/// Before the search there are up to two executions in which nothing is searched: the one that memory
/// reset is compared with, and the one that is compared.
const EARLIER: u64 = 2;

#[test]
fn what_is_set_up_in_the_first_executions_is_there_once_they_came_before_the_search() {
    for (number, strategy) in STRATEGIES.iter().enumerate() {
        let calm = counting(strategy, "0", "0");
        assert_eq!((calm.verdict, calm.diverged), (Verdict::Clean, 0), "{calm:?}");
        let changing = counting(strategy, &(EARLIER + 3).to_string(), "0");
        assert_eq!(changing.verdict, Verdict::Incomplete, "{changing:?}");
        // A reduction is over after as many: that walks come to something else says enough.
        if number < 2 {
            assert!(changing.diverged > 0 && !changing.complete, "{changing:?}");
            let says = ["left its prefix at step", "three times", "write", "--prime"];
            assert!(says.iter().all(|part| changing.reason.contains(part)), "{}", changing.reason);
        }
        // It goes on with what the program does from then on.
        if changing.diverged > 0 {
            assert!(changing.executions >= calm.executions, "{changing:?}");
        }
        let primed = counting(&[*strategy, &["--prime", "5"]].concat(), "5", "0");
        assert_eq!(primed.executions, calm.executions, "{primed:?}");
        assert_eq!((primed.verdict, primed.diverged), (Verdict::Clean, 0), "{primed:?}");
        assert!(primed.notes[0].starts_with("5 executions came before the search"), "{primed:?}");
    }
}

#[test]
fn an_execution_that_goes_another_way_now_and_then_is_run_again() {
    let bounded = ["--strategy", "dfs", "--bound", "2"];
    for strategy in [&bounded[..2], &bounded[..]] {
        let calm = counting(strategy, "0", "0");
        // The first execution of the search is a calm one: all others repeat how it began.
        let disturbed = counting(strategy, "0", "5");
        assert_eq!(disturbed.executions, calm.executions, "{disturbed:?}");
        assert_eq!((disturbed.verdict, disturbed.diverged), (Verdict::Clean, 0), "{disturbed:?}");
    }
}

/// A failure before the search is told of: it may never come again.
#[test]
fn what_fails_before_the_search_is_told_of() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &[]);
    build(&home, "counts_on_disk", "fails", &[]);
    let failing = explore(&home, &["--prime", "3"], &["./fails"]);
    assert!(
        failing.stderr.contains("execution 1 of those before the search failed"),
        "{failing:?}"
    );
    let wrong = explore(&home, &["--prime", "-1"], &["./program"]);
    assert_eq!((wrong.status, wrong.stdout.as_str()), (2, ""), "{wrong:?}");
    assert!(wrong.stderr.contains("0 or more"), "{wrong:?}");
}

#[test]
fn locks_on_files_are_waited_for_and_deadlock() {
    for kind in ["-DFLOCK", "-DFCNTL"] {
        let home = Home::new();
        let program = build(&home, "locks_files", "program", &[kind]);
        let fine = explore(&home, &["--strategy", "dfs"], &["./program"]).report();
        assert_eq!((fine.verdict, fine.diverged), (Verdict::Clean, 0), "{kind}: {fine:?}");
        assert!(fine.executions >= 2, "either may be first: {fine:?}");
        // Two descriptors may be of the same file, which no reduction knows.
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

/// Where nobody can move it is looked again: another process only takes its time.
#[test]
fn a_task_that_waits_for_another_process_is_given_time() {
    let home = Home::new();
    let program = build(&home, "asks_a_server", "program", &[]);
    let server = UnixListener::bind(home.path().join("server")).expect("a socket");
    let served = std::thread::spawn(move || {
        // Connections: until the test is over, whose own is the last.
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
