//! `--atomic`, `--focus` and `--serial`: where tasks are preempted, and what the report claims.

use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Report, Verdict};

/// A search of two tasks that each read and then set a balance, in two critical sections.
fn bank(options: &[&str]) -> Report {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    let path = path.to_string_lossy().into_owned();
    let mut args = vec!["explore", "--json", "--max-executions", "20000"];
    args.extend(options);
    args.extend(["--", &path]);
    home.heddle(&args).report()
}

fn reports_scope(report: &Report) -> bool {
    report.notes.iter().any(|note| note.contains("the search was scoped"))
}

#[test]
fn a_failure_that_needs_a_preemption_is_found_only_where_preemptions_are_allowed() {
    for (option, pattern, found) in [
        ("--focus", "bank.c", true),
        ("--focus", "bank", true),
        ("--focus", "?et", true),
        ("--focus", "main", false),
        ("--atomic", "main", true),
        ("--atomic", "bank.c", false),
        ("--atomic", "*et", false),
        // One of the two tasks may still be preempted.
        ("--serial", "T1", true),
        ("--serial", "T1..T2", false),
        ("--serial", "deposit", true),
    ] {
        for strategy in ["icb", "dfs", "auto"] {
            let report = bank(&["--strategy", strategy, option, pattern]);
            let is_found = report.verdict == Verdict::Bug;
            assert_eq!(is_found, found, "{option} {pattern} {strategy}: {report:?}");
            assert!(reports_scope(&report), "{option} {pattern} {strategy}: {report:?}");
            // The report claims nothing about schedules with preemptions elsewhere.
            assert_eq!(report.bound, Some(-1), "{option} {pattern} {strategy}: {report:?}");
        }
    }
}

#[test]
fn a_reduction_in_a_scope_is_not_reported_as_complete() {
    for strategy in ["dpor", "auto"] {
        let report = bank(&["--strategy", strategy, "--atomic", "bank.c"]);
        assert_eq!(report.verdict, Verdict::Incomplete, "{report:?}");
        assert_eq!(report.diverged, 0, "{report:?}");
    }
    assert_eq!(bank(&["--strategy", "dfs", "--atomic", "bank.c"]).verdict, Verdict::Clean);
}

#[test]
fn a_pattern_that_matches_nothing_is_refused() {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    for option in ["--atomic", "--focus", "--serial"] {
        let run = home.heddle(["explore", option, "no_such_name", "--", &path.to_string_lossy()]);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.stderr.contains("no_such_name"), "{run:?}");
    }
}

#[test]
fn a_thread_that_never_exists_is_named() {
    let names = |options: &[&str]| {
        let report = bank(options);
        report
            .notes
            .iter()
            .any(|note| note.ends_with("no execution had a thread T7; the last one is T2"))
    };
    assert!(names(&["--serial", "T7"]));
    assert!(names(&["--serial", "T7..T9"]));
    assert!(names(&["--when", "T7@deposit"]));
    assert!(!names(&["--serial", "T2..T9"]));
    assert!(!names(&["--when", "T2@deposit"]));
}

#[test]
fn threads_that_do_not_matter_run_serially() {
    let home = Home::new();
    let path = program("predicate_kinds").build().expect("the target builds");
    let path = path.to_string_lossy().into_owned();
    let executions = |options: &[&str]| {
        let mut args = vec!["explore", "--json", "--strategy", "dfs", "--bound", "1"];
        args.extend(["--max-executions", "100000"]);
        args.extend(options);
        args.extend(["--", &path, "divide", "4"]);
        let report = home.heddle(&args).report();
        assert_eq!(report.verdict, Verdict::Clean, "{report:?}");
        report.classes
    };
    let (all, by_name) = (executions(&[]), executions(&["--serial", "interfere"]));
    let by_number = executions(&["--serial", "T3..T4"]);
    println!("{all} executions, {by_name} with two of four threads serial");
    assert_eq!(by_name, by_number);
    assert!(3 * by_name < 2 * all, "{by_name} of {all}");
}

#[test]
fn a_list_of_serial_threads_is_checked() {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    for (text, says) in [
        ("T9..T4", "expected two threads, the first one with the smaller number, as in T4..T9"),
        ("T1..", "expected two threads"),
        ("worker", "no thread has this name or start function; the threads are"),
    ] {
        let run = home.heddle(["explore", "--serial", text, "--", &path.to_string_lossy()]);
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.stderr.contains(&format!("--serial {text}: {says}")), "{run:?}");
    }
}

#[test]
fn a_failure_found_in_a_scope_replays_without_it() {
    let home = Home::new();
    let path = program("bank").build().expect("the target builds");
    let args = ["explore", "--json", "--focus", "set", "--", &path.to_string_lossy()];
    let report = home.heddle(args).report();
    let trace = report.bugs[0].trace.as_deref().expect("a trace");
    assert_eq!(home.heddle(["replay", "--times", "5", trace]).status, 1);
}

/// Without optimisation an atomic operation is a function of Rust's library: the user's code that called it
/// counts.
#[test]
fn an_operation_in_a_library_is_in_the_code_that_called_it() {
    let home = Home::new();
    let source = "use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
        static VALUE: AtomicU32 = AtomicU32::new(0);
        fn add() { let seen = VALUE.load(SeqCst); VALUE.store(seen + 1, SeqCst); }
        fn main() {
            let threads = [std::thread::spawn(add), std::thread::spawn(add)];
            for thread in threads { thread.join().unwrap(); }
            assert_eq!(VALUE.load(SeqCst), 2);
        }\n";
    std::fs::write(home.path().join("lost.rs"), source).expect("a file");
    let program = home.path().join("lost");
    let mut compiler = std::process::Command::new("rustc");
    compiler.args(["--edition", "2024", "-g", "-o"]).arg(&program).arg(home.path().join("lost.rs"));
    assert!(compiler.env_remove("RUSTFLAGS").status().expect("rustc runs").success());
    let program = program.to_string_lossy().into_owned();
    for (option, pattern, found) in [
        ("--focus", "lost::add", true),
        ("--focus", "lost.rs", true),
        ("--focus", "lost::main", false),
        ("--atomic", "lost::add", false),
        ("--atomic", "lost.rs", false),
        ("--atomic", "lost::main", true),
    ] {
        let words =
            ["explore", "--json", "--max-executions", "2000", option, pattern, "--", &program];
        let report = home.heddle(words).report();
        assert_eq!(report.verdict == Verdict::Bug, found, "{option} {pattern}: {report:?}");
    }
}
