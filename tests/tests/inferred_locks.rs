//! Locks that no name shows to be locks: the program has neither symbols nor debug information.

use std::process::Command;
use tests::heddle::Home;
use tests::hostile::build;

/// The trace of the deadlock that a search of a program finds.
fn trace(home: &Home, command: &[&str]) -> String {
    let report = home.explore(&["--max-executions", "5000"], command);
    let bug = report.bugs.first().unwrap_or_else(|| panic!("{command:?}: {report:?}"));
    assert!(bug.message.contains(" waits for lock (inferred) "), "{command:?}: {bug:?}");
    bug.trace.clone().unwrap_or_else(|| panic!("{command:?}: {report:?}"))
}

#[test]
fn a_cycle_of_inferred_locks_names_them_and_their_holders() {
    for flags in [&["-O2", "-s"][..], &["-O2", "-s", "-DSUBTRACTS"]] {
        let home = Home::new();
        build(&home, "own_futex_locks", "locks", flags);
        let trace = trace(&home, &["./locks"]);
        let shown = home.heddle(["show", &trace]).stdout;
        for part in [
            "waits for lock (inferred) locks+0x",
            ", held by T1 since step ",
            ", held by T0 main since step ",
            "lock (inferred) locks+0x",
            "wait-for cycle: T0",
        ] {
            assert!(shown.contains(part), "{flags:?}, {part}:\n{shown}");
        }
        let explained = home.heddle(["explain", &trace]).stdout;
        for part in ["lock-order deadlock", "lock (inferred) locks+0x"] {
            assert!(explained.contains(part), "{flags:?}, {part}:\n{explained}");
        }
        let before = home.heddle(["show", "--at", "end", &trace]).stdout;
        assert!(before.contains("  lock (inferred) locks+0x"), "{flags:?}:\n{before}");
    }
}

/// No cycle: the thread that holds the lock has ended.
#[test]
fn the_holder_of_an_inferred_lock_that_is_never_released_is_named() {
    let home = Home::new();
    build(&home, "own_futex_locks", "locks", &["-O2", "-s"]);
    let trace = trace(&home, &["./locks", "forget"]);
    let shown = home.heddle(["show", &trace]).stdout;
    assert!(shown.contains(", held by T1"), "{shown}");
    assert!(!shown.contains("wait-for cycle"), "{shown}");
}

#[test]
fn locks_of_a_stripped_rust_program_are_inferred() {
    let home = Home::new();
    let source = "use std::sync::{Arc, Mutex};\n\
        fn main() {\n    let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));\n    \
        let (c, d) = (a.clone(), b.clone());\n    let other = std::thread::spawn(move || {\n        \
        let y = d.lock().unwrap();\n        *c.lock().unwrap() += *y;\n    });\n    {\n        \
        let x = a.lock().unwrap();\n        *b.lock().unwrap() += *x;\n    }\n    \
        other.join().unwrap();\n}\n";
    std::fs::write(home.path().join("bank.rs"), source).expect("a file");
    let compiled = Command::new("rustc")
        .args(["-O", "-C", "strip=symbols", "--edition", "2021", "bank.rs"])
        .current_dir(home.path())
        .output()
        .expect("rustc runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let trace = trace(&home, &["./bank"]);
    let shown = home.heddle(["show", &trace]).stdout;
    assert!(shown.contains("waits for lock (inferred) heap block"), "{shown}");
    assert!(shown.contains("wait-for cycle: T0"), "{shown}");
}
