//! State of the C library and of the kernel that no variable of a program holds. In each case of
//! `hidden_state.c` a thread changes some of it and main aborts if it meets the change: the failure is
//! found, or the search says by name what it did not explore.

use std::path::Path;
use std::process::Command;
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use tests::parallel::check_all;
use traces::report::{Report, Verdict};

/// The cases whose failure is not found, and a part of what the report says.
const INCOMPLETE: [(&str, &str); 23] = [
    ("watch_waiting", "`ioctl`"),
    ("watch_added", "`inotify_add_watch`"),
    ("watch_of_directory", "`inotify_add_watch`"),
    ("attribute_by_path", "`setxattr`"),
    ("attribute_by_descriptor", "`fsetxattr`"),
    ("limit_met_by_write", "`setrlimit`"),
    ("limit_met_by_malloc", "`setrlimit`"),
    ("policy_seen_by_pthread", "`sched_setscheduler`"),
    ("locked_future", "`mlockall`"),
    ("allocation_option", "`mallopt`"),
    ("allocation_counts", "`mallinfo2`"),
    ("text_of_number", "`l64a`"),
    ("user_next", "`getpwent`"),
    ("group_next", "`getgrent`"),
    ("service_next", "`getservent`"),
    ("own_call_lseek", "`lseek`"),
    ("own_call_umask", "system call"),
    ("standard_stream_closed", "not explored: a standard stream that is closed (the kernel)"),
    (
        "standard_stream_replaced",
        "not explored: a standard stream that another file replaces (the kernel)",
    ),
    ("own_memory_read", "not explored: accesses through /proc/self/mem (the kernel)"),
    ("status_of_process", "not explored: the process's own state in /proc (the kernel)"),
    ("mapped_in_proc", "not explored: the process's own state in /proc (the kernel)"),
    ("own_random", "`srandom_r`"),
];

/// What is wrong with the answer for one case, if anything.
fn check(program: &Path, case: &str) -> Option<String> {
    let home = Home::new();
    // Each case has another directory for the files that it makes.
    std::os::unix::fs::symlink(program, home.path().join("program")).expect("a link");
    let options = ["explore", "--json", "--workers", "1", "--max-executions", "1000", "--"];
    let found = run(home.command([&options[..], &["./program", case]].concat()), BOUND);
    let report: Report = serde_json::from_str(&found.stdout)
        .unwrap_or_else(|error| panic!("{case}: {error}\n{}", found.stderr));
    let says = report.notes.iter().chain([&report.reason]);
    let named = INCOMPLETE.iter().find(|(name, _)| *name == case);
    let is_right = match (report.verdict, named) {
        (Verdict::Bug, _) => true,
        (Verdict::Incomplete, Some((_, part))) => says.into_iter().any(|one| one.contains(part)),
        _ => false,
    };
    (!is_right)
        .then(|| format!("{case}: {:?} {} {:?}", report.verdict, report.reason, report.notes))
}

#[test]
fn a_failure_by_hidden_state_is_found_or_named() {
    let home = Home::new();
    let program = build(
        &home,
        "hidden_state",
        "program",
        &["-Wno-deprecated-declarations", "-Wno-uninitialized", "-lm"],
    );
    let listed = Command::new(&program).output().expect("the program runs");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let cases: Vec<&str> = listed.lines().collect();
    assert!(cases.len() > 200, "{cases:?}");
    assert!(INCOMPLETE.iter().all(|(name, _)| cases.contains(name)), "{cases:?}");
    check_all(&cases, |case| check(&program, case));
}
