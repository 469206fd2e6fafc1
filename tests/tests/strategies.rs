//! Every strategy on real programs, as on the command line.

use tests::heddle::Home;
use tests::targets::programs;
use traces::report::{Report, Verdict};

fn explore(name: &str, strategy: &str, more: &[&str]) -> Report {
    let home = Home::new();
    let program = programs().iter().find(|program| program.name == name).expect("a target");
    let path = program.build().unwrap_or_else(|error| panic!("{name}: {error}"));
    let path = path.to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--strategy", strategy, "--max-executions", "5000"];
    args.extend(["--max-steps", "2000"]);
    args.extend(more);
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

#[test]
fn shallow_bugs_are_found_by_every_strategy() {
    for strategy in ["auto", "directed", "sticky:3", "pct:2", "pos", "dfs", "icb", "delay", "dpor"]
    {
        for name in ["increment", "abba"] {
            let report = explore(name, strategy, &[]);
            assert_eq!(report.verdict, Verdict::Bug, "{name} by {strategy}: {report:?}");
            assert!(report.found_by.is_some_and(|part| !part.is_empty()), "{name} by {strategy}");
        }
    }
}

#[test]
fn directed_reversal_finds_them_second() {
    for name in ["increment", "abba", "bank", "twostage"] {
        for strategy in ["auto", "directed"] {
            let report = explore(name, strategy, &[]);
            assert_eq!(report.bugs.first().map(|bug| bug.found_at), Some(2), "{name}: {report:?}");
            assert_eq!(report.found_by.as_deref(), Some("directed"));
        }
    }
}

#[test]
fn what_is_covered_is_said() {
    let whole = explore("increment_locked", "dpor", &[]);
    let said = (whole.verdict, whole.executions, whole.complete, whole.bound);
    assert_eq!(said, (Verdict::Clean, 2, true, None));
    let within = explore("increment_locked", "icb", &["--bound", "1"]);
    assert_eq!((within.verdict, within.bound), (Verdict::Clean, Some(1)));
    let directed = explore("increment_locked", "directed", &[]);
    assert_eq!((directed.verdict, directed.bound), (Verdict::Incomplete, Some(-1)));
}

#[test]
fn a_reduction_that_does_not_know_of_all_accesses_claims_nothing() {
    // The flags in these are looked at without any scheduling point.
    let report = explore("lost_wakeup", "dpor", &[]);
    assert_ne!(report.verdict, Verdict::Clean, "{report:?}");
    assert_eq!(explore("lost_wakeup", "auto", &[]).verdict, Verdict::Bug);
    assert_ne!(explore("once", "dpor", &[]).verdict, Verdict::Clean);
}
