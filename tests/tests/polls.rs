//! Tasks that wait by polling and read a clock, or by locks with time limits: they wait for what they
//! look at, unless a time ends their loop.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// The kinds of loops of `polls.c`, and whether `dpor` claims completeness where the wait ends.
const KINDS: &[(&str, bool)] = &[
    // In few executions of the learning phase does the loop have two iterations.
    ("clock and yield", false),
    ("timedlock", true),
    ("clocklock", true),
    ("timedlock of a held mutex", true),
    ("timedrdlock", true),
    ("sem_timedwait", true),
    ("lock, clock and usleep", true),
    ("cond_timedwait", true),
    ("own lock", true),
    ("own lock and usleep", true),
];

/// Those in which another task can meet the lock of an iteration.
const LOCKING: &[&str] = &[
    "timedlock",
    "clocklock",
    "lock and clock",
    "lock, clock and usleep",
    "cond_timedwait",
    "own lock",
    "own lock and usleep",
];

/// The places of `polls_until.c`.
const PLACES: &[&str] = &[
    "timespec",
    "static",
    "thread",
    "double",
    "heap",
    "register",
    "stack",
    "second",
    "register second",
];

fn explore(home: &Home, options: &[&str], program: &[&str]) -> Report {
    let args = ["explore", "--json", "--workers", "1"];
    run(home.command([&args[..], options, &["--"], program].concat()), BOUND).report()
}

#[test]
fn a_poll_with_a_setter_is_explored_completely() {
    let home = Home::new();
    build(&home, "polls", "polls", &[]);
    let mut wrong = Vec::new();
    for &(kind, complete) in KINDS {
        let options = ["--strategy", "dpor", "--max-executions", "1000"];
        let report = explore(&home, &options, &["./polls", kind, "set"]);
        let is_right = match report.verdict {
            Verdict::Clean => complete,
            Verdict::Incomplete => !complete,
            _ => false,
        };
        if !is_right || report.classes >= 1000 {
            wrong.push((kind, report.verdict, report.executions, report.reason));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_poll_without_a_setter_is_a_livelock_of_the_first_execution() {
    let home = Home::new();
    build(&home, "polls", "polls", &[]);
    let mut wrong = Vec::new();
    for kind in KINDS.iter().map(|(kind, _)| *kind).chain(["lock and clock"]) {
        // Without another task that takes the lock, this loop has no step at all: it is found as one
        // that keeps the processor.
        if kind == "own lock" {
            let report = explore(&home, &[], &["./polls", kind, "never"]);
            // The loop has several lines, and is interrupted at any of them: it is one failure.
            let kinds: Vec<_> = report.bugs.iter().map(|bug| bug.kind).collect();
            assert_eq!(kinds, [FailureKind::Spin], "{report:#?}");
            let trace = report.bugs[0].trace.as_deref().expect("a trace");
            let again = run(home.command(["replay", "--times", "3", trace]), BOUND);
            assert_eq!(again.status, 1, "{again:?}");
            continue;
        }
        let report = explore(&home, &["--strategy", "dpor"], &["./polls", kind, "never"]);
        let is_right = report.classes <= 1
            && report.bugs.len() == 1
            && report.bugs[0].kind == FailureKind::Livelock
            && report.bugs[0].site.starts_with("polls.c:");
        if !is_right {
            wrong.push((kind, report.verdict, report.executions, report.reason, report.bugs));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_failure_in_the_middle_of_a_further_iteration_is_found() {
    let home = Home::new();
    build(&home, "polls", "polls", &[]);
    for strategy in ["dpor", "icb"] {
        for kind in LOCKING {
            let options = ["--strategy", strategy, "--max-executions", "3000"];
            let report = explore(&home, &options, &["./polls", kind, "fail"]);
            assert_eq!(report.verdict, Verdict::Bug, "{strategy}, {kind}: {report:#?}");
            assert_eq!(report.bugs[0].kind, FailureKind::Abort, "{strategy}, {kind}");
        }
    }
}

/// A loop that only waits would be reported as a livelock, and the failure be missed.
#[test]
fn a_loop_that_ends_at_a_time_does_not_only_wait() {
    let home = Home::new();
    build(&home, "polls_until", "polls_until", &[]);
    for place in PLACES {
        for (mode, late) in [("never", "200"), ("set", "20")] {
            let options = ["--strategy", "dpor", "--max-executions", "3000"];
            let report = explore(&home, &options, &["./polls_until", place, mode, late]);
            assert_eq!(report.verdict, Verdict::Bug, "{place}, {mode}, {late}: {report:#?}");
            assert_eq!(report.bugs[0].kind, FailureKind::Abort, "{place}, {mode}, {late}");
        }
    }
}
