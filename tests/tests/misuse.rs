//! Every mistake of `targets/misuse.c`: found, of the right kind, with both places.

use tests::heddle::Home;
use tests::targets::{matches, program};
use traces::FailureKind::{Deadlock, LockMisuse, SelfDeadlock, ThreadMisuse};
use traces::{FailureKind, report::Bug};

/// The mistake, its kind, and what is said of it; `*` stands for anything.
const MISTAKES: &[(&str, FailureKind, &str)] = &[
    ("unlock_free", LockMisuse, "a mutex is unlocked that is not locked; given back at misuse.c:*"),
    (
        "unlock_foreign",
        LockMisuse,
        "a mutex is unlocked by a task that does not hold it; taken at misuse.c:*",
    ),
    ("relock", SelfDeadlock, "T0 waits for m, which it holds itself"),
    ("relock_while_busy", SelfDeadlock, "T0 waits for m, which it holds itself"),
    ("destroy_locked", LockMisuse, "a mutex is destroyed while it is locked; taken at misuse.c:*"),
    (
        "use_destroyed",
        LockMisuse,
        "a mutex is used after it was destroyed; destroyed at misuse.c:*",
    ),
    (
        "wait_two_mutexes",
        LockMisuse,
        "a condition is waited for with two different mutexes at the same time; \
         waited for with the other at misuse.c:*",
    ),
    ("wait_unlocked", LockMisuse, "a condition is waited for with a mutex that is not locked"),
    (
        "destroy_waited",
        LockMisuse,
        "a condition variable is destroyed while a task waits for it; waited for at misuse.c:*",
    ),
    (
        "destroy_waiting_mutex",
        LockMisuse,
        "a mutex is destroyed while a task waits for a condition with it; taken at misuse.c:*",
    ),
    (
        "init_waited",
        LockMisuse,
        "a condition variable is initialised while a task waits for it; waited for at misuse.c:*",
    ),
    (
        "signal_destroyed",
        LockMisuse,
        "a condition variable is used after it was destroyed; destroyed at misuse.c:*",
    ),
    ("uninitialised", LockMisuse, "a mutex is used that was never initialised, or written over"),
    ("copied", LockMisuse, "a mutex is waited for that nobody locked: a copy of a locked one*"),
    ("join_twice", ThreadMisuse, "a thread is joined that is gone; joined at misuse.c:*"),
    ("join_self", ThreadMisuse, "a thread joins itself"),
    ("join_detached", ThreadMisuse, "a thread is joined that is detached; detached at misuse.c:*"),
    ("join_by_two", ThreadMisuse, "a thread is joined by two; joined at misuse.c:*"),
    (
        "detach_twice",
        ThreadMisuse,
        "a thread is detached that is detached already; detached at misuse.c:*",
    ),
    ("rw_unlock_free", LockMisuse, "a read-write lock is unlocked that is not locked"),
    (
        "rw_unlock_foreign",
        LockMisuse,
        "a read-write lock is unlocked by a task that does not hold it; taken at misuse.c:*",
    ),
    (
        "rw_destroy_locked",
        LockMisuse,
        "a read-write lock is destroyed while it is locked; taken at misuse.c:*",
    ),
    (
        "rw_use_destroyed",
        LockMisuse,
        "a read-write lock is used after it was destroyed; destroyed at misuse.c:*",
    ),
    ("rw_upgrade", SelfDeadlock, "T0 waits for rw, which it holds itself"),
    (
        "rw_recursion",
        Deadlock,
        "T0 waits for rw, which T1 waits to write; T1 waits for rw, held by T0",
    ),
    ("spin_unlock_free", LockMisuse, "a spin lock is unlocked that is not locked"),
    (
        "spin_unlock_foreign",
        LockMisuse,
        "a spin lock is unlocked by a task that does not hold it; taken at misuse.c:*",
    ),
    ("spin_relock", SelfDeadlock, "T0 waits for spin, which it holds itself"),
    ("barrier_count", Deadlock, "*the barrier is for 3 tasks, of which 2 came"),
    (
        "barrier_destroy_waited",
        LockMisuse,
        "a barrier is destroyed while tasks wait at it; waited at at misuse.c:*",
    ),
    ("barrier_uninitialised", LockMisuse, "a barrier is used that was never initialised"),
    (
        "sem_destroy_waited",
        LockMisuse,
        "a semaphore is destroyed while a task waits for it; waited for at misuse.c:*",
    ),
    (
        "sem_use_destroyed",
        LockMisuse,
        "a semaphore is used after it was destroyed; destroyed at misuse.c:*",
    ),
];

fn search(home: &Home, path: &str, mistake: &str) -> Vec<Bug> {
    let args = ["explore", "--json", "--keep-going", "--strategy", "dfs", "--max-steps", "300"];
    let mut args = args.to_vec();
    args.extend(["--max-executions", "60", "--", path, mistake]);
    home.heddle(&args).report().bugs
}

#[test]
fn every_mistake_is_named_with_both_places() {
    let home = Home::new();
    let path = program("misuse").build().expect("targets compile").to_string_lossy().into_owned();
    let mut wrong = Vec::new();
    for (mistake, kind, message) in MISTAKES {
        let bugs = search(&home, &path, mistake);
        let named = |bug: &&Bug| bug.kind == *kind && matches(message, &bug.message);
        match bugs.iter().find(named) {
            Some(bug) if bug.site.starts_with("misuse.c:") => {}
            _ => wrong.push(format!("{mistake}: {bugs:#?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_mistake_of_the_program() {
    let path = program("misuse").build().expect("targets compile");
    let listed = std::process::Command::new(path).output().expect("it runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let table: Vec<&str> = MISTAKES.iter().map(|(mistake, _, _)| *mistake).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), table);
}

#[test]
fn a_mistake_that_does_not_count_does_what_the_system_does() {
    let home = Home::new();
    let path = program("misuse").build().expect("targets compile").to_string_lossy().into_owned();
    let fail_on = "deadlock,self-deadlock,crash,exit";
    let args = ["explore", "--json", "--fail-on", fail_on, "--max-executions", "20", "--"];
    for mistake in ["unlock_foreign", "join_twice", "rw_unlock_foreign", "detach_twice"] {
        let mut args = args.to_vec();
        args.extend([path.as_str(), mistake]);
        let report = home.heddle(&args).report();
        assert!(report.bugs.is_empty(), "{mistake}: {report:#?}");
    }
}
