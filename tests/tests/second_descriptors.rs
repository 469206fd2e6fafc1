//! Two descriptors of one open file, or of one end of a pipe, are one object however the program received the second.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::report::Verdict;

#[test]
fn a_change_seen_through_a_second_descriptor_is_found() {
    let home = Home::new();
    build(&home, "second_descriptors", "program", &[]);
    for case in ["before main", "received", "reopened"] {
        let options = ["explore", "--json", "--workers", "1", "--max-executions", "1000", "--"];
        let report =
            run(home.command([&options[..], &["./program", case]].concat()), BOUND).report();
        assert_eq!(report.verdict, Verdict::Bug, "{case}: {report:?}");
    }
}
