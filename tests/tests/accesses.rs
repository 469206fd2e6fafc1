//! Scheduling points at memory accesses, and data races.

use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Report, Verdict};

fn explore(home: &Home, name: &str, options: &[&str]) -> Report {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--max-steps", "2000"];
    args.extend(options);
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

#[test]
fn correctly_synchronized_programs_have_no_race() {
    let home = Home::new();
    for name in ["published", "ring", "seqlock", "static_guard"] {
        let name = format!("{name}_compiled");
        let options = ["--strategy", "random", "--max-executions", "1000"];
        let report = explore(&home, &name, &options);
        assert_eq!((report.verdict, report.races), (Verdict::Incomplete, vec![]), "{name}");
        assert!(report.points.compiled > 0, "{name}");
    }
}

#[test]
fn a_race_is_reported_once_with_its_object_and_both_sites() {
    let home = Home::new();
    let options = ["--keep-going", "--max-executions", "1000"];
    let report = explore(&home, "published_early_compiled", &options);
    assert_eq!(report.races.len(), 1, "{report:#?}");
    let race = &report.races[0];
    for part in ["accesses to value", "reads at published.c:30", "wrote at published.c:16"] {
        assert!(race.contains(part), "{part}: {race}");
    }
    // For each of the two variables: setter against setter, and setter against checker.
    let report = explore(&home, "reorder_compiled", &options);
    assert_eq!(report.races.len(), 4, "{report:#?}");
}

#[test]
fn a_race_is_a_failure_on_request_and_its_trace_replays() {
    let home = Home::new();
    let report = explore(&home, "lost_update_compiled", &["--fail-on", "race"]);
    assert_eq!(report.bugs[0].kind, traces::FailureKind::Race, "{report:#?}");
    let trace = report.bugs[0].trace.clone().expect("a trace");
    let run = home.heddle(["replay", "--times", "20", &trace]);
    assert_eq!(run.status, 1, "{run:?}");
}

#[test]
fn points_are_at_the_requested_accesses() {
    let home = Home::new();
    let none = explore(&home, "lost_update_compiled", &["--points", "api", "--strategy", "dfs"]);
    assert_eq!((none.verdict, none.points.racy, none.learning), (Verdict::Clean, 0, 0));
    let all = explore(&home, "lost_update_compiled", &["--points", "all", "--strategy", "dfs"]);
    let racy = explore(&home, "lost_update_compiled", &["--strategy", "dfs"]);
    assert_eq!((all.verdict, racy.verdict), (Verdict::Bug, Verdict::Bug));
    assert!(racy.max_steps < all.max_steps, "{racy:?} {all:?}");
}

#[test]
fn every_reset_learns_the_same_points() {
    let essence = |reset: &str| {
        let options = ["--reset", reset, "--strategy", "feedback", "--keep-going"];
        let options = [&options[..], &["--max-executions", "100"]].concat();
        // A separate home: each run has its own learning phase.
        let report = explore(&Home::new(), "reorder_compiled", &options);
        let found = report.bugs.iter().map(|bug| (bug.signature.clone(), bug.found_at, bug.count));
        (report.points, report.learning, report.distinct, found.collect::<Vec<_>>(), report.reset)
    };
    let fork = essence("fork");
    let exec = essence("exec");
    let memory = essence("memory");
    assert_eq!((&fork.0, fork.1, fork.2, &fork.3), (&exec.0, exec.1, exec.2, &exec.3));
    assert_eq!((&fork.0, fork.1, fork.2, &fork.3), (&memory.0, memory.1, memory.2, &memory.3));
    assert_eq!(memory.4, "memory");
}
