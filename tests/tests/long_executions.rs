//! The limit on steps grows while an execution makes progress.

use tests::debugging::compiled;
use tests::heddle::Home;
use traces::report::Report;

/// The limit that an execution begins with.
const FIRST: u64 = 100_000;

fn program(home: &Home) -> String {
    let source = format!("{}/hostile/long_run.c", env!("CARGO_MANIFEST_DIR"));
    compiled(home, &source, "program", &["-O1"])
}

fn explore(options: &[&str], args: &[&str]) -> Report {
    let home = Home::new();
    let path = program(&home);
    let mut all = vec!["explore", "--json"];
    all.extend(options);
    all.extend(["--", &path]);
    all.extend(args);
    home.heddle(&all).report()
}

#[test]
fn an_execution_that_makes_progress_may_have_more_steps_than_the_first_limit() {
    for (strategy, rounds, limit) in [("random", "75000", 4 * FIRST), ("auto", "40000", 2 * FIRST)]
    {
        let search = ["--strategy", strategy, "--max-executions", "4", "--workers", "1"];
        let report = explore(&search, &["counts", rounds]);
        assert_eq!((report.cut, report.step_limit), (0, limit), "{report:?}");
        assert!(report.max_steps > 4 * rounds.parse::<u64>().expect("a number"), "{report:?}");
        assert!(report.bugs.is_empty(), "{report:?}");
    }
}

#[test]
fn the_limit_does_not_depend_on_the_number_of_workers() {
    let counts = |workers| {
        let search = ["--strategy", "random", "--max-executions", "8", "--workers", workers];
        let report = explore(&search, &["counts", "30000"]);
        (report.executions, report.distinct, report.cut, report.step_limit, report.max_steps)
    };
    let one = counts("1");
    assert_eq!((one.0, one.2, one.3), (8, 0, 2 * FIRST));
    assert_eq!(counts("2"), one);
}

#[test]
fn an_execution_that_polls_for_what_never_happens_ends_at_the_first_limit() {
    for how in ["polls", "polls-lock"] {
        let search = ["--strategy", "random", "--max-executions", "4", "--workers", "1"];
        let report = explore(&search, &[how]);
        let counts = (report.classes, report.cut, report.step_limit, report.max_steps);
        assert_eq!(counts, (2, 2, FIRST, FIRST), "{how}: {report:?}");
        assert!(report.reason.contains("made no progress"), "{how}: {report:?}");
    }
}

#[test]
fn a_limit_that_was_asked_for_does_not_grow() {
    let search = ["--strategy", "random", "--max-executions", "4", "--max-steps", "5000"];
    let report = explore(&search, &["counts", "75000"]);
    let counts = (report.classes, report.cut, report.step_limit, report.max_steps);
    assert_eq!(counts, (2, 2, 5000, 5000), "{report:?}");
}

#[test]
fn a_recorded_execution_that_was_longer_than_the_first_limit_replays() {
    let home = Home::new();
    let path = program(&home);
    let run = home.heddle(["run", "--", &path, "counts", "30000", "fails"]);
    assert_eq!(run.status, 1, "{}{}", run.stdout, run.stderr);
    let trace = std::fs::read_dir(home.path().join("heddle-out")).expect("traces");
    let mut trace = trace.map(|entry| entry.expect("readable").path());
    let trace = trace.find(|path| path.extension().is_some_and(|kind| kind == "heddle"));
    let trace = trace.expect("a trace").to_string_lossy().into_owned();
    let replay = home.heddle(["replay", &trace]);
    assert_eq!(replay.status, 1, "{}{}", replay.stdout, replay.stderr);
    assert!(
        replay.stdout.contains("identical in all 120,008 steps"),
        "{}{}",
        replay.stdout,
        replay.stderr
    );
}

/// Takes a minute: `cargo test --release -p tests --test long_executions -- --ignored`.
#[test]
#[ignore = "takes a minute"]
fn an_execution_may_have_ten_million_steps() {
    let search = ["--strategy", "random", "--max-executions", "1", "--workers", "1"];
    let report = explore(&search, &["counts", "2475000"]);
    assert_eq!((report.cut, report.step_limit), (0, 10_000_000), "{report:?}");
    assert!(report.max_steps > 9_900_000, "{report:?}");
}
