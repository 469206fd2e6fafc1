//! Executions of depth-first searches that are resumed at a checkpoint are those from main.
//!
//! With `--reset memory:checked` each execution that is resumed is compared with the same one from main
//! in a fork: the records of all steps with their objects and values, the outcome, and the program's
//! memory at the end. A difference ends the search with an error.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tests::heddle::Home;
use tests::hostile::build;
use tests::oracle::suite;
use tests::targets::{Reach, program, programs};
use traces::report::{Bug, Report};

const STRATEGIES: [&[&str]; 4] =
    [&["dfs"], &["dpor"], &["dpor", "--bound", "2"], &["icb", "--bound", "2"]];

fn search(home: &Home, reset: &str, options: &[&str], command: &[&str]) -> Report {
    // Each search learns the points, so that all of them have the same executions.
    let mut args = vec!["explore", "--json", "--keep-going", "--workers", "1", "--reset", reset];
    static SEARCHES: AtomicUsize = AtomicUsize::new(0);
    let out = format!("out{}", SEARCHES.fetch_add(1, Relaxed));
    args.extend(["--out", &out]);
    args.push("--strategy");
    args.extend(options);
    args.push("--");
    args.extend(command);
    home.heddle(&args).report()
}

/// The part of a report that does not depend on speed or on how executions begin.
fn essence(report: &Report) -> (String, bool, [u64; 5], Vec<Bug>, usize) {
    let bugs = report.bugs.iter().map(|bug| Bug { trace: None, ..bug.clone() }).collect();
    let counts =
        [report.executions, report.distinct, report.max_steps, report.threads, report.diverged];
    (format!("{:?}", report.verdict), report.complete, counts, bugs, report.races.len())
}

/// Compares a search whose executions are resumed with one whose executions are not, and `as_usual`
/// also with one that is not checked. Returns how many executions were compared.
fn compare(home: &Home, options: &[&str], command: &[&str], as_usual: bool) -> u64 {
    let whole = search(home, "memory:whole", options, command);
    let resumed = search(home, "memory:checked", options, command);
    let expected = essence(&whole);
    assert_eq!(essence(&resumed), expected, "{options:?} of {command:?}: {:?}", resumed.reason);
    assert_eq!(resumed.reset, whole.reset, "{options:?} of {command:?}");
    if as_usual {
        let usual = search(home, "memory", options, command);
        assert_eq!(essence(&usual), expected, "{options:?} of {command:?}: {:?}", usual.reason);
    }
    resumed.checks.saturating_sub(whole.checks)
}

/// Each target with one of the strategies; with all of them if `HEDDLE_CHECKPOINTS` is set.
#[test]
fn executions_of_every_target_do_not_depend_on_where_they_begin() {
    let next = AtomicUsize::new(0);
    let (searches, compared) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        let home = Home::new();
        let all = std::env::var_os("HEDDLE_CHECKPOINTS").is_some();
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(program) = programs().get(number) else { break };
            let path = program.build().expect("targets compile").to_string_lossy().into_owned();
            let mut command = vec![path.as_str()];
            command.extend(program.args.iter().map(String::as_str));
            let most = if program.search == Reach::Few { "3" } else { "60" };
            let one = number % STRATEGIES.len();
            let strategies = if all { &STRATEGIES[..] } else { &STRATEGIES[one..=one] };
            for strategy in strategies {
                searches.fetch_add(1, Relaxed);
                let mut options = strategy.to_vec();
                options.extend(["--max-executions", most]);
                if let Some(slack) = &program.slack {
                    options.extend(["--slack", slack]);
                }
                // The checked search resumes the same executions. All four strategies have a turn.
                let as_usual = all || number.is_multiple_of(5);
                let checked = compare(&home, &options, &command, as_usual);
                compared.fetch_add(usize::from(checked > 0), Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(work);
        }
    });
    let (most, compared) = (searches.into_inner(), compared.into_inner());
    assert!(compared * 3 > most, "only {compared} of {most} searches resumed an execution");
}

#[test]
fn executions_of_generated_programs_do_not_depend_on_where_they_begin() {
    let home = Home::new();
    let count = std::env::var("HEDDLE_GENERATED").ok().and_then(|count| count.parse().ok());
    let suite = suite(5, count.unwrap_or(40));
    let binary = suite.compile(home.path()).expect("the generated programs compile");
    let path = binary.to_string_lossy();
    let mut compared = 0;
    for number in 0..suite.programs.len() {
        for (turn, strategy) in STRATEGIES.into_iter().enumerate() {
            let options = [strategy, &["--max-executions", "150"]].concat();
            // As above: each program has a turn, and each strategy on every fourth program.
            let as_usual = number % STRATEGIES.len() == turn;
            compared += compare(&home, &options, &[&path, &number.to_string()], as_usual);
        }
    }
    assert!(compared as usize > suite.programs.len() * 20, "{compared} executions were resumed");
}

/// Threads that run for long before they meet: executions that only differ after that are resumed
/// there, also if many steps precede.
#[test]
fn a_long_beginning_that_executions_share_is_not_run_again() {
    let home = Home::new();
    let path = build(&home, "long_beginning", "long_beginning", &[]).to_string_lossy().into_owned();
    for steps in ["0", "700"] {
        for strategy in STRATEGIES {
            let options = [strategy, &["--max-executions", "300"]].concat();
            let command = [path.as_str(), steps];
            assert!(compare(&home, &options, &command, true) > 0, "{strategy:?} {steps}");
        }
    }
}

/// A search of more than 2,000 executions is divided into pieces of work. The first execution of a piece
/// is resumed at a step that it has in common with the last one of another piece.
#[test]
fn the_first_executions_of_pieces_do_not_depend_on_where_they_begin() {
    let home = Home::new();
    let path = program("readers").build().expect("targets compile").to_string_lossy().into_owned();
    for strategy in STRATEGIES {
        let options = [strategy, &["--max-executions", "2300"]].concat();
        assert!(compare(&home, &options, &[&path, "13"], true) > 0, "{strategy:?}");
    }
}

/// What one worker learns in an execution holds for the next one of each worker, which therefore may not begin
/// in the middle of that execution.
#[test]
fn executions_after_one_that_learned_points_begin_where_they_do_from_main() {
    let home = Home::new();
    let built = program("classic_bounded_buffer_rs").build().expect("targets compile");
    let path = built.to_string_lossy().into_owned();
    let options =
        ["explore", "--json", "--keep-going", "--workers", "2", "--max-executions", "4000"];
    let command = ["--reset", "memory:checked", "--", &path, "read-recursion"];
    let report = home.heddle(options.iter().chain(&command)).report();
    // An execution that differs ends the search.
    assert_eq!(report.reason, "");
    assert!(report.executions > 3000, "{} executions", report.executions);
    assert!(report.checks > 20, "{} executions were compared", report.checks);
}
