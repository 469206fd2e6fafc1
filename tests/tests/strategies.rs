//! Every strategy on real programs, through the command line.

use tests::heddle::Home;
use tests::hostile::build;
use tests::rows::{ORDERS, ROWS, Row};
use tests::targets::{Program, program};
use traces::report::{Report, Verdict};

fn explore(name: &str, strategy: &str, more: &[&str]) -> Report {
    let program = program(name);
    let args: Vec<&str> = program.args.iter().map(String::as_str).collect();
    search(program, &args, strategy, more)
}

fn search(program: &Program, with: &[&str], strategy: &str, more: &[&str]) -> Report {
    let home = Home::new();
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let path = path.to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--strategy", strategy, "--max-executions", "5000"];
    args.extend(["--max-steps", "2000"]);
    args.extend(more);
    args.extend(["--", &path]);
    args.extend(with);
    home.heddle(&args).report()
}

/// The same program with compiled memory-access instrumentation.
fn compiled(plain: &Program) -> Program {
    Program {
        name: format!("{}_compiled", plain.name),
        flags: [&plain.flags[..], &["-fsanitize=thread".to_owned()]].concat(),
        ..plain.clone()
    }
}

#[test]
fn shallow_bugs_are_found_by_every_strategy() {
    for strategy in [
        "auto", "directed", "sticky:3", "pct:2", "pos", "rapos", "surw", "feedback", "dfs", "icb",
        "delay", "dpor", "hapset", "hapset:3",
    ] {
        for name in ["increment", "abba"] {
            // Without a learning phase, which would find them. What hapset:3 executes of abba has no
            // deadlock, and only its learning phase shows that.
            let without = ["--points", "api"];
            let has_learning = (name, strategy) == ("abba", "hapset:3");
            let options = if has_learning { &[][..] } else { &without };
            let report = explore(name, strategy, options);
            assert_eq!(report.verdict, Verdict::Bug, "{name} by {strategy}: {report:?}");
            assert!(report.found_by.is_some_and(|part| !part.is_empty()), "{name} by {strategy}");
        }
    }
}

#[test]
fn directed_reversal_finds_them_in_the_second_execution() {
    for name in ["increment", "abba", "bank", "twostage"] {
        for strategy in ["auto", "directed"] {
            let report = explore(name, strategy, &["--points", "api"]);
            assert_eq!(report.bugs.first().map(|bug| bug.found_at), Some(2), "{name}: {report:?}");
            assert_eq!(report.found_by.as_deref(), Some("directed"));
        }
    }
}

#[test]
fn coverage_is_reported() {
    let whole = explore("increment_locked", "dpor", &[]);
    let said = (whole.verdict, whole.classes, whole.complete, whole.bound);
    assert_eq!(said, (Verdict::Clean, 2, true, None));
    let within = explore("increment_locked", "icb", &["--bound", "1"]);
    assert_eq!((within.verdict, within.bound), (Verdict::Clean, Some(1)));
    let within = explore("increment_locked", "dpor", &["--bound", "0"]);
    assert_eq!((within.verdict, within.bound), (Verdict::Clean, Some(0)));
    let directed = explore("increment_locked", "directed", &[]);
    assert_eq!((directed.verdict, directed.bound), (Verdict::Incomplete, Some(-1)));
}

#[test]
fn a_reduction_that_misses_accesses_claims_no_coverage() {
    // These flags are read without any scheduling point.
    let report = explore("lost_wakeup", "dpor", &[]);
    assert_ne!(report.verdict, Verdict::Clean, "{report:?}");
    assert_eq!(explore("lost_wakeup", "auto", &[]).verdict, Verdict::Bug);
}

/// Looking at the flag of a once routine and the end of the routine are steps.
#[test]
fn a_once_routine_is_covered() {
    let whole = explore("once", "dpor", &[]);
    assert_eq!((whole.verdict, whole.complete), (Verdict::Clean, true), "{whole:?}");
    let within = explore("once", "dpor", &["--bound", "1"]);
    assert_eq!((within.verdict, within.bound), (Verdict::Clean, Some(1)), "{within:?}");
}

#[test]
fn a_preemption_bounded_search_restarted_with_new_points_discards_its_cache() {
    let report = search(program("lastzero"), &["10"], "icb", &[]);
    assert!(report.points.new > 0, "the search learned on the way: {report:?}");
    assert!(report.executions > 100, "{report:?}");
}

/// Loops that read several objects until another task changes one of them: no search runs them up
/// to the limit of steps.
#[test]
fn a_task_that_polls_several_objects_waits_in_every_search() {
    for name in ["seqlock", "wait_peterson", "wait_bakery", "wait_queue", "wait_semaphore"] {
        let reduced = explore(name, "dpor", &[]);
        let said = (reduced.verdict, reduced.complete);
        assert_eq!(said, (Verdict::Clean, true), "{name}: {reduced:?}");
        for strategy in ["auto", "directed", "icb", "dfs", "random", "pct:2"] {
            let report = explore(name, strategy, &[]);
            assert_ne!(report.verdict, Verdict::Bug, "{name} by {strategy}: {report:?}");
            assert!(report.max_steps < 200, "{name} by {strategy}: {report:?}");
        }
    }
}

/// The C++ library's code for local statics is not instrumented; its effect on the guard variable
/// is recorded instead.
#[test]
fn a_local_static_initialized_by_two_threads_is_covered() {
    for name in ["static_guard", "static_guard_compiled"] {
        let report = explore(name, "dpor", &[]);
        let said = (report.verdict, report.complete, report.races.len());
        assert_eq!(said, (Verdict::Clean, true, 0), "{name}: {report:?}");
        assert!(report.executions > 2, "{name}: {report:?}");
    }
}

/// A polling loop that counts its iterations in memory or in a register: it is not followed
/// indefinitely, and the search does not claim to have covered the effect of many iterations.
#[test]
fn a_polling_loop_that_counts_iterations_is_not_reported_as_covered() {
    let plain = program("wait_counts");
    for program in [plain, &compiled(plain)] {
        for strategy in ["dpor", "auto"] {
            let report = search(program, &[], strategy, &[]);
            let what = format!("{} by {strategy}: {report:?}", program.name);
            assert_eq!((report.verdict, report.complete), (Verdict::Incomplete, false), "{what}");
            assert!(strategy != "dpor" || report.executions < 1_000, "{what}");
            assert!(
                program.name != plain.name || what.contains("to count the iterations"),
                "{what}"
            );
        }
    }
}

/// Exactly one execution for each class, with the unmodified binary and with an instrumented build.
#[test]
fn reduction_runs_one_execution_for_each_class() {
    let cases: [(&str, &[&str], u64); 28] = [
        ("readers", &["8"], 256),
        ("lastzero", &["2"], 5),
        ("lastzero", &["5"], 64),
        ("lastzero_int", &["3"], 12),
        ("lastzero_int", &["5"], 64),
        ("lastzero_int", &["8"], 704),
        ("lastzero_int", &["10"], 3_328),
        ("lastzero_short", &["5"], 64),
        ("lastzero_char", &["5"], 64),
        ("indexer", &["11"], 1),
        ("indexer", &["12"], 8),
        ("indexer_int", &["11"], 1),
        ("indexer_int", &["12"], 8),
        ("indexer_int", &["13"], 64),
        ("indexer_short", &["12"], 8),
        ("filesystem", &["13"], 1),
        ("filesystem", &["14"], 2),
        ("filesystem", &["16"], 8),
        ("filesystem_int", &["13"], 1),
        ("filesystem_int", &["14"], 2),
        ("filesystem_int", &["16"], 8),
        ("filesystem_char", &["16"], 8),
        ("filesystem_char", &["14"], 2),
        ("locks_disjoint", &["6"], 1),
        ("locks", &["3"], 6),
        ("locks", &["5"], 120),
        ("increment_locked", &["2", "3"], 20),
        ("increment_locked", &["3", "2"], 90),
    ];
    for (name, args, classes) in cases {
        let plain = program(name);
        for program in [plain, &compiled(plain)] {
            let report = search(program, args, "dpor", &[]);
            let said = (report.verdict, report.complete, report.bound, report.classes);
            let what = format!("{} {args:?}: {report:?}", program.name);
            assert_eq!(said, (Verdict::Clean, true, None, classes), "{what}");
        }
    }
}

/// The address of an object depends on which task allocates first; its identity does not.
#[test]
fn objects_are_identified_independently_of_their_address() {
    for args in [["2", "2"], ["3", "1"]] {
        let [elsewhere, fixed] = ["own_objects", "own_objects_fixed"].map(|name| {
            let all = ["1", "2"].map(|workers| {
                let report = search(program(name), &args, "dpor", &["--workers", workers]);
                (report.verdict, report.executions, report.distinct)
            });
            assert_eq!(all[0], all[1], "{name} {args:?} by one worker and by two");
            all[0]
        });
        assert_eq!(elsewhere, fixed, "{args:?}");
    }
}

#[test]
fn failures_of_real_programs_are_found_as_soon_as_by_the_best_tool() {
    let mut late = Vec::new();
    for row in ROWS {
        let report = row.explore_again(&["--max-executions", "1000"]);
        let found = Row::first(&report);
        if found.is_none_or(|found| found as f64 > row.best) {
            late.push((row.name(), found, row.best));
        }
    }
    assert!(late.is_empty(), "later than others: {late:?}");
}

/// All executions count, also those that learn the points.
#[test]
fn failures_are_found_as_soon_by_a_search_that_knows_nothing() {
    let mut late = Vec::new();
    for row in ROWS {
        let report = row.explore(&["--max-executions", "1000"]);
        let found = report.bugs.iter().map(|bug| bug.found_at).min();
        if found.is_none_or(|found| found as f64 > row.best) {
            late.push((row.name(), found, row.best));
        }
    }
    assert!(late.is_empty(), "later than others: {late:?}");
}

/// Early failures are not found early because of the order in which threads are created.
#[test]
fn failures_are_found_as_soon_when_threads_are_created_in_another_order() {
    let mut late = Vec::new();
    for row in ROWS.iter().filter(|row| row.creates_as_written()) {
        for number in 0..ORDERS {
            let report = row.explore_in_order(number, &["--max-executions", "1000"]);
            let found = Row::first(&report);
            // If the thieves run first there is nothing to steal, so the failure found in the
            // fourth execution is found in the eighth.
            let most = if row.target == "work_stealing" { 8.0 } else { row.best };
            if found.is_none_or(|found| found as f64 > most) {
                late.push((row.name(), number, found, most));
            }
        }
    }
    assert!(late.is_empty(), "later than others: {late:?}");
}

/// Otherwise a report with failures would not say why the search is over, though no limit ended it.
#[test]
fn a_finished_strategy_says_after_failures_that_it_does_not_cover_every_schedule() {
    let home = Home::new();
    build(&home, "many_bugs", "program", &["-DTHREADS=3"]);
    let says = "directed is finished, but does not cover every schedule";
    for (strategy, most, ends) in
        [("directed", "0", true), ("directed", "5", false), ("dpor", "0", false)]
    {
        let args =
            ["explore", "--json", "--keep-going", "--strategy", strategy, "--max-executions", most];
        let report = home.heddle(args.iter().chain(&["--", "./program"])).report();
        assert_eq!(report.verdict, Verdict::Bug, "{report:?}");
        let said = report.notes.iter().any(|note| note == says);
        assert_eq!(said, ends, "{strategy}, {most} executions: {:?}", report.notes);
    }
}
