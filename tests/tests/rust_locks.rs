//! Searches of programs that use the locks of Rust's standard library.

use tests::debugging::store_points;
use tests::heddle::Home;
use tests::packages::package;
use tests::targets::program;
use traces::report::{Report, Verdict};

fn search(name: &str, args: &[&str], strategy: &str) -> Report {
    let home = Home::new();
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    // With the points of an earlier search the learning phase is one execution.
    store_points(&home, &path, args);
    let options = ["explore", "--json", "--keep-going", "--strategy", strategy];
    let limit = ["--max-executions", "20000", "--", &path];
    home.heddle([&options[..], &limit, args].concat()).report()
}

/// As many as there are orders in which the threads hold the mutex, with and without optimisation.
#[test]
fn one_execution_for_each_order_of_the_holders_of_a_mutex() {
    for name in ["mutex_increments", "mutex_increments_unoptimised"] {
        for (threads, orders) in [("2", 2), ("3", 6)] {
            let report = search(name, &[threads], "dpor");
            assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
            assert_eq!(report.classes, orders, "{name}, {threads} threads: {report:?}");
        }
    }
}

/// An attempt before, while and after main holds the mutex.
#[test]
fn an_attempt_that_fails_does_not_wait() {
    let report = search("mutex_attempt", &[], "dpor");
    assert_eq!((report.verdict, report.complete), (Verdict::Bug, true), "{report:?}");
    assert_eq!(report.classes, 3, "{report:?}");
    let failing = report.bugs.iter().map(|bug| bug.count).sum::<u64>();
    assert!((1..=2).contains(&failing), "{report:?}");
}

#[test]
fn a_loop_that_looks_under_a_mutex_waits_for_a_change() {
    for (strategy, most) in [("dpor", 50), ("auto", 500)] {
        let report = search("mutex_poll", &[], strategy);
        assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
        assert!(report.classes <= most, "{report:?}");
    }
}

#[test]
fn searches_of_programs_with_a_condition_variable_are_complete() {
    for strategy in ["dpor", "auto"] {
        let report = search("condvar_flag", &[], strategy);
        assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
        assert!(report.classes <= 100, "{report:?}");
    }
}

/// Each iteration has another deadline, and those of `park_timeout` change a word and change it back.
#[test]
fn a_loop_that_waits_with_a_time_limit_waits_for_a_change() {
    for name in ["park_timeout_loop", "wait_timeout_loop"] {
        for (strategy, most) in [("dpor", 200), ("auto", 1000)] {
            let report = search(name, &[], strategy);
            assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
            assert!(report.classes <= most, "{report:?}");
        }
    }
}

/// A loop that counts its iterations is in a new state after each of them.
#[test]
fn a_loop_that_waits_with_a_time_limit_may_give_up() {
    let report = search("park_timeout_gives_up", &[], "auto");
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
}

/// The runtime sees words of memory and futexes; the report names locks, their holders, and what is no object.
#[test]
fn what_blocks_a_thread_in_rusts_library_is_named() {
    let scope = "T0 waits for the threads of its scope";
    for (what, parts) in [
        ("rwlock", [scope, "held_by_word::SECOND, held by T2", "held_by_word::FIRST, held by T1"]),
        ("once", [scope, "held_by_word::ONCE, held by T2", "held_by_word::MUTEX, held by T1"]),
        ("barrier", ["T0 waits for the other threads of a barrier", "", ""]),
        ("message", ["T0 waits for a message", "", ""]),
        ("park", ["T0 waits for an unpark", "", ""]),
    ] {
        // Depth first, `dpor` permutes the ends of the threads before it reverses the locks.
        let report = search("held_by_word", &[what], "auto");
        let messages: Vec<&str> = report.bugs.iter().map(|bug| bug.message.as_str()).collect();
        let named = |message: &&str| parts.iter().all(|part| message.contains(part));
        assert!(messages.iter().any(named), "{what}: {messages:?}");
        assert!(messages.iter().all(|message| !message.contains("heap block")), "{messages:?}");
    }
}

/// The learning phase meets it first, before the mutex is a point: two tasks wait for a futex.
#[test]
fn a_mutex_that_is_locked_twice_is_one_failure() {
    let home = Home::new();
    let path = program("mutex_locked_twice").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    for options in [&["--keep-going"][..], &[]] {
        let report = home.heddle([&["explore", "--json"], options, &["--", &path]].concat());
        let report = report.report();
        let kinds: Vec<_> = report.bugs.iter().map(|bug| bug.kind).collect();
        assert_eq!(kinds, [traces::FailureKind::SelfDeadlock], "{report:?}");
        assert!(report.unconfirmed.is_empty(), "{report:?}");
    }
}

/// The lock cycle is recognised, and the steps are those of a lock.
#[test]
fn a_deadlock_over_read_write_locks_is_a_cycle_of_locks() {
    let home = Home::new();
    let path = program("held_by_word").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    let run = home.heddle(["explore", "--strategy", "dpor", "--", &path, "rwlock"]);
    let trace = run.stdout.split_whitespace().find(|word| word.ends_with(".heddle"));
    let trace = trace.unwrap_or_else(|| panic!("{run:?}"));
    let explained = home.heddle(["explain", trace]).stdout;
    assert!(explained.contains("lock-order deadlock"), "{explained}");
    let shown = home.heddle(["show", trace]).stdout;
    assert!(shown.contains("waits for lock held_by_word::FIRST, held by T1"), "{shown}");
    assert!(shown.contains("l held_by_word::FIRST") || shown.contains("l read lock"), "{shown}");
}

/// A thread waits for a futex of `parking_lot`'s queue: the program knows the condition variable.
#[test]
fn a_wait_for_a_condition_variable_of_parking_lot_names_it() {
    let home = Home::new();
    let source = "use parking_lot::{Condvar, Mutex};\nstatic READY: Mutex<bool> = Mutex::new(false);\n\
        static CHANGED: Condvar = Condvar::new();\nfn main() {\n    \
        let one = std::thread::spawn(|| {\n        let mut ready = READY.lock();\n        \
        while !*ready {\n            CHANGED.wait(&mut ready);\n        }\n    });\n    \
        CHANGED.notify_one();\n    *READY.lock() = true;\n    one.join().unwrap();\n}\n";
    let Some(program) = package(&home, "parking_lot = \"=0.12.5\"", source) else { return };
    let report = home.explore(&["--strategy", "dpor", "--max-executions", "2000"], &[&program]);
    let bug = report.bugs.first().unwrap_or_else(|| panic!("{report:?}"));
    assert!(bug.message.contains("T1 waits for CHANGED"), "{bug:?}");
    let trace = bug.trace.clone().expect("a trace");
    let shown = home.heddle(["show", &trace]).stdout;
    for part in ["lock uses_crate::READY", "waits for CHANGED"] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
}
