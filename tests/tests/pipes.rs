//! Threads that pass bytes through pipes: a search explores each order that gives another result, and no other.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::report::{Report, Verdict};

/// The programs in `pipes.c`, with how many classes of executions `dpor` explores, and which sums main can have in the end.
const CASES: &[(&str, u64, &[u32])] = &[
    // Each read waits for its byte, and the last one for the end.
    ("bytes", 1, &[6]),
    // The same where the threads open a pipe by its name: which of them opens it first, and waits.
    ("named", 3, &[6]),
    // Each of two bytes is read by one thread or the other. The threads then find the end in either order.
    ("readers", 8, &[3, 12, 21, 30]),
    // Two threads write two bytes each, and the last one closes the end.
    ("writers", 12, &[1122, 1212, 1221, 2112, 2121, 2211]),
    // A read of more than there is returns one text, or both.
    ("text", 4, &[5, 23]),
    ("parts", 4, &[5, 23]),
    // A call of which it is not known what it writes is two steps: the byte is taken before, between and behind them.
    ("position", 4, &[1, 2]),
    // Each of two requests is answered by one thread or the other.
    ("servers", 24, &[24, 42]),
    // One byte is there before the threads begin.
    ("second", 2, &[1, 2]),
];

fn explore(home: &Home, case: &str, not: &str) -> Report {
    let options = ["explore", "--json", "--workers", "1", "--strategy", "dpor", "--", "./pipes"];
    run(home.command([&options[..], &[case, not]].concat()), BOUND).report()
}

#[test]
fn dpor_explores_each_order_of_writes_and_reads_that_matters() {
    let home = Home::new();
    build(&home, "pipes", "pipes", &[]);
    let mut wrong = Vec::new();
    for &(case, classes, sums) in CASES {
        // No execution has this sum.
        let all = explore(&home, case, "7");
        if (all.verdict, all.classes) != (Verdict::Clean, classes) {
            wrong.push(format!("{case}: {} executions, {:?}", all.classes, all.verdict));
        }
        for sum in sums {
            let found = explore(&home, case, &sum.to_string());
            if found.verdict != Verdict::Bug {
                wrong.push(format!("{case}: {sum} was not found"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
