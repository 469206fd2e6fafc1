//! Panics of Rust threads that no join returns: which are failures, and by which message.

use std::path::Path;
use std::process::Command;
use tests::heddle::Home;
use traces::FailureKind;
use traces::report::Report;

fn explore(main: &str, flags: &[&str]) -> Report {
    let home = Home::new();
    let (source, program) = (home.path().join("panics.rs"), home.path().join("panics"));
    let text =
        format!("use std::panic::catch_unwind;\nuse std::thread;\nfn main() {{\n{main}\n}}\n");
    std::fs::write(&source, text).expect("written");
    compile(&source, &program, flags);
    let path = program.to_string_lossy();
    let args = ["explore", "--json", "--max-executions", "200", "--workers", "1", "--", &path];
    home.heddle(args).report()
}

fn compile(source: &Path, program: &Path, flags: &[&str]) {
    let mut compiler = Command::new("rustc");
    compiler.args(["-g", "--edition", "2021"]).args(flags).arg("-o").arg(program).arg(source);
    assert!(compiler.status().expect("rustc starts").success(), "{}", source.display());
}

/// Symbols are not needed for any of this.
const STRIPPED: [&[&str]; 2] = [&[], &["-C", "strip=symbols"]];

#[test]
fn a_panic_that_the_program_catches_is_no_failure() {
    let cases = [
        "thread::spawn(|| drop(catch_unwind(|| panic!(\"expected\"))));",
        "thread::scope(|s| { s.spawn(|| drop(catch_unwind(|| panic!(\"expected\")))); });",
        "drop(catch_unwind(|| thread::scope(|s| { s.spawn(|| panic!(\"expected\")); })));",
    ];
    for main in cases {
        for flags in STRIPPED {
            let report = explore(main, flags);
            assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{main}: {report:#?}");
        }
    }
}

#[test]
fn a_panic_that_nothing_catches_is_a_failure_with_its_message() {
    let cases = [
        "thread::spawn(|| panic!(\"unexpected\")); thread::sleep(std::time::Duration::from_secs(1));",
        // It ends `main`, whose own message is not the cause.
        "thread::scope(|s| { s.spawn(|| panic!(\"unexpected\")); });",
    ];
    for main in cases {
        for flags in STRIPPED {
            let report = explore(main, flags);
            let [bug] = &report.bugs[..] else { panic!("{main}: {report:#?}") };
            assert_eq!(bug.kind, FailureKind::Panic, "{main}: {report:#?}");
            assert!(bug.message.contains("unexpected"), "{main}: {}", bug.message);
            assert!(!bug.message.contains("a scoped thread panicked"), "{main}: {}", bug.message);
        }
    }
}
