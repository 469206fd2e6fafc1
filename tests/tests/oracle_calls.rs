//! Generated functions whose threads call the C library, the C++ library and the kernel. A search finds
//! exactly the outcomes that an independent enumeration of the calls' meaning has.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;
use tests::heddle::{Home, run};
use tests::oracle::calls::{Family, Function, functions, source};
use tests::oracle::exit_status::{found, programs, skips};
use tests::parallel::check_all;
use traces::report::Report;

/// The functions of one binary.
const FUNCTIONS: usize = 200;
/// The functions of the one that is compiler-instrumented.
const COMPILED: usize = 60;
/// No function has as many classes; a search that needs more executions is reported.
const EXECUTIONS: &str = "20000";

/// Far more than a search needs on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

fn build(home: &Home, text: &str, name: &str, more: &[&str]) -> String {
    let (source, built) = (home.path().join(format!("{name}.cpp")), home.path().join(name));
    std::fs::write(&source, text).expect("written");
    let flags = ["-std=c++17", "-g", "-O2", "-fno-builtin", "-pthread", "-o"];
    let output = Command::new("g++")
        .args(more)
        .args(flags)
        .arg(&built)
        .arg(&source)
        .output()
        .expect("g++ starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    built.to_string_lossy().into_owned()
}

/// Whether the search need not claim that it is complete: a call that changes a name in a directory is several
/// steps, on objects that depend on the state that it finds; and the C library does not protect the environment
/// from a call that reads it.
fn claims_nothing(function: &Function, report: &Report) -> bool {
    let is_of = |family| function.families.contains(&family);
    let says = |part: &str| report.notes.iter().any(|note| note.contains(part));
    is_of(Family::Names)
        || is_of(Family::Environment) && says("use the environment at the same time")
}

/// What is wrong with the search of a function, if anything.
fn check(
    binary: &str,
    number: usize,
    (function, outcomes): &(Function, BTreeSet<u64>),
) -> Option<String> {
    let own = Home::new();
    let files = own.path().join("files");
    std::fs::create_dir_all(&files).expect("a directory");
    let args = ["explore", "--json", "--keep-going", "--strategy", "dpor", "--workers", "1"];
    let number = number.to_string();
    let rest = ["--max-executions", EXECUTIONS, "--", binary, &number];
    let mut command = own.command(args.iter().chain(&rest));
    command.current_dir(&files);
    let report: Report = serde_json::from_str(&run(command, LIMIT).stdout).expect("a report");
    let found = found(&report);
    let expected: BTreeSet<u32> = (0..outcomes.len() as u32).collect();
    if found == expected && (report.complete || claims_nothing(function, &report)) {
        return None;
    }
    let lost: Vec<&u32> = expected.difference(&found).collect();
    let invented = found.contains(&(source::UNKNOWN - 1));
    Some(format!(
        "function {number}: {} of {} outcomes lost {lost:?}, unknown ones: {invented}, complete: {}, {} executions, \
         {:?}: {function:?}",
        lost.len(),
        expected.len(),
        report.complete,
        report.executions,
        report.notes,
    ))
}

/// Checks so many functions from a number on, as they are built with these options.
fn check_functions(first: usize, count: usize, options: &[&str]) {
    let all = functions(first + skips(), programs(count));
    let home = Home::new();
    for (part, functions) in all.chunks(FUNCTIONS).enumerate() {
        let binary = build(&home, &source::text(functions), &format!("calls{part}"), options);
        let numbered: Vec<_> = functions.iter().enumerate().collect();
        check_all(&numbered, |&(number, function)| check(&binary, number, function));
    }
}

#[test]
fn a_search_finds_exactly_the_outcomes_of_generated_calls() {
    check_functions(0, FUNCTIONS, &[]);
}

#[test]
fn a_search_finds_exactly_the_outcomes_of_calls_in_compiler_instrumented_code() {
    check_functions(1_000_000, COMPILED, &["-fsanitize=thread"]);
}
