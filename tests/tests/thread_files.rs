//! The files about a thread below `/proc`: what Heddle does not show in them is named.

use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use traces::FailureKind;
use traces::report::Report;

#[test]
fn what_is_not_supported_of_the_files_about_threads_is_named() {
    let home = Home::new();
    build(&home, "thread_files", "program", &[]);
    let ways = [
        ("many", Some("more than 64 open files about threads in /proc")),
        ("copied", Some("a copy by the kernel of a file about a thread in /proc")),
        ("closed", None),
    ];
    for (way, expected) in ways {
        let args = ["explore", "--json", "--workers", "1", "--max-executions", "20", "--"];
        let command = home.command([&args[..], &["./program", way]].concat());
        let report: Report = run(command, BOUND).report();
        let Some(what) = expected else {
            assert!(report.bugs.is_empty() && report.executions > 0, "{way}: {report:#?}");
            continue;
        };
        assert_eq!(report.bugs.len(), 1, "{way}: {report:#?}");
        let bug = &report.bugs[0];
        assert_eq!(bug.kind, FailureKind::Unsupported, "{way}: {report:#?}");
        assert!(bug.message.contains(what), "{way}: {}", bug.message);
    }
}
