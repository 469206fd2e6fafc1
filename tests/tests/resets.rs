//! The same seed gives the same executions, in every run and with every kind of reset.

use tests::debugging::{compiled_text, store_points};
use tests::heddle::Home;
use tests::hostile::build;
use tests::oracle::suite;
use tests::targets::program;
use traces::FailureKind;
use traces::report::{Bug, Report};

/// A search that learns the points itself.
fn search(name: &str, strategy: &str, reset: &str, most: &str) -> Report {
    search_in(&Home::new(), name, strategy, reset, most)
}

fn search_in(home: &Home, name: &str, strategy: &str, reset: &str, most: &str) -> Report {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--keep-going", "--strategy", strategy];
    // A thread that sleeps for an hour is sent signals until it ends. If the hour does not pass, random
    // walks send signals up to the limit on steps, and what they reach depends on the points kept.
    if name == "conform_signal" {
        args.extend(["--slack", "inf"]);
    }
    args.extend(["--seed", "7", "--reset", reset, "--max-executions", most, "--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

/// The part of a report that does not depend on speed or reset.
fn essence(report: &Report) -> (u64, u64, u64, u64, Vec<Bug>) {
    let bugs = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    (report.executions, report.distinct, report.max_steps, report.threads, bugs)
}

fn check(name: &str) {
    check_some(name, &["random", "dfs"], "60");
}

/// The executions that are compared if each is a process that starts anew, which takes a hundred times as
/// long. Nothing of the program can remain from one to the next, so that later ones show nothing else.
const AS_PROCESSES: u32 = 15;

fn check_some(name: &str, strategies: &[&str], most: &str) {
    let fewer = AS_PROCESSES.min(most.parse().expect("a number")).to_string();
    for strategy in strategies {
        for (most, resets) in [(most, ["fork", "memory"].as_slice()), (&fewer, &["exec"])] {
            let expected = search(name, strategy, "fork", most);
            for reset in resets {
                let report = search(name, strategy, reset, most);
                assert_eq!(essence(&report), essence(&expected), "{name} {strategy} {reset}");
            }
        }
    }
}

/// Regression test: in a copy of the process, in which an execution runs with `--reset fork` or to compare it
/// with memory reset, the id of main's thread was that of the copied process, which `getppid` returned as well.
/// So a program that asks whether its thread is main took another way.
#[test]
fn the_ids_of_process_threads_and_parent_agree_on_every_reset() {
    const TEXT: &str = "
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
static pid_t thread_id;
static int is_main(void) { return gettid() == getpid(); }
static int is_there(pid_t id) { return syscall(SYS_tgkill, getpid(), id, 0) == 0; }
static void *work(void *arg) {
    cpu_set_t set;
    thread_id = gettid();
    assert(!is_main() && is_there(thread_id) && is_there(getpid()));
    assert(syscall(SYS_gettid) == thread_id);
    assert(sched_getaffinity(thread_id, sizeof set, &set) == 0);
    return arg;
}
int main(void) {
    pthread_t thread;
    pid_t parent = getppid();
    assert(is_main() && is_there(gettid()) && parent != getpid() && !is_there(parent));
    assert(pthread_create(&thread, 0, work, 0) == 0 && pthread_join(thread, 0) == 0);
    assert(is_main() && thread_id != getpid() && thread_id != parent && getppid() == parent);
    return 0;
}
";
    let home = Home::new();
    let path = compiled_text(&home, "ids", TEXT, &[]);
    for reset in ["memory", "fork", "exec"] {
        let limits = ["--strategy", "random", "--max-executions", "20", "--reset", reset];
        let report = home.explore(&limits, &[&path]);
        assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{reset}: {report:?}");
        assert!(report.reset == reset && report.executions >= 20, "{report:?}");
    }
    let run = home.heddle(["run", "--", &path]);
    let replayed = home.heddle(["replay", "--times", "3", run.trace()]);
    assert!(replayed.status == 0 && replayed.stdout.contains("3 of 3 runs"), "{replayed:?}");
}

#[test]
fn c_programs_run_the_same_on_every_reset() {
    for name in ["increment", "abba", "bank", "buffer_if", "semaphores", "mutex_kinds", "cleanup"] {
        check(name);
    }
}

/// Regression test: the stack of a thread created before the executions was unmapped, because so
/// many others were joined before that the cache of stacks was full; the next execution ran on it.
#[test]
fn a_stack_returned_when_the_cache_is_full_exists_in_the_next_execution() {
    let home = Home::new();
    let path = program("twostage").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    let search = |reset: &str| {
        let args = ["explore", "--json", "--strategy", "random", "--reset", reset];
        let args = [&args[..], &["--max-executions", "5", "--", &path, "100", "reader first"]];
        essence(&home.heddle(args.concat()).report())
    };
    assert_eq!(search("memory"), search("fork"));
}

#[test]
fn conformance_is_the_same_on_every_reset() {
    for name in ["mutex", "rwlock", "cond", "sync", "thread", "cancel", "wait", "timer"] {
        check(&format!("conform_{name}"));
    }
    for name in [
        "points", "signal", "clock", "sched", "c11", "futex", "timerfd", "more", "limits",
        "ceiling",
    ] {
        check_some(&format!("conform_{name}"), &["random"], "12");
    }
}

#[test]
fn cpp_programs_run_the_same_on_every_reset() {
    for name in ["standard_cpp", "standard_first_cpp", "unwind", "shared_ptr", "async"] {
        check(name);
    }
}

#[test]
fn rust_programs_run_the_same_on_every_reset() {
    for name in ["standard_rs", "once_rs", "poisoned", "panic_detached"] {
        check(name);
    }
}

#[test]
fn memory_reset_is_used_where_it_is_sound_and_checked_first() {
    let report = search("increment", "random", "auto", "5000");
    assert_eq!((report.reset.as_str(), report.checks), ("memory", 8));
    // What these programs open, map and set is undone.
    for name in [
        "kernel_state",
        "errno",
        "locale",
        "standard_cpp",
        "standard_rs",
        "panic_joined",
        "poisoned",
    ] {
        let report = search(name, "random", "auto", "50");
        assert_eq!(report.reset, "memory", "{name}");
        // Each process checks its first executions. One process does all of them, unless new points
        // are found: then new processes begin, which check theirs.
        let all = report.checks == 8 || report.points.new > 0 && report.checks > 8;
        assert!(all, "{name}: {} checks, {} new points", report.checks, report.points.new);
    }
}

/// Whether the kernel tracks written pages.
fn scans() -> bool {
    let doctor = std::process::Command::new(tests::heddle::binary()).arg("doctor").output();
    let text = doctor.expect("heddle runs").stdout;
    String::from_utf8_lossy(&text).contains("PAGEMAP_SCAN and userfaultfd work")
}

#[test]
fn a_call_that_writes_to_untouched_memory_is_undone() {
    let expected = search("reads_file", "dfs", "exec", "20");
    for reset in ["memory:faults", "memory:scan", "memory:compare"] {
        let report = search("reads_file", "dfs", reset, "20");
        assert_eq!(essence(&report), essence(&expected), "{reset}");
        // Copying all of that memory back each time would cost more than a fork.
        let is_memory = scans() || reset == "memory:compare";
        assert_eq!(report.reset, if is_memory { "memory" } else { "fork" }, "{reset}");
    }
}

#[test]
fn executions_do_not_depend_on_how_changed_pages_are_found() {
    let scans = scans();
    for name in ["increment", "semaphores", "standard_cpp", "standard_rs", "heap", "kernel_state"] {
        let expected = search(name, "random", "fork", "300");
        for tracking in ["memory:faults", "memory:scan", "memory:compare"] {
            let report = search(name, "random", tracking, "300");
            assert_eq!(essence(&report), essence(&expected), "{name} {tracking}");
            let is_there = scans || tracking != "memory:scan";
            let reset = if is_there { "memory" } else { "fork" };
            assert_eq!(report.reset, reset, "{name} {tracking}");
        }
    }
}

#[test]
fn what_memory_reset_cannot_undo_is_named_and_forks_are_used() {
    let home = Home::new();
    let path = program("log_file").build().expect("targets compile");
    let path = path.to_string_lossy();
    let args = ["explore", "--reset", "memory", "--json", "--max-executions", "50", "--", &path];
    let run = home.heddle(args);
    assert_eq!(run.report().reset, "fork", "{run:?}");
    assert!(run.stderr.contains("it calls openat (for writing)"), "{run:?}");
}

/// `HEDDLE_GENERATED=2000` sets the number of generated programs.
fn generated() -> usize {
    std::env::var("HEDDLE_GENERATED").ok().and_then(|count| count.parse().ok()).unwrap_or(40)
}

#[test]
fn generated_programs_run_the_same_on_every_reset() {
    let home = Home::new();
    let suite = suite(2, generated());
    let binary = suite.compile(home.path()).expect("the generated programs compile");
    let search = |number: usize, reset: &str| {
        let (seed, path, number) =
            (number.to_string(), binary.to_string_lossy(), number.to_string());
        let args = ["explore", "--json", "--keep-going", "--strategy", "random", "--seed", &seed];
        let rest = ["--reset", reset, "--max-executions", "12", "--", &path, &number];
        home.heddle(args.into_iter().chain(rest)).report()
    };
    let mut wrong = Vec::new();
    for number in 0..suite.programs.len() {
        let memory = search(number, "memory");
        assert_eq!((memory.reset.as_str(), memory.checks), ("memory", 8), "{number}");
        for reset in ["fork", "exec"] {
            let other = search(number, reset);
            if essence(&other) != essence(&memory) {
                wrong.push(format!("program {number}, {reset}: {other:#?}\nand not {memory:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn executions_begin_where_the_program_says() {
    let home = Home::new();
    let expected = search("begin", "dfs", "exec", "60");
    assert_eq!(expected.max_steps, 16, "{expected:?}");
    for reset in ["memory", "fork", "exec"] {
        let report = search("begin", "dfs", reset, "60");
        assert_eq!(report.reset, reset);
        assert_eq!(essence(&report), essence(&expected), "{reset}");
        // A file opened before the beginning has the same position in each execution.
        let report = search("begin_position", "dfs", reset, "60");
        assert_eq!((report.reset.as_str(), report.executions), ("exec", 60), "{reset}");
        assert!(report.bugs.iter().all(|bug| bug.kind == FailureKind::Exit), "{report:?}");
    }
    let path = build(&home, "../targets/begin", "begin_never", &["-DNEVER"]);
    let run = home.heddle(["explore", "--", &path.to_string_lossy()]);
    assert_eq!(run.status, 3, "{run:?}");
    assert!(run.stderr.contains("a thread before it calls heddle_begin()"), "{run:?}");
}

/// What main does before it creates the first thread is done once, and the report stays the same.
#[test]
fn executions_continue_from_the_end_of_their_common_prefix() {
    let home = Home::new();
    for strategy in ["random", "dfs", "dpor", "icb", "pct:2", "pos"] {
        let forked = search("common_prefix", strategy, "fork", "400");
        let resumed = search("common_prefix", strategy, "memory", "400");
        assert_eq!(essence(&resumed), essence(&forked), "{strategy}");
        assert_eq!((forked.resumed, resumed.reset.as_str()), (0, "memory"), "{strategy}");
        let least = resumed.executions / 2;
        assert!(resumed.resumed >= least, "{strategy}: {resumed:?}");
    }
    // The failing executions replay from main.
    let path = program("common_prefix").build().expect("targets compile");
    let found = home.heddle(["explore", "--json", "--", &path.to_string_lossy()]).report();
    let trace = found.bugs[0].trace.clone().expect("the failure is saved");
    assert_eq!(home.heddle(["replay", "--times", "20", &trace]).status, 1);
}

/// The variables of a program that is linked at a fixed address, below the stacks and the libraries, are a part of
/// every snapshot.
#[test]
fn variables_at_fixed_addresses_are_those_of_the_common_prefix() {
    let home = Home::new();
    let path = build(&home, "out_of_sight", "fixed", &["-no-pie"]);
    let path = path.to_string_lossy();
    let args = ["explore", "--json", "--reset", "memory", "--strategy", "random"];
    let report = home.heddle(args.into_iter().chain(["--max-executions", "400", "--", &path]));
    let report = report.report();
    assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{report:?}");
    assert!(report.reset == "memory" && report.resumed >= 200, "{report:?}");
}

/// A file that is open when the first thread is created belongs to the execution.
#[test]
fn executions_begin_at_main_if_the_kernel_has_something_of_the_prefix() {
    let home = Home::new();
    let path = build(&home, "../targets/common_prefix", "common_prefix_open", &["-DOPEN", "-lm"]);
    let path = path.to_string_lossy();
    let search = |reset| {
        let args =
            ["explore", "--json", "--keep-going", "--max-executions", "300", "--reset", reset];
        let rest = ["--out", reset, "--strategy", "random", "--", &path];
        home.heddle(args.into_iter().chain(rest)).report()
    };
    let (forked, reset) = (search("fork"), search("memory"));
    assert_eq!(essence(&reset), essence(&forked));
    assert_eq!((reset.reset.as_str(), reset.resumed), ("memory", 0));
}

/// Six million accesses of main alone used up the number of accesses that are observed.
#[test]
fn accesses_before_the_first_thread_are_not_observed() {
    let home = Home::new();
    let path = program("common_prefix").build().expect("targets compile");
    let path = path.to_string_lossy();
    // With the points of an earlier search the learning phase is one execution.
    store_points(&home, &path, &["300"]);
    let args = ["explore", "--json", "--keep-going", "--strategy", "dpor", "--", &path, "300"];
    let report = home.heddle(args).report();
    assert_eq!((report.classes, report.complete), (8, true), "{report:?}");
    let failing = report.bugs.iter().map(|bug| bug.count).sum::<u64>();
    assert!((4..=5).contains(&failing), "{report:?}");
}

/// In a loop of calls that are no steps, a task yields after a thousand of them. Calls of other
/// executions do not count: they made one execution of a thousand yield at such a call.
#[test]
fn calls_without_a_step_are_counted_in_each_execution() {
    let home = Home::new();
    let path = build(&home, "call_once", "call_once", &[]);
    let path = path.to_string_lossy();
    let search = |strategy, most| {
        let args = ["explore", "--json", "--reset", "memory", "--strategy", strategy];
        home.heddle(args.into_iter().chain(["--max-executions", most, "--", &path])).report()
    };
    for strategy in ["dfs", "random"] {
        let (few, many) = (search(strategy, "200"), search(strategy, "4000"));
        assert!(many.executions > 2000, "{strategy}: {many:?}");
        assert_eq!((many.max_steps, many.diverged), (few.max_steps, 0), "{strategy}");
    }
}

#[test]
fn ten_thousand_replays_give_the_same_failure() {
    let home = Home::new();
    let report = search_in(&home, "increment", "random", "auto", "50");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let run = home.heddle(["replay", "--times", "10000", &trace]);
    assert_eq!(run.status, 1, "{run:?}");
    assert!(run.stdout.contains("10,000 of 10,000 runs"), "{run:?}");
}

/// A search ends at its time limit, or one execution later, with every reset; and what a
/// process of the program leaves in the runtime's memory does not add up.
#[test]
fn the_time_limit_holds_with_every_reset() {
    const LIMIT: f64 = 4.0;
    for reset in ["exec", "fork", "memory"] {
        for strategy in ["dfs", "random"] {
            let home = Home::new();
            build(&home, "many_bugs", "program", &["-DFINE"]);
            let args = ["explore", "--json", "--strategy", strategy, "--reset", reset];
            let limits = ["--max-time", "4", "--max-executions", "0", "--", "./program"];
            let report = home.heddle([&args[..], &limits].concat()).report();
            let what = format!("{reset} {strategy}: {report:?}");
            assert_eq!(report.reason, "the time limit was reached", "{what}");
            // One execution ends within half a second, or is ended then.
            assert!(report.elapsed_s < LIMIT * 1.1 + 0.5, "{what}");
        }
    }
}
