//! Freed blocks that come back at their old addresses, with `--reuse`: what is found, what a search that finds
//! nothing assumes, and that a trace records it.

use tests::heddle::Home;
use tests::targets::program;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn search(home: &Home, name: &str, options: &[&str]) -> Report {
    let path = program(name).build().expect("targets compile").to_string_lossy().into_owned();
    let usual = ["explore", "--json", "--workers", "1", "--max-executions", "1000"];
    home.heddle([&usual[..], options, &["--", &path]].concat()).report()
}

/// The number of notes that name the limit as an assumption.
fn assumptions(report: &Report) -> usize {
    report.notes.iter().filter(|note| note.contains("(--reuse)")).count()
}

#[test]
fn one_block_comes_back_by_default() {
    let home = Home::new();
    for strategy in ["auto", "icb", "dpor", "dfs", "random"] {
        let report = search(&home, "address_comes_back", &["--strategy", strategy]);
        let kinds: Vec<FailureKind> = report.bugs.iter().map(|bug| bug.kind).collect();
        assert_eq!(kinds, [FailureKind::Abort], "{strategy}: {report:#?}");
    }
    let report = search(&home, "address_comes_back", &["--reuse", "0"]);
    assert_eq!((report.verdict, assumptions(&report)), (Verdict::Clean, 1), "{report:#?}");
}

#[test]
fn two_blocks_come_back_on_request() {
    let home = Home::new();
    let report = search(&home, "address_comes_back_twice", &[]);
    assert_eq!((report.verdict, assumptions(&report)), (Verdict::Clean, 1), "{report:#?}");
    for strategy in ["auto", "icb", "dpor", "dfs"] {
        let options = ["--strategy", strategy, "--reuse", "2"];
        let report = search(&home, "address_comes_back_twice", &options);
        let kinds: Vec<FailureKind> = report.bugs.iter().map(|bug| bug.kind).collect();
        assert_eq!(kinds, [FailureKind::Abort], "{strategy}: {report:#?}");
    }
    // Beyond that no block can come back, and nothing is assumed.
    let report = search(&home, "address_comes_back_twice", &["--reuse", "3", "--keep-going"]);
    assert_eq!(report.bugs.len(), 1, "{report:#?}");
}

#[test]
fn a_configuration_file_says_how_many_come_back() {
    let home = Home::new();
    std::fs::write(home.path().join("heddle.toml"), "reuse = 2\n").expect("the home is writable");
    let report = search(&home, "address_comes_back_twice", &[]);
    assert_eq!(report.verdict, Verdict::Bug, "{report:#?}");
}

#[test]
fn a_trace_records_the_blocks_that_come_back() {
    let home = Home::new();
    let report = search(&home, "address_comes_back_twice", &["--reuse", "2"]);
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let replayed = home.heddle(["replay", "--times", "20", &trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    let shrunk = home.heddle(["shrink", &trace]).stdout;
    assert!(shrunk.contains("proved minimal"), "{shrunk}");
}

#[test]
fn addresses_that_are_not_compared_do_not_come_back() {
    let home = Home::new();
    // The thread frees and allocates as before, and no operation expects an address.
    let report = search(&home, "address_not_compared", &["--strategy", "dfs"]);
    assert_eq!((report.verdict, assumptions(&report)), (Verdict::Clean, 0), "{report:#?}");
}
