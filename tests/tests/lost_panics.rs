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

/// A program may start a thread without the standard library, in a function that calls one which catches the panic.
#[test]
fn a_panic_that_the_program_catches_in_its_own_thread_is_no_failure() {
    let main = r#"
        extern "C" {
            fn pthread_create(
                thread: *mut usize,
                attributes: *const u8,
                start: extern "C" fn(*mut u8) -> *mut u8,
                argument: *mut u8,
            ) -> i32;
            fn pthread_detach(thread: usize) -> i32;
        }
        #[inline(never)]
        fn guarded() {
            drop(catch_unwind(|| panic!("expected")));
        }
        extern "C" fn start(_: *mut u8) -> *mut u8 {
            guarded();
            std::ptr::null_mut()
        }
        unsafe {
            let mut number = 0;
            pthread_create(&mut number, std::ptr::null(), start, std::ptr::null_mut());
            pthread_detach(number);
        }
        thread::sleep(std::time::Duration::from_secs(1));"#;
    let report = explore(main, &["-O"]);
    assert!(report.bugs.is_empty() && report.unconfirmed.is_empty(), "{report:#?}");
}
