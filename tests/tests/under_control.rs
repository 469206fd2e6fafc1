//! Every program of the manifest under Heddle: the verdict, the kind of failure, its message, and
//! the replay of its trace.

use tests::heddle::Home;
use tests::targets::{Program, Reach, program, programs};
use traces::FailureKind;
use traces::report::{Report, Verdict};

/// The number of executions of a search that cannot finish.
const LONG: &str = "3000";
/// The same for a random search of a program that a complete search covers as well. It shows that
/// random finds no failure where there is none, and not that there is none.
const COVERED: &str = "300";
/// The same if each execution takes long.
const FEW: &str = "60";

fn search(home: &Home, program: &Program, strategy: &str, most: &str) -> Report {
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let mut args = vec!["explore", "--json", "--strategy", strategy, "--max-executions", most];
    args.extend(["--max-steps", "2000"]);
    if let Some(slack) = &program.slack {
        args.extend(["--slack", slack]);
    }
    args.push("--");
    let path = path.to_string_lossy().into_owned();
    args.push(&path);
    args.extend(program.args.iter().map(String::as_str));
    let run = home.heddle(&args);
    let report = run.report();
    let status = match report.verdict {
        Verdict::Bug => 1,
        Verdict::Unsupported | Verdict::Error => 3,
        Verdict::Satisfied => 5,
        Verdict::Clean | Verdict::Incomplete => 0,
    };
    assert_eq!(run.status, status, "{}: {run:?}", program.name);
    report
}

fn check(program: &Program) -> Result<(), String> {
    let home = Home::new();
    let most = match (program.search, program.verdict) {
        (Reach::Few, _) => FEW,
        (Reach::Complete, Verdict::Clean) => COVERED,
        _ => LONG,
    };
    let random = search(&home, program, "random", most);
    let reports = match program.search {
        Reach::Complete => vec![search(&home, program, "dfs", "200000"), random],
        Reach::Long | Reach::Few | Reach::Seldom => vec![random],
        Reach::Rare => vec![search(&home, program, "dfs", "200000")],
    };
    for (index, report) in reports.iter().enumerate() {
        let expected = match program.verdict {
            Verdict::Clean if matches!(program.search, Reach::Long | Reach::Few) || index > 0 => {
                Verdict::Incomplete
            }
            Verdict::Bug if program.search == Reach::Seldom => Verdict::Incomplete,
            other => other,
        };
        if report.verdict != expected {
            return Err(format!("{}: expected {expected:?}, got {report:#?}", program.name));
        }
        // The executions of the learning phase may show further symptoms of the same bug.
        let own = report.bugs.iter().find(|bug| Some(bug.kind) == program.bug);
        match (program.bug, own.or(report.bugs.first())) {
            (None, None) => {}
            (Some(_), None) if program.search == Reach::Seldom => {}
            (Some(kind), Some(bug)) => {
                if bug.kind != kind || !program.message_matches(&bug.message) {
                    return Err(format!("{}: {kind} expected: {bug:#?}", program.name));
                }
                if kind != FailureKind::Unsupported {
                    let trace = bug.trace.as_deref().ok_or("no trace")?;
                    let run = home.heddle(["replay", "--times", "20", trace]);
                    if run.status != 1 {
                        return Err(format!("{}: {run:#?}", program.name));
                    }
                }
            }
            (expected, found) => {
                return Err(format!("{}: {expected:?} expected: {found:#?}", program.name));
            }
        }
    }
    Ok(())
}

/// One test for each part of the manifest, so that they run in parallel.
fn check_part(part: usize, parts: usize) {
    let failures: Vec<String> = programs()
        .iter()
        .skip(part)
        .step_by(parts)
        .filter(|program| only().is_none_or(|name| name == program.name))
        .filter_map(|program| check(program).err())
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// `HEDDLE_TARGET=name` selects one program.
fn only() -> Option<String> {
    std::env::var("HEDDLE_TARGET").ok()
}

#[test]
fn programs_behave_as_the_manifest_says_part_1() {
    check_part(0, 4);
}

#[test]
fn programs_behave_as_the_manifest_says_part_2() {
    check_part(1, 4);
}

#[test]
fn programs_behave_as_the_manifest_says_part_3() {
    check_part(2, 4);
}

#[test]
fn programs_behave_as_the_manifest_says_part_4() {
    check_part(3, 4);
}

#[test]
fn a_loop_with_timed_waits_ends_under_every_strategy() {
    let home = Home::new();
    for name in ["timed_poll_wait", "timed_poll_semaphore"] {
        let program = program(name);
        for strategy in ["dfs", "icb", "dpor", "directed", "auto"] {
            let report = search(&home, program, strategy, "300");
            assert!(report.bugs.is_empty(), "{name} {strategy}: {report:?}");
            // A loop in which only main runs would reach the limit of 2,000 steps.
            assert!(report.max_steps < 200, "{name} {strategy}: {report:?}");
            // What the loop does is a wait, which `dpor` covers.
            assert!(report.complete || strategy != "dpor", "{name} {strategy}: {report:?}");
        }
    }
}
