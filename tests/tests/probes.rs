//! Probes in programs as they are: jumps or breakpoints, what is found is the same.

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
    // A third of them, of each sort: all take minutes.
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
fn a_helper_is_a_point_where_it_touches_what_is_shared_and_not_on_private_memory() {
    let report = exhaust(&Home::new(), "helper", "dfs");
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert!(report.max_steps < 40, "{report:?}");
}

#[test]
fn a_conflict_on_a_path_that_learning_did_not_take_is_seen_by_the_search() {
    let report = exhaust(&Home::new(), "rare_path", "dpor");
    assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
    assert!(report.points.new > 0, "{report:?}");
}

#[test]
fn an_atomic_orders_its_own_variable_and_not_its_neighbours() {
    let home = Home::new();
    let path = program("work_stealing_two").build().expect("targets compile");
    let args = ["explore", "--json", "--strategy", "dpor", "--", &path.to_string_lossy(), "1"];
    let report = home.heddle(args).report();
    assert!(report.conflicts.iter().any(|one| one.starts_with("tail")), "{report:?}");
    assert!(report.conflicts.iter().any(|one| one.starts_with("head")), "{report:?}");
}

/// Programs of every sort, each with something to do that takes a moment: the name and the arguments.
const PROGRAMS: [&[&str]; 9] = [
    &["pigz", "-c", "-p", "1", "lines"],
    &["xz", "-c", "lines"],
    &["zstd", "-q", "-c", "--single-thread", "lines"],
    &["sort", "lines"],
    &["git", "--help"],
    &["bash", "-c", "for ((i = 0; i < 20; i++)); do echo $((i * i)); done"],
    &["python3.11", "-S", "-c", "print(sum(i * i for i in range(100)))"],
    &["gdb", "--version"],
    &["rg", "--no-config", "-j1", "-N", "line 1", "lines"],
];

/// Prints a table for those that are there. `cargo test --test probes -- --ignored --nocapture table`
#[test]
#[ignore = "for the table of how many probes are jumps in programs of the system; it takes a minute"]
fn table_of_programs_with_every_instruction_probed() {
    let home = Home::new();
    let lines: String = (0..40).map(|n| format!("line {}\n", n * 7 % 40)).collect();
    std::fs::write(home.path().join("lines"), lines).unwrap();
    println!(
        "{:12} {:>8} {:>8} {:>7} {:>7}  output",
        "program", "probes", "jumps", "jumps", "code"
    );
    for program in PROGRAMS {
        let native = std::process::Command::new(program[0])
            .args(&program[1..])
            .current_dir(home.path())
            .output();
        let Ok(native) = native else {
            println!("{:12} is not here", program[0]);
            continue;
        };
        let every = ["--points", "all", "--max-steps", "100000000"];
        let run = [&["run"], &every[..], &["--"], program].concat();
        let ours = home.command(run).output().unwrap();
        let explore =
            [&["explore", "--json", "--max-executions", "1"], &every[..], &["--"], program]
                .concat();
        let points = home.heddle(explore).report().points;
        let share = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
        println!(
            "{:12} {:>8} {:>8} {:>6.1}% {:>6.1}%  {}",
            program[0],
            points.probes,
            points.jumps,
            share(points.jumps, points.probes),
            share(points.covered, points.code),
            if ours.stdout == native.stdout { "the same" } else { "DIFFERS" },
        );
    }
}

#[test]
fn conflicts_of_threads_that_seldom_run_at_a_time_are_learned() {
    let home = Home::new();
    for strategy in ["random", "auto", "dpor"] {
        let report = exhaust(&home, "work_stealing_two", strategy);
        assert_eq!(report.verdict, Verdict::Bug, "{strategy}: {report:?}");
    }
}
