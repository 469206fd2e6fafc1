//! Probes in programs as they are: jumps or breakpoints, what is found is the same.

use tests::heddle::Home;
use tests::targets::{Language, Program, Where, programs};
use traces::report::{Bug, Report};

fn search(home: &Home, program: &Program, points: &str) -> Report {
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--keep-going", "--strategy", "random", "--seed", "7"];
    args.extend(["--max-executions", "30", "--max-steps", "2000", "--workers", "1"]);
    args.extend(["--points", points, "--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

/// What does not depend on how fast it went.
fn essence(report: &Report) -> (u64, u64, u64, u64, u64, Vec<Bug>, Vec<String>) {
    let bugs = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let (points, conflicts) = (report.points.racy, report.conflicts.clone());
    let Report { executions, learning, distinct, max_steps, .. } = *report;
    (executions, learning, distinct, max_steps, points, bugs, conflicts)
}

#[test]
fn jumps_and_breakpoints_find_the_same() {
    let home = Home::new();
    let plain = |program: &&Program| {
        let is_compiled = program.flags.iter().any(|flag| flag.contains("sanitize"));
        (program.points == Where::Racy || program.language == Language::Rust) && !is_compiled
    };
    for program in programs().iter().filter(plain) {
        let jumps = search(&home, program, "racy");
        let breakpoints = search(&home, program, "racy:breakpoints");
        assert_eq!(essence(&jumps), essence(&breakpoints), "{}", program.name);
    }
}
