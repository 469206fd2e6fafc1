//! Short transfers over network connections, with `--short-counts`: what is found, how many choices there
//! are, and that a trace records them.

use tests::heddle::Home;
use tests::hostile::build;
use traces::report::{Report, Verdict};

fn search(home: &Home, options: &[&str], mode: &str) -> Report {
    let path = build(home, "short_counts", "short_counts", &[]).to_string_lossy().into_owned();
    let usual =
        ["explore", "--json", "--workers", "1", "--max-executions", "100", "--patience", "2s"];
    home.heddle([&usual[..], options, &["--", &path, mode]].concat()).report()
}

#[test]
fn code_that_expects_whole_transfers_fails_only_with_short_ones() {
    let home = Home::new();
    for (mode, message) in [("once", "all is received"), ("sent", "all is sent")] {
        for strategy in ["auto", "random", "dpor"] {
            let report = search(&home, &["--strategy", strategy, "--short-counts"], mode);
            let found = report.bugs.iter().any(|bug| bug.message.contains(message));
            assert!(found, "{mode} {strategy}: {report:#?}");
        }
        let report = search(&home, &[], mode);
        assert!(report.bugs.is_empty(), "{mode}: {report:#?}");
    }
}

/// Of eight bytes: all, one, or seven. After a short read, the rest may be short again if that is allowed.
#[test]
fn each_possible_short_transfer_is_a_choice() {
    let home = Home::new();
    for (mode, most, classes) in
        [("loop", "0", 1), ("loop", "1", 3), ("loop", "2", 5), ("rest", "1", 9)]
    {
        let short = format!("--short-counts={most}");
        for strategy in ["dfs", "dpor"] {
            let report = search(&home, &["--strategy", strategy, &short], mode);
            assert_eq!(report.verdict, Verdict::Clean, "{mode} {most} {strategy}: {report:#?}");
            assert_eq!(report.distinct, classes, "{mode} {most} {strategy}: {report:#?}");
            let note = report.notes.iter().any(|note| note.contains("could be short"));
            assert_eq!(note, most != "0", "{report:#?}");
        }
    }
}

#[test]
fn a_trace_records_short_transfers() {
    let home = Home::new();
    let report = search(&home, &["--short-counts"], "once");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let replayed = home.heddle(["replay", "--times", "10", &trace]);
    assert_eq!(replayed.status, 1, "{replayed:?}");
    let shown = home.heddle(["show", &trace]).stdout;
    let step = shown.lines().find(|line| line.contains("[choice")).expect("the choice");
    assert!(step.contains("short_counts.c:40"), "{shown}");
    let refused = home.heddle(["ui", &trace, "--short-counts"]);
    assert_eq!(refused.status, 2, "{refused:?}");
    assert!(refused.stderr.contains("--short-counts"), "{refused:?}");
    let wrong = home.heddle(["explore", "--short-counts=some", "--", "true"]);
    assert!(wrong.stderr.contains("not a number of transfers; give 0 or more"), "{wrong:?}");
}
