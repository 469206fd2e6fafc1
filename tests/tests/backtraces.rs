//! Backtraces of Rust's panics, as `RUST_BACKTRACE` asks for them.

use std::time::Duration;
use tests::heddle::{self, Home, Run};
use tests::targets::program;

/// Runs Heddle with a value of the variable; none if it is not set.
fn with(home: &Home, value: Option<&str>, args: &[&str]) -> Run {
    let mut command = home.command(args);
    match value {
        Some(value) => command.env("RUST_BACKTRACE", value),
        None => command.env_remove("RUST_BACKTRACE"),
    };
    heddle::run(command, Duration::from_secs(300))
}

const BACKTRACE: &str = "stack backtrace:";

/// The steps are those without a backtrace, and so replays and further searches cost nothing more.
#[test]
fn a_failure_is_shown_with_the_backtrace_that_the_user_asked_for() {
    let path = program("panic_at_second_place").build().expect("targets compile");
    let path = path.to_string_lossy().into_owned();
    let mut steps = Vec::new();
    for (value, prints) in
        [(None, false), (Some("0"), false), (Some("1"), true), (Some("full"), true)]
    {
        let home = Home::new();
        let report = with(&home, value, &["explore", "--json", "--", &path]).report();
        let bug = report.bugs.first().unwrap_or_else(|| panic!("{value:?}: {report:?}"));
        let trace = bug.trace.clone().expect("a trace");
        let shown = with(&home, value, &["show", "--output", &trace]).stdout;
        let output = shown.split_once("\nOutput\n").expect("an output").1;
        assert_eq!(output.contains(BACKTRACE), prints, "{value:?}: {shown}");
        let names = output.contains("panic_at_second_place::check_that_it_is_first");
        assert_eq!(names, prints, "{value:?}: {shown}");
        steps.push((bug.steps, bug.signature.clone()));
        let replayed = with(&home, value, &["replay", "--times", "3", &trace]);
        assert!(replayed.stdout.starts_with("reproduced: "), "{value:?}: {replayed:?}");
        with(&home, value, &["shrink", "--output", "small.heddle", &trace]);
        let shown = with(&home, value, &["show", "--output", "small.heddle"]).stdout;
        assert_eq!(shown.contains(BACKTRACE), prints, "{value:?}: {shown}");
    }
    assert!(steps.iter().all(|one| *one == steps[0]), "{steps:?}");
}

/// The panic is caught: the run does not fail.
#[test]
fn a_run_prints_the_backtrace_that_the_user_asked_for() {
    let home = Home::new();
    let text = "fn main() {\n    std::thread::spawn(|| ()).join().unwrap();\n    \
                assert!(std::panic::catch_unwind(|| panic!(\"caught\")).is_err());\n    \
                println!(\"the end\");\n}\n";
    std::fs::write(home.path().join("caught.rs"), text).expect("a file");
    let mut compiler = std::process::Command::new("rustc");
    compiler.args(["-g", "--edition", "2021", "caught.rs"]).current_dir(home.path());
    assert!(compiler.status().expect("rustc runs").success());
    for (value, prints) in
        [(None, false), (Some("0"), false), (Some("1"), true), (Some("full"), true)]
    {
        let run = with(&home, value, &["run", "--", "./caught"]);
        assert_eq!(run.stdout.contains(BACKTRACE), prints, "{value:?}: {run:?}");
        assert!(run.status == 0 && run.stdout.contains("the end"), "{value:?}: {run:?}");
    }
}
