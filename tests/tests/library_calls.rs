//! Calls of library functions: an effect that is not known takes the claim of completeness away, by
//! name and place, and a function that is known takes nothing away.

use tests::heddle::Home;
use tests::targets::program;
use traces::report::{Report, Verdict};

fn explore(argument: &str) -> Report {
    let home = Home::new();
    let path = program("library_calls").build().expect("the target builds");
    let path = path.to_string_lossy().into_owned();
    home.heddle(["explore", "--json", "--strategy", "dfs", "--", &path, argument]).report()
}

#[test]
fn known_functions_leave_a_complete_search_complete() {
    let report = explore("known");
    assert_eq!((report.verdict, report.complete), (Verdict::Clean, true), "{report:?}");
}

#[test]
fn an_unknown_function_is_named_with_its_place() {
    let report = explore("stream");
    assert_eq!((report.verdict, report.complete), (Verdict::Incomplete, false), "{report:?}");
    let named: Vec<&String> =
        report.notes.iter().filter(|note| note.contains("not explored: calls of")).collect();
    assert_eq!(named.len(), 1, "{report:?}");
    for part in ["`fmemopen`", "libc.so.6", "library_calls.c:3"] {
        assert!(named[0].contains(part), "{named:?}");
    }
}
