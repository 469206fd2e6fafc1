//! `sched when PREDICATE` in gdb and lldb: a search for a schedule that satisfies a predicate.

use tests::debugging::{BOUND, compiled, expect, gdb, gdb_on, lldb};
use tests::heddle::{Home, Run, run};
use tests::targets::sources;

/// The lost update of `increment`: a thread writes, and another one has written since it read.
const LOST: &str = "*@increment.c:\"counter = seen + 1\": $1.seen != counter";
/// Two threads write at the same time, which the lock prevents.
const BOTH: &str = "*@increment.c:\"counter = seen + 1\" && *@increment.c:\"counter = seen + 1\"";

fn increment(home: &Home) -> String {
    let source = sources().join("increment.c");
    compiled(home, &source.to_string_lossy(), "increment", &[])
}

/// gdb on `increment` under the schedule without preemptions.
fn session(threads: &str, rounds: &str, commands: &[&str]) -> Run {
    let home = Home::new();
    let program = increment(&home);
    gdb_on(&home, &[&program, threads, rounds], commands)
}

/// The number in front of ` executions` in the line with this text.
fn executions(run: &Run, text: &str) -> u64 {
    let line = run.stdout.lines().find(|line| line.contains(text)).unwrap_or_default();
    let before = line.split(" executions").next().unwrap_or_default();
    let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{text}: {run:?}"))
}

#[test]
fn gdb_goes_to_a_schedule_that_satisfies_a_predicate() {
    let lost = format!("sched when {LOST}");
    let run = session(
        "2",
        "1",
        &[
            &lost,
            "print seen != counter",
            "info threads",
            "sched when",
            "continue",
            "sched pick back",
            "print counter",
        ],
    );
    expect(
        &run,
        &[
            "another schedule from step * on satisfies it, after * executions",
            "counter = seen + 1\": $1.seen != counter (T* at increment.c:",
            "about to do: T* from site  increment.c:23",
            "counter = seen + 1;",
            "$1 = 1",
            "from site*increment.c:23",
            "about to do: T* from site  increment.c:23",
            "No more reverse-execution history.",
            "$2 = 0",
        ],
    );
    // The schedule continues behind the state, and fails.
    assert!(run.stderr.contains("end of the schedule: exit status 1"), "{run:?}");
}

#[test]
fn a_schedule_that_satisfies_it_is_not_left() {
    let home = Home::new();
    let program = increment(&home);
    let words = ["explore", "--json", "--", program.as_str(), "2", "1"];
    let trace = home.heddle(words).report().bugs[0].trace.clone().expect("a trace");
    let lost = format!("sched when {LOST}");
    let run = gdb(&home, &trace, "failure", &[&lost, "print counter"]);
    expect(&run, &["this schedule satisfies it", "counter = seen + 1;", "$1 = 1"]);
}

#[test]
fn lldb_goes_to_a_schedule_that_satisfies_a_predicate() {
    let home = Home::new();
    let program = increment(&home);
    let words = ["explore", "--json", "--", program.as_str(), "2", "1"];
    let trace = home.heddle(words).report().bugs[0].trace.clone().expect("a trace");
    let together = "sched when T1@increment.c:21 && T2@increment.c:21";
    let run = lldb(&home, &trace, "main", &[together, "thread list", "sched when T1@ad"]);
    expect(
        &run,
        &[
            "satisfies it, after * executions",
            "(T1 at increment.c:21, T2 at increment.c:21)",
            "thread #2*increment.c:21",
            "thread #3*increment.c:21",
            "the nearest name is add (at character 4)",
            "   ^",
        ],
    );
}

#[test]
fn only_a_complete_search_says_that_no_schedule_satisfies_it() {
    let both = format!("sched when {BOTH}");
    let run = session("2", "1", &["sched when again", &both, "sched when again"]);
    expect(
        &run,
        &[
            "there was no search yet",
            "no schedule satisfies it (every schedule; ",
            "no schedule satisfies it (every schedule; ",
        ],
    );
    // The search that holds threads comes first.
    let all = executions(&run, "every schedule; ");
    assert!((2_000..50_000).contains(&all), "{run:?}");
}

#[test]
fn an_invalid_predicate_is_pointed_at_and_nothing_moves() {
    let run = session(
        "2",
        "1",
        &[
            "sched when T1@addd",
            "sched when T1@increment.c:15",
            "sched when T1@add: T1.sen == 1",
            "sched when T1@add && T1@main",
            "sched when T1@add: 1 == 2",
            "sched when T1@add: *counter == 1",
            "sched when T1",
            "sched when",
        ],
    );
    expect(
        &run,
        &[
            "no function addd, or it was optimised away; the nearest name is add (at character 4)",
            "  T1@addd",
            "     ^",
            "line 15 of increment.c has no code, or it was optimised away; the nearest lines",
            "sen is not in scope",
            "T1 cannot be at two sites at once, so the predicate can never hold",
            "the condition is always false, so the predicate can never hold",
            "(at character *)",
            "  T1@add: *counter == 1",
            "(at character *)",
            "step 0 of",
        ],
    );
}

/// A process interrupts gdb while the search runs; without an end, it would run for minutes.
#[test]
fn ctrl_c_ends_the_search_and_not_the_session() {
    let home = Home::new();
    let program = increment(&home);
    let search = format!("sched when {LOST} && counter == 1000");
    let interrupt = "python import os, signal, threading; \
                     threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()";
    let mut words = vec!["gdb", "--with", "-nx", "--with", "-batch"];
    for command in [interrupt, search.as_str(), "sched when"] {
        words.extend(["--with", "-ex", "--with", command]);
    }
    words.extend(["--", &program, "16", "16"]);
    let run = run(home.command(words), BOUND);
    expect(&run, &["[sched] ", "step 0 of", "step 0 of"]);
    let ended = ["interrupted after", "preemption"];
    assert!(ended.iter().any(|text| run.stdout.contains(text)), "{run:?}");
}
