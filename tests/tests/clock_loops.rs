//! Threads that wait for a time by reading a clock again and again, and threads that wait for them in loops of
//! calls that are no steps: time passes for the former, and none of them keeps the others from running.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::report::{Report, Verdict};

/// The ways of `reads_clock.c`.
const WAYS: [&str; 3] = ["flag", "seconds", "calls"];

#[test]
fn a_loop_that_reads_a_clock_ends_in_a_run() {
    let home = Home::new();
    build(&home, "reads_clock", "program", &[]);
    for way in WAYS {
        for slack in ["0", "1s"] {
            let ran = run(home.command(["run", "--slack", slack, "--", "./program", way]), BOUND);
            assert_eq!(ran.status, 0, "{way}, {slack}: {ran:?}");
        }
    }
}

#[test]
fn a_loop_that_reads_a_clock_is_no_failure_of_a_search() {
    let home = Home::new();
    build(&home, "reads_clock", "program", &[]);
    for way in ["flag", "calls"] {
        let args = ["explore", "--json", "--workers", "1", "--max-executions", "10", "--"];
        let command = home.command([&args[..], &["./program", way]].concat());
        let report: Report = run(command, BOUND).report();
        assert!(report.bugs.is_empty(), "{way}: {report:#?}");
        assert!(report.executions > 0 && report.verdict != Verdict::Bug, "{way}: {report:#?}");
        let says = |part: &str| report.notes.iter().any(|note| note.contains(part));
        assert!(says("readings of a clock"), "{way}: {report:#?}");
    }
}
