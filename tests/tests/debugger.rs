//! Real gdb on a schedule.

use std::time::Duration;
use tests::heddle::{Home, Run, run};
use tests::targets::{matches, program};

/// No session takes longer.
const BOUND: Duration = Duration::from_secs(120);

/// A failing trace of a target.
fn failing(home: &Home, name: &str) -> String {
    let target = program(name);
    let path = target.build().expect("targets compile").to_string_lossy().into_owned();
    let mut words = vec!["explore", "--strategy", "random", "--json", "--", &path];
    words.extend(target.args.iter().map(String::as_str));
    home.heddle(words).report().bugs[0].trace.clone().expect("a trace")
}

/// What gdb prints when it is given these commands.
fn gdb(home: &Home, trace: &str, at: &str, commands: &[&str]) -> Run {
    let mut words = vec!["gdb", trace, "--at", at, "--with", "-nx", "--with", "-batch"];
    for command in commands {
        words.extend(["--with", "-ex", "--with", command]);
    }
    run(home.command(words), BOUND)
}

/// Each of these lines comes after the one before; `*` stands for anything.
#[track_caller]
fn expect(run: &Run, lines: &[&str]) {
    let mut printed = run.stdout.lines();
    for line in lines {
        let pattern = format!("*{line}*");
        assert!(
            printed.any(|printed| matches(&pattern, printed)),
            "{line:?} does not come where it should:\n{}\n{}",
            run.stdout,
            run.stderr
        );
    }
}

#[test]
fn threads_have_names_states_and_the_programs_own_frames() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "break bump",
            "continue",
            "backtrace",
            "print tls_id",
            "next",
            "next",
            "info threads",
            "thread 1",
            "backtrace 1",
            "thread 2",
            "print tls_id",
            "delete",
            "continue",
            "continue",
        ],
    );
    expect(
        &run,
        &[
            "main () at debugged.c:3",
            "\"worker-1\" hit Breakpoint 1, bump (id=1, i=0) at debugged.c:12",
            "#0  bump (id=1, i=0) at debugged.c:12",
            "#1 *worker (arg=0x1) at debugged.c:28",
            "$1 = 1",
            "Thread 1.1 \"main\" (blocked: join T1 (T1 has not ended))*main () at debugged.c:38",
            "Thread 1.2 \"worker-1\" (blocked: lock lock, held by T2)*bump (id=1, i=0) at debugged.c:12",
            "* 3 *Thread 1.3 \"worker-2\" (running)*bump (id=2, i=0) at debugged.c:13",
            "#0 *main () at debugged.c:38",
            "$2 = 1",
            "No more reverse-execution history.",
            "exited with code 07",
        ],
    );
}

#[test]
fn the_session_begins_where_the_failure_shows() {
    let home = Home::new();
    let trace = failing(&home, "account");
    let run = gdb(&home, &trace, "failure", &["backtrace", "info threads", "when"]);
    expect(&run, &["#0 *check (*account.c:43", "\"check\" (running)", "execution is over"]);
    let trace = failing(&home, "abba");
    let run = gdb(&home, &trace, "failure", &["info threads", "sched why T1", "sched who a"]);
    expect(
        &run,
        &["blocked: lock b, held by T2", "blocked: lock a, held by T1", "T1: b is held by T2"],
    );
}

#[test]
fn watchpoints_and_reverse_continue_find_who_wrote() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "watch counter",
            "continue",
            "continue",
            "when",
            "reverse-continue",
            "print counter",
            "reverse-continue",
            "when",
            "reverse-continue",
            "when",
        ],
    );
    expect(
        &run,
        &[
            "Old value = 0",
            "New value = 1",
            "Old value = 1",
            "New value = 2",
            "Old value = 2",
            "New value = 1",
            "counter = before + 1;",
            "$1 = 1",
            "Old value = 1",
            "New value = 0",
            "No more reverse-execution history.",
            "step 0 of",
        ],
    );
}

#[test]
fn an_instruction_back_and_an_instruction_forward_is_the_same_place() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "break bump if i == 2",
            "continue",
            "when",
            "print $rip",
            "reverse-stepi",
            "reverse-stepi",
            "stepi",
            "stepi",
            "when",
            "print $rip == $1",
            "delete",
            "reverse-stepi",
            "continue",
            "reverse-continue",
            "reverse-stepi",
        ],
    );
    let positions: Vec<&str> =
        run.stdout.lines().filter(|line| line.contains("position")).collect();
    assert_eq!(positions.len(), 2, "{run:?}");
    expect(
        &run,
        &[
            "hit Breakpoint 1, bump (id=2, i=2)",
            "$2 = 1",
            "No more reverse-execution history.",
            "No more reverse-execution history.",
            "No more reverse-execution history.",
        ],
    );
}

#[test]
fn system_calls_are_caught() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(&home, &trace, "main", &["catch syscall write", "continue", "continue"]);
    expect(&run, &["(call to syscall write)", "(returned from syscall write)"]);
}

#[test]
fn calls_and_changes_happen_in_a_copy_that_is_thrown_away() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "break bump",
            "continue",
            "set var counter = 41",
            "print counter",
            "next",
            "print counter",
            "delete",
            "continue",
            "when",
        ],
    );
    expect(&run, &["$1 = 41", "$2 = 0", "step 32 of 32"]);
    let said = run.stdout.contains("changes discarded") || run.stderr.contains("changes discarded");
    assert!(said, "{run:?}");
}

#[test]
fn preemptions_are_gone_to_one_after_the_other() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "sched preemptions",
            "sched next",
            "when",
            "sched next",
            "sched prev",
            "when",
            "back",
            "when",
            "sched goto end",
            "print $_sched_pos",
        ],
    );
    let at: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("step "))
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    assert_eq!(at.len(), 3, "{run:?}");
    assert_eq!(at[0], at[1], "{run:?}");
    assert_ne!(at[1], at[2], "{run:?}");
    expect(&run, &["$1 = \"32.end\""]);
}
