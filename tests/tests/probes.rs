//! Probes in unmodified programs: jump probes and breakpoint probes find the same.

use tests::heddle::Home;
use tests::targets::{Language, Program, Where, program, programs};
use traces::report::{Bug, Report, Verdict};

fn search(home: &Home, program: &Program, points: &str) -> Report {
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--keep-going", "--strategy", "random", "--seed", "7"];
    args.extend(["--max-executions", "30", "--max-steps", "2000", "--workers", "1"]);
    args.extend(["--points", points, "--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

/// The part of a report that does not depend on speed.
fn essence(report: &Report) -> (u64, u64, u64, u64, u64, Vec<Bug>, Vec<String>) {
    let bugs = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let (points, conflicts) = (report.points.racy, report.conflicts.clone());
    let Report { executions, learning, distinct, max_steps, .. } = *report;
    (executions, learning, distinct, max_steps, points, bugs, conflicts)
}

#[test]
fn jump_and_breakpoint_probes_find_the_same() {
    let home = Home::new();
    let plain = |program: &&Program| {
        let is_compiled = program.flags.iter().any(|flag| flag.contains("sanitize"));
        (program.points == Where::Racy || program.language == Language::Rust) && !is_compiled
    };
    // A third of them, of each kind: all of them would take minutes.
    for program in programs().iter().filter(plain).step_by(3) {
        let jumps = search(&home, program, "racy");
        let breakpoints = search(&home, program, "racy:breakpoints");
        assert_eq!(essence(&jumps), essence(&breakpoints), "{}", program.name);
    }
}

/// The report of a depth-first or reducing search of a target.
fn exhaust(home: &Home, name: &str, strategy: &str) -> Report {
    let program = program(name);
    let path = program.build().expect("targets compile").to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--strategy", strategy, "--max-executions", "20000"];
    args.extend(["--", &path]);
    args.extend(program.args.iter().map(String::as_str));
    home.heddle(&args).report()
}

#[test]
fn a_helper_function_is_a_point_only_where_it_touches_shared_memory() {
    let report = exhaust(&Home::new(), "helper", "dfs");
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert!(report.max_steps < 40, "{report:?}");
}

#[test]
fn a_conflict_on_a_path_without_learning_is_seen_by_the_search() {
    let report = exhaust(&Home::new(), "rare_path", "dpor");
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert!(report.points.new > 0, "{report:?}");
}

#[test]
fn an_atomic_orders_its_own_variable_and_not_the_neighbours() {
    let home = Home::new();
    let path = program("work_stealing_two").build().expect("targets compile");
    let args = ["explore", "--json", "--strategy", "dpor", "--", &path.to_string_lossy(), "1"];
    let report = home.heddle(args).report();
    assert!(report.conflicts.iter().any(|one| one.starts_with("tail")), "{report:?}");
    assert!(report.conflicts.iter().any(|one| one.starts_with("head")), "{report:?}");
}

#[test]
fn conflicts_of_threads_that_rarely_overlap_are_learned() {
    let home = Home::new();
    for strategy in ["random", "auto", "dpor"] {
        let report = exhaust(&home, "work_stealing_two", strategy);
        assert_eq!(report.verdict, Verdict::Bug, "{strategy}: {report:?}");
    }
}
