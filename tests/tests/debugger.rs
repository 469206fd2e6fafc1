//! gdb and lldb on recorded schedules.

use tests::debugging::{BOUND, built, expect, failing, failing_with, gdb, gdb_on, lldb};
use tests::heddle::{Home, run};

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
fn a_session_begins_at_the_failure() {
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
fn watchpoints_and_reverse_continue_find_the_writer() {
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
fn an_instruction_back_and_forward_is_the_same_position() {
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
fn breakpoints_of_the_runtime_are_invisible() {
    let home = Home::new();
    let trace = failing_with(&home, "unguarded", "racy");
    let commands = [
        "disassemble add",
        "break unguarded.c:10",
        "continue",
        "next",
        "next",
        "next",
        "info threads",
        "delete",
        "watch counter",
        "continue",
        "continue",
        "delete",
        "continue",
        "watch counter",
        "reverse-continue",
        "print counter",
        "stepi",
        "print counter",
        "reverse-continue",
        "reverse-continue",
        "print counter",
    ];
    let run = gdb(&home, &trace, "main", &commands);
    assert!(!run.stdout.contains("int3") && !run.stdout.contains("SIGTRAP"), "{run:?}");
    expect(
        &run,
        &[
            "hit Breakpoint 1, add (",
            "11*int seen = counter;",
            "(runnable: read ",
            "Old value = ",
            "New value = 3",
            "counter = seen + 1;",
            "$1 = 3",
            "$2 = 4",
            "New value = 3",
            "New value = 2",
            "$3 = 2",
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
fn calls_and_changes_happen_in_a_temporary_copy() {
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
fn a_debugger_goes_from_preemption_to_preemption() {
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

#[test]
fn programs_in_cpp_and_rust_are_debugged_from_main_on() {
    let home = Home::new();
    let path = built("async");
    let run = gdb_on(
        &home,
        &[&path],
        &[
            "next",
            "info threads",
            "break async.cpp:13",
            "continue",
            "reverse-next",
            "continue",
            "continue",
            "continue",
        ],
    );
    expect(
        &run,
        &[
            "main () at async.cpp:",
            "Thread 1.1 \"main\"",
            "Breakpoint 1, main ()",
            "exited normally",
        ],
    );
    let path = built("poisoned");
    let run = gdb_on(
        &home,
        &[&path],
        &[
            "break poisoned.rs:11",
            "continue",
            "backtrace",
            "reverse-continue",
            "continue",
            "delete",
            "continue",
            "continue",
        ],
    );
    expect(
        &run,
        &[
            "hit Breakpoint 1, poisoned::main::{closure",
            "#0 *poisoned.rs:11",
            "No more reverse-execution history.",
            "hit Breakpoint 1, poisoned::main::{closure",
            "exited normally",
        ],
    );
}

#[test]
fn sixty_four_threads() {
    let home = Home::new();
    let path = built("increment");
    let run = gdb_on(
        &home,
        &[&path, "63", "1"],
        &["sched goto 70", "info threads", "sched goto 5", "info threads"],
    );
    let listed = |from: &str| run.stdout.lines().filter(|line| line.contains(from)).count();
    assert!(listed("Thread 1.64 ") >= 1, "{run:?}");
    assert!(listed("Thread 1.3 ") >= 2, "{run:?}");
}

#[test]
fn a_blocked_thread_that_is_stepped_continues_when_enabled() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "break debugged.c:13",
            "continue",
            "continue",
            "info threads",
            "delete",
            "thread 2",
            "next",
            "thread",
        ],
    );
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("[sched] T2 is blocked: lock lock, held by T1"), "{run:?}");
    expect(&run, &["(blocked: lock lock, held by T1)", "Current thread is 2"]);
    let trace = failing(&home, "abba");
    let run = gdb(&home, &trace, "failure", &["sched back", "sched goto 3", "thread 3", "finish"]);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("end of the schedule") || said.contains("never runs again"), "{run:?}");
}

#[test]
fn a_function_is_called_in_a_copy() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "tbreak bump",
            "continue",
            "when",
            "print (int)abs(-3)",
            // It takes a lock and counts, in the copy.
            "print bump(1, 2)",
            "print counter",
            "when",
            "next",
            "print counter",
            "continue",
            "continue",
        ],
    );
    expect(&run, &["$1 = 3", "$2 = 3", "$3 = 1", "exited with code 07"]);
    assert!(run.stderr.contains("changes discarded"), "{run:?}");
    let positions: Vec<&str> =
        run.stdout.lines().filter(|line| line.contains("position")).collect();
    assert_eq!(positions[0], positions[1], "{run:?}");
}

#[test]
fn a_program_is_restarted_stepped_in_both_directions_and_killed() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let run = gdb(
        &home,
        &trace,
        "main",
        &[
            "tbreak bump",
            "continue",
            "next",
            "reverse-next",
            "checkpoint",
            "next",
            "restart 1",
            "info checkpoints",
            "finish",
            "tbreak bump",
            "run",
            "kill",
        ],
    );
    expect(
        &run,
        &[
            "hit Temporary breakpoint 1, bump (id=1, i=0)",
            "Checkpoint 1:",
            "1  at",
            "Value returned",
            "hit Temporary breakpoint 2, bump (id=1, i=0)",
            "killed",
        ],
    );
}

#[test]
fn the_machine_interface_works() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let script = home.path().join("mi");
    std::fs::write(
        &script,
        "-break-insert bump\n-exec-continue\n-thread-info\n-stack-list-frames\n\
         -exec-step --reverse\n-thread-select 1\n-gdb-exit\n",
    )
    .expect("written");
    let mut command = home.command([
        "gdb",
        &trace,
        "--at",
        "main",
        "--with",
        "-nx",
        "--with",
        "--interpreter=mi3",
    ]);
    command.stdin(std::fs::File::open(&script).expect("there"));
    let run = run(command, BOUND);
    assert!(run.stdout.contains("name=\"main\"") || run.stdout.contains("\"worker-1\""), "{run:?}");
    assert!(run.stdout.contains("^exit"), "{run:?}");
}

#[test]
fn lldb_follows_the_schedule() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let commands = [
        "b bump",
        "c",
        "thread list",
        "bt",
        "p tls_id",
        "breakpoint disable 1",
        "thread step-over",
        "watchpoint set variable counter",
        "c",
        "image list",
        "sched when",
        "sched reverse continue",
        "p counter",
        "watchpoint delete -f",
        "sched goto end",
        "c",
    ];
    let run = lldb(&home, &trace, "main", &commands);
    expect(
        &run,
        &[
            "stop reason = breakpoint 1.1",
            "bump(id=1, i=0) at debugged.c:12",
            "frame #1: *worker",
            "(int) 1",
            "stop reason = step over",
            "stop reason = watchpoint 1",
            "libc.so.6",
            "step * of 32",
            "counter = before + 1;",
            "(int) 1",
            "exited with status = 7",
        ],
    );
    // lldb prints the values and the stop in either order.
    expect(&run, &["new value: 2", "new value: 1", "exited"]);
}

/// Going to a position at which a thread runs that lldb has not selected.
#[test]
fn lldb_goes_to_positions_of_other_threads() {
    let home = Home::new();
    let trace = failing(&home, "debugged");
    let commands = [
        "thread list",
        "sched prev",
        "script print('at', lldb.sched_pos, lldb.sched_thread, lldb.sched_enabled)",
        "help sched goto",
        "sched goto end",
        "sched goto start",
        "sched stop-on preempt",
        // The last command: when lldb reads commands from its command line, it ends at such a stop.
        "c",
    ];
    let run = lldb(&home, &trace, "failure", &commands);
    expect(
        &run,
        &[
            "name = 'main'",
            "[sched] step * of 32, position *: about to do: T",
            "stop reason = position ",
            "at * 2",
            "sched goto POSITION: go to a step",
            "stop reason = end of the schedule: exit status 7",
            "stop reason = position 0.+0",
            "[sched] preemption at step ",
            "stop reason = the schedule reaches a step to stop at",
        ],
    );
}
