//! Searches of programs that use the locks of Rust's standard library.

use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Report, Verdict};

fn search(name: &str, args: &[&str], strategy: &str) -> Report {
    let home = Home::new();
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    let options = ["explore", "--json", "--strategy", strategy, "--max-executions", "20000"];
    home.heddle([&options[..], &["--", &path], args].concat()).report()
}

/// A contended lock is one step: not a hundred reads, each with alternatives.
#[test]
fn searches_of_programs_with_a_contended_mutex_are_complete() {
    for (threads, most) in [("2", 20), ("3", 2000)] {
        let report = search("mutex_increments", &[threads], "dpor");
        assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
        assert!((2..=most).contains(&report.executions), "{threads} threads: {report:?}");
    }
}

#[test]
fn searches_of_programs_with_a_condition_variable_are_complete() {
    for strategy in ["dpor", "auto"] {
        let report = search("condvar_flag", &[], strategy);
        assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
        assert!(report.executions <= 1000, "{report:?}");
    }
}
