//! The maximum number of simultaneous threads, each with a stack of the usual size or a large one.

use tests::heddle::Home;
use tests::targets::program;

fn check(args: &[&str], reset: &str) {
    let path = program("many_threads").build().expect("targets compile");
    let home = Home::new();
    let path = path.to_string_lossy();
    let options = ["explore", "--json", "--max-executions", "5", "--reset", reset, "--", &*path];
    let run = home.heddle([&options[..], args].concat());
    let report = run.report();
    assert_eq!((report.threads, report.executions), (513, 5), "{run:?}");
    assert!(report.bugs.is_empty(), "{run:?}");
}

#[test]
fn five_hundred_and_twelve_threads_are_alive_at_once() {
    check(&["512"], "auto");
}

/// 32 GB of stacks; the program measures how much of it is resident.
#[test]
fn large_stacks_use_only_the_memory_they_touch() {
    for reset in ["memory", "fork", "exec"] {
        check(&["512", "64"], reset);
    }
}
