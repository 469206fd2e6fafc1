//! System V queues and semaphore sets, and POSIX message queues: calls that depend on each other are
//! explored in every order, and no execution sees what another one left.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::report::{Report, Verdict};

const FAILS: [&str; 6] = [
    "taken too early",
    "taken by another",
    "changed by number",
    "received too early",
    "received in another order",
    "posix queue, too early",
];
const SOUND: [&str; 2] = ["all received", "all taken"];

/// The permissions of the objects of each test, octal: the tests run at the same time, and objects
/// of the kernel belong to no process.
const ORDERED: &str = "621";
const KEYED: &str = "641";

fn explore(home: &Home, strategy: &str, case: &str, permissions: &str) -> Report {
    let options = ["explore", "--json", "--workers", "1", "--strategy", strategy];
    let program = ["--max-executions", "5000", "--", "./program", case, permissions];
    run(home.command([&options[..], &program].concat()), BOUND).report()
}

/// The lines of the kernel's lists about objects with these permissions.
fn remaining(permissions: &str) -> Vec<String> {
    let of = |kind: &str| std::fs::read_to_string(format!("/proc/sysvipc/{kind}"));
    let lines = [of("sem"), of("msg")].map(Result::unwrap_or_default);
    let is_own = |line: &&str| line.split_whitespace().nth(2) == Some(permissions);
    lines.iter().flat_map(|list| list.lines().filter(is_own)).map(str::to_owned).collect()
}

#[test]
fn calls_that_depend_on_each_other_are_explored_in_every_order() {
    let home = Home::new();
    build(&home, "system_v", "program", &[]);
    let before = remaining(ORDERED);
    for strategy in ["dfs", "dpor"] {
        for case in FAILS {
            let report = explore(&home, strategy, case, ORDERED);
            assert_eq!(report.verdict, Verdict::Bug, "{strategy}, {case}: {report:?}");
        }
        for case in SOUND {
            let report = explore(&home, strategy, case, ORDERED);
            assert_eq!(report.verdict, Verdict::Clean, "{strategy}, {case}: {report:?}");
            assert!(report.executions > 1, "{strategy}, {case}: {report:?}");
        }
    }
    assert_eq!(remaining(ORDERED), before);
}

#[test]
fn an_object_with_a_key_outlives_executions_and_is_named() {
    let home = Home::new();
    build(&home, "system_v", "program", &[]);
    let before = remaining(KEYED);
    let report = explore(&home, "dfs", "with a key", KEYED);
    assert_eq!(report.verdict, Verdict::Incomplete, "{report:?}");
    let is_named = |note: &String| note.contains("a System V message queue with a key");
    assert!(report.notes.iter().any(is_named), "{report:?}");
    assert_eq!(remaining(KEYED), before);
}
