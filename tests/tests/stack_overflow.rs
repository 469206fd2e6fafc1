//! Stack overflows are reported in every kind of task, with the calls that led to them.

use std::process::Stdio;
use std::time::Duration;
use tests::heddle::{Home, run};
use tests::targets::programs;
use traces::FailureKind;

#[test]
fn a_stack_overflow_is_shown_with_its_calls() {
    let home = Home::new();
    let overflows = |bug| bug == Some(FailureKind::StackOverflow);
    let mut seen = 0;
    for program in programs().iter().filter(|program| overflows(program.bug)) {
        let path = program.build().expect("targets compile").to_string_lossy().into_owned();
        let mut args = vec!["explore", "--json", "--max-executions", "20", "--", &path];
        args.extend(program.args.iter().map(String::as_str));
        let report = home.heddle(&args).report();
        let bug = report.bugs.first().unwrap_or_else(|| panic!("{}: {report:?}", program.name));
        assert_eq!(bug.kind, FailureKind::StackOverflow, "{}: {bug:?}", program.name);
        let trace = bug.trace.as_deref().expect("a trace");
        let shown = home.heddle(["show", trace]).stdout;
        let calls = shown.lines().filter(|line| line.contains("fall ")).count();
        assert!(calls > 10, "{}: {calls} calls\n{shown}", program.name);
        assert!(shown.contains(&program.file), "{}: {shown}", program.name);
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[test]
fn a_stack_without_a_limit_ends_before_memory_is_exhausted() {
    let home = Home::new();
    let main = programs().iter().find(|program| program.name == "stack_overflow_main");
    let path = main.expect("in the manifest").build().expect("targets compile");
    let heddle =
        home.command(["explore", "--json", "--max-executions", "1", "--workers", "1", "--"]);
    let mut shell = std::process::Command::new("sh");
    // The largest allowed limit.
    shell.args(["-c", "ulimit -s $(ulimit -H -s) && exec \"$@\"", "sh"]);
    shell.arg(heddle.get_program()).args(heddle.get_args()).arg(path).arg("main");
    shell.current_dir(home.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell.envs(heddle.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = run(shell, Duration::from_secs(120));
    let bugs = run.report().bugs;
    assert_eq!(bugs.first().map(|bug| bug.kind), Some(FailureKind::StackOverflow), "{run:?}");
}
