//! A descriptor that another thread closes while a thread waits for it. The kernel keeps the open file as long as
//! the wait lasts, and the wait ends as it would have: Heddle does the same, or says that it does not.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// The ways of `closes_while_waiting.c` to wait, and whether the wait continues with the open file.
const WAYS: [(&str, bool); 9] = [
    ("flock", true),
    ("read", false),
    ("event", false),
    ("receive", false),
    ("poll", false),
    ("select", false),
    ("epoll", false),
    ("accept", false),
    ("connect", false),
];

#[test]
fn a_wait_whose_descriptor_is_closed_succeeds_or_is_named() {
    let home = Home::new();
    build(&home, "closes_while_waiting", "program", &[]);
    let mut wrong = Vec::new();
    for (way, continues) in WAYS {
        let args = ["explore", "--json", "--workers", "1", "--max-executions", "20", "--"];
        let command = home.command([&args[..], &["./program", way]].concat());
        let report: Report = run(command, BOUND).report();
        let is_right = match report.bugs.first() {
            None => continues && report.verdict != Verdict::Bug && report.executions > 0,
            Some(bug) => {
                let what = "a descriptor that was closed while a task waited for it";
                !continues && bug.kind == FailureKind::Unsupported && bug.message.contains(what)
            }
        };
        if !is_right {
            wrong.push((way, report.verdict, report.executions, report.reason, report.bugs));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
