//! Every mistake of `targets/misuse.c` is found, with the right kind and both sites.

use tests::heddle::Home;
use tests::targets::{matches, program};
use traces::FailureKind::{
    BarrierCount, Crash, LockLeftHeld, ObjectInUse, ReadRecursion, SelfDeadlock, ThreadMisuse,
    Uninitialised, UnlockNotHeld, UsedDestroyed, WaitMutex,
};
use traces::{FailureKind, report::Bug};

/// The mistake, its kind, and its message; `*` matches anything.
const MISTAKES: &[(&str, FailureKind, &str)] = &[
    (
        "unlock_free",
        UnlockNotHeld,
        "a mutex is unlocked that is not locked; released at misuse.c:*",
    ),
    (
        "unlock_foreign",
        UnlockNotHeld,
        "a mutex is unlocked by a task that does not hold it; taken at misuse.c:*",
    ),
    ("relock", SelfDeadlock, "T0 waits for m, which it holds itself"),
    ("relock_while_busy", SelfDeadlock, "T0 waits for m, which it holds itself"),
    ("destroy_locked", ObjectInUse, "a mutex is destroyed while it is locked; taken at misuse.c:*"),
    (
        "use_destroyed",
        UsedDestroyed,
        "a mutex is used after it was destroyed; destroyed at misuse.c:*",
    ),
    (
        "wait_two_mutexes",
        WaitMutex,
        "a condition variable is waited on with two different mutexes at the same time; \
         waits with the other mutex at misuse.c:*",
    ),
    (
        "wait_unlocked",
        WaitMutex,
        "a condition variable is waited on with a mutex that is not locked",
    ),
    (
        "destroy_waited",
        ObjectInUse,
        "a condition variable is destroyed while a task waits on it; waits at misuse.c:*",
    ),
    (
        "destroy_waiting_mutex",
        ObjectInUse,
        "a mutex is destroyed while a task waits on a condition variable with it; taken at misuse.c:*",
    ),
    (
        "init_waited",
        ObjectInUse,
        "a condition variable is initialised while a task waits on it; waits at misuse.c:*",
    ),
    (
        "signal_destroyed",
        UsedDestroyed,
        "a condition variable is used after it was destroyed; destroyed at misuse.c:*",
    ),
    (
        "uninitialised",
        Uninitialised,
        "a mutex is used but was never initialised, or was overwritten",
    ),
    ("copied", Uninitialised, "waits for a mutex that no task locked: a copy of a locked one*"),
    ("rw_copied", Uninitialised, "waits for a read-write lock that no task locked: a copy*"),
    ("spin_copied", Uninitialised, "waits for a spin lock that no task locked: a copy*"),
    ("cond_uninitialised", Uninitialised, "a condition variable is used but was never initial*"),
    ("rw_uninitialised", Uninitialised, "a read-write lock is used but was never initialised*"),
    ("spin_uninitialised", Uninitialised, "a spin lock is used but was never initialised*"),
    ("sem_uninitialised", Uninitialised, "a semaphore is used but was never initialised*"),
    ("barrier_written_over", Uninitialised, "a barrier is used but was never initialised*"),
    ("join_twice", ThreadMisuse, "a thread that no longer exists is joined; joined at misuse.c:*"),
    ("join_self", ThreadMisuse, "a thread joins itself"),
    ("join_detached", ThreadMisuse, "a detached thread is joined; detached at misuse.c:*"),
    ("join_by_two", ThreadMisuse, "a thread is joined by two threads; joined at misuse.c:*"),
    ("detach_twice", ThreadMisuse, "a detached thread is detached again; detached at misuse.c:*"),
    ("rw_unlock_free", UnlockNotHeld, "a read-write lock is unlocked that is not locked"),
    (
        "rw_unlock_foreign",
        UnlockNotHeld,
        "a read-write lock is unlocked by a task that does not hold it; taken at misuse.c:*",
    ),
    (
        "rw_destroy_locked",
        ObjectInUse,
        "a read-write lock is destroyed while it is locked; taken at misuse.c:*",
    ),
    (
        "rw_use_destroyed",
        UsedDestroyed,
        "a read-write lock is used after it was destroyed; destroyed at misuse.c:*",
    ),
    ("rw_upgrade", SelfDeadlock, "T0 waits for rw, which it holds itself"),
    (
        "rw_recursion",
        ReadRecursion,
        "T0 waits for rw, which T1 waits to write; T1 waits for rw, held by T0",
    ),
    ("spin_unlock_free", UnlockNotHeld, "a spin lock is unlocked that is not locked"),
    (
        "spin_unlock_foreign",
        UnlockNotHeld,
        "a spin lock is unlocked by a task that does not hold it; taken at misuse.c:*",
    ),
    ("spin_relock", SelfDeadlock, "T0 waits for spin, which it holds itself"),
    ("barrier_count", BarrierCount, "*the barrier is for 3 tasks, of which 2 arrived"),
    (
        "barrier_destroy_waited",
        ObjectInUse,
        "a barrier is destroyed while tasks wait at it; waits at misuse.c:*",
    ),
    ("barrier_uninitialised", Uninitialised, "a barrier is used but was never initialised*"),
    (
        "sem_destroy_waited",
        ObjectInUse,
        "a semaphore is destroyed while a task waits for it; waits at misuse.c:*",
    ),
    (
        "sem_use_destroyed",
        UsedDestroyed,
        "a semaphore is used after it was destroyed; destroyed at misuse.c:*",
    ),
    ("sem_nowhere", Crash, "SIGSEGV at address 0x40"),
    ("trylock_nowhere", Crash, "SIGSEGV at address 0x*"),
    ("rw_unlock_nowhere", Crash, "SIGSEGV at address 0x*"),
    ("leave_mutex", LockLeftHeld, "T1 ended and left m locked, taken"),
    ("leave_read", LockLeftHeld, "T1 ended and left rw locked, taken"),
    ("leave_written", LockLeftHeld, "T1 ended and left rw locked, taken"),
    ("leave_spin", LockLeftHeld, "T1 ended and left spin locked, taken"),
];

fn search(home: &Home, path: &str, mistake: &str, kind: FailureKind) -> Vec<Bug> {
    let args = ["explore", "--json", "--keep-going", "--strategy", "dfs", "--max-steps", "300"];
    let mut args = args.to_vec();
    let fail_on = if kind == LockLeftHeld { kind.name() } else { "default" };
    args.extend(["--max-executions", "60", "--fail-on", fail_on, "--", path, mistake]);
    home.heddle(&args).report().bugs
}

#[test]
fn every_mistake_is_reported_with_both_sites() {
    let home = Home::new();
    let path = program("misuse").build().expect("targets compile").to_string_lossy().into_owned();
    let mut wrong = Vec::new();
    for (mistake, kind, message) in MISTAKES {
        let bugs = search(&home, &path, mistake, *kind);
        let named = |bug: &&Bug| bug.kind == *kind && matches(message, &bug.message);
        match bugs.iter().find(named) {
            Some(bug) if bug.site.starts_with("misuse.c:") => {}
            _ => wrong.push(format!("{mistake}: {bugs:#?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_lists_every_mistake_of_the_program() {
    let path = program("misuse").build().expect("targets compile");
    let listed = std::process::Command::new(path).output().expect("it runs");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let table: Vec<&str> = MISTAKES.iter().map(|(mistake, _, _)| *mistake).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), table);
}

#[test]
fn an_ignored_mistake_behaves_as_natively() {
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

/// A thread may end with a lock held, if no other task takes the lock afterwards.
#[test]
fn a_lock_held_at_the_end_of_its_task_is_reported_and_is_no_failure() {
    let home = Home::new();
    let path = program("misuse").build().expect("targets compile").to_string_lossy().into_owned();
    let search = |fail_on: &str, mistake: &str| {
        let args = ["explore", "--json", "--fail-on", fail_on, "--strategy", "dfs", "--", &path];
        home.heddle([&args[..], &[mistake]].concat()).report()
    };
    for mistake in ["leave_mutex", "leave_read", "leave_written", "leave_spin"] {
        let report = search("default", mistake);
        assert!(report.bugs.is_empty() && report.complete, "{mistake}: {report:#?}");
        let [message] = &report.left_held[..] else { panic!("{mistake}: {report:#?}") };
        assert!(
            matches("T1 ended and left * locked, taken at misuse.c:* (trace *)", message),
            "{message}"
        );
    }
    assert!(search("default", "uninitialised").left_held.is_empty());
}

/// `--fail-on deadlock` includes the deadlocks that have a more specific kind.
#[test]
fn a_deadlock_of_a_more_specific_kind_still_counts_as_one() {
    let home = Home::new();
    let path = program("misuse").build().expect("targets compile").to_string_lossy().into_owned();
    for mistake in ["barrier_count", "rw_recursion"] {
        let args = ["explore", "--json", "--fail-on", "deadlock", "--", path.as_str(), mistake];
        let report = home.heddle(args).report();
        assert_eq!(report.bugs[0].kind, FailureKind::Deadlock, "{mistake}: {report:#?}");
    }
}

/// Regression test: the contents of the freed memory meant that the mutex was locked, and the task
/// waited until the program ended.
#[test]
fn a_task_about_to_lock_a_freed_mutex_does_not_wait_for_it() {
    let home = Home::new();
    let path = program("compressor").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    // The first reversal that the strategy tries keeps a task before the lock until main has freed
    // it.
    let options = ["--json", "--strategy", "directed", "--keep-going", "--max-executions", "2"];
    let report = home.heddle([&["explore"][..], &options, &["--", &path]].concat()).report();
    let said = "a mutex is used after it was destroyed; destroyed at compressor.c:*";
    let found = |bug: &Bug| bug.kind == UsedDestroyed && matches(said, &bug.message);
    assert!(report.bugs.iter().any(found), "{:#?}", report.bugs);
}
