//! Libraries that a program loads while it has threads.

use tests::heddle::Home;
use tests::hostile::build;
use traces::report::Verdict;

/// Searches the program, which loads a library that does this.
fn search(case: &str) {
    let home = Home::new();
    build(&home, "loads_library", "library.so", &["-DLIBRARY", "-shared", "-fPIC"]);
    build(&home, "loads_library", "program", &["-ldl"]);
    let args = ["explore", "--json", "--max-executions", "50", "--"];
    let args = args.into_iter().chain(["./program", "./library.so", case]);
    let report = home.heddle(args).report();
    assert!(matches!(report.verdict, Verdict::Clean | Verdict::Incomplete), "{report:#?}");
    assert!(report.executions > 0, "{report:#?}");
}

#[test]
fn variables_of_threads_that_exist_are_initialised() {
    search("variable");
}

#[test]
fn code_on_the_stacks_of_threads_that_exist_runs() {
    search("code-on-stack");
}

#[test]
fn a_destructor_of_a_library_joins_its_thread() {
    search("destructor");
}
