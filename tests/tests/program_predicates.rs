//! Predicates in the source of programs (`heddle_cp` of `heddle.h`, and `heddle.rs`): each way to count,
//! under different strategies, and what a program does without Heddle.

use std::time::Duration;
use tests::heddle::{Home, Run};
use tests::targets::program;
use traces::FailureKind;
use traces::report::{Report, Verdict};

fn explore(home: &Home, name: &str, args: &[&str], options: &[&str]) -> Run {
    let path = tests::predicates::path(name);
    let mut all = vec!["explore", "--json"];
    all.extend(options);
    all.extend(["--", &path]);
    all.extend(args);
    home.heddle(&all)
}

fn with_few_executions(strategy: &str, name: &str, args: &[&str]) -> Report {
    let options = ["--strategy", strategy, "--max-executions", "100"];
    explore(&Home::new(), name, args, &options).report()
}

/// What the threads wait for, how many threads there are, and how many of them are satisfied.
const COUNTS: [(&str, &str, &str, &str); 16] = [
    ("none", "4", "4", "0"),
    ("fewer-1", "4", "4", "0"),
    ("fewer-0", "3", "0", "3"),
    ("more-0", "2", "2", "0"),
    ("more-2", "4", "4", "0"),
    ("more-4", "4", "0", "4"),
    ("exactly-0", "3", "3", "0"),
    ("exactly-1", "4", "4", "0"),
    ("exactly-2", "4", "3", "1"),
    ("exactly-15", "16", "16", "0"),
    ("all", "4", "4", "0"),
    ("all", "64", "64", "0"),
    ("none", "64", "64", "0"),
    ("fewer-64", "64", "64", "0"),
    ("more-62", "64", "64", "0"),
    ("exactly-63", "64", "64", "0"),
];

#[test]
fn each_way_to_count_is_the_same_in_every_schedule() {
    for (way, threads, satisfied, gave_up) in COUNTS {
        // The program asserts the numbers, and the order by priority.
        for strategy in ["auto", "random", "dfs"] {
            let args = [way, threads, satisfied, gave_up];
            let report = with_few_executions(strategy, "program_predicates", &args);
            assert_eq!(report.bugs, vec![], "{way} {threads} {strategy}: {report:#?}");
            let executions = report.executions;
            assert!(executions > 1, "{way} {threads} {strategy}: {executions} executions");
        }
        let args = [way, satisfied, gave_up, threads];
        // An execution of many threads of Rust's standard library has thousands of steps.
        let most = if threads == "64" { "10" } else { "100" };
        let options = ["--strategy", "random", "--max-executions", most];
        let run = explore(&Home::new(), "program_predicates_rust", &args, &options);
        assert_eq!(run.report().bugs, vec![], "{way} {threads} in Rust: {run:?}");
    }
}

#[test]
fn a_predicate_leads_every_search_to_the_failure_at_once() {
    for (kind, failure) in [("divide", FailureKind::Crash), ("increment", FailureKind::Assertion)] {
        for threads in ["2", "16", "64"] {
            for seed in ["0", "1", "2"] {
                let home = Home::new();
                let options = ["--seed", seed];
                let run = explore(&home, "program_predicates", &[kind, threads], &options);
                let report = run.report();
                assert_eq!(report.verdict, Verdict::Bug, "{kind} {threads}: {run:?}");
                assert_eq!(report.bugs[0].kind, failure, "{run:?}");
                assert!(report.classes <= 3, "{kind} {threads}: {report:#?}");
                let trace = report.bugs[0].trace.clone().expect("it is written");
                let replayed = home.heddle(["replay", "--times", "3", &trace]);
                assert!(replayed.stdout.contains("each identical"), "{replayed:?}");
            }
        }
    }
    let report = with_few_executions("auto", "program_predicates_rust", &["increment"]);
    assert!(report.classes <= 1, "{report:#?}");
}

#[test]
fn waiting_causes_no_deadlock_and_is_mentioned() {
    for what in ["never", "serial"] {
        for strategy in ["auto", "dfs", "random"] {
            let report = with_few_executions(strategy, "program_predicates", &[what, "3"]);
            assert_eq!(report.bugs, vec![], "{what} {strategy}: {report:#?}");
            let note = report.notes.iter().any(|note| note.contains("heddle_cp"));
            assert!(note, "{:?}", report.notes);
        }
    }
}

#[test]
fn without_heddle_nothing_is_executed_or_threads_wait_in_real_time() {
    let long = Duration::from_secs(120);
    let plain = program("program_predicates");
    let exactly = |name: &str, args: &[&str]| {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let run = tests::targets::Program { args, ..program(name).clone() }.run(long);
        run.expect("it runs").stdout
    };
    assert_eq!(plain.run(long).expect("it runs").outcome, "0");
    assert_eq!(exactly("program_predicates", &["exactly-1", "4"]), "0 satisfied, 0 not\n");
    assert_eq!(exactly("program_predicates_rust", &["exactly-1"]), "0 satisfied, 0 not\n");
    for way in ["exactly-3", "more-2", "none"] {
        let text = exactly("program_predicates_rust_timed", &[way]);
        assert_eq!(text, "4 satisfied, 0 not\n", "{way}");
    }
    for args in [["exactly-1", "4"], ["more-2", "4"], ["none", "3"]] {
        let text = exactly("program_predicates_timed", &args);
        assert_eq!(text, format!("{} satisfied, 0 not\n", args[1]), "{args:?}");
    }
}
