//! Files that are mapped. A private mapping shows what is written to the file until its page is written, and a file
//! that is cut off leaves a mapping without memory: in each case of the first list of `mapped_files.c` the failure
//! is found, or the search says by name what it did not explore. In those of the second there is none.

use std::path::Path;
use std::process::Command;
use tests::heddle::{Home, run};
use tests::hostile::{BOUND, build};
use tests::parallel::check_all;
use traces::report::{Report, Verdict};

/// The cases whose failure is not found, and a part of what the report says.
const INCOMPLETE: [(&str, &str); 1] =
    [("private_beside_shared", "a file that is mapped both shared and privately (the kernel)")];

fn explore(program: &Path, case: &str) -> Report {
    let home = Home::new();
    std::os::unix::fs::symlink(program, home.path().join("program")).expect("a link");
    // The cases make their files where no other case does.
    let options = ["explore", "--json", "--workers", "1", "--max-executions", "1000", "--"];
    let found = run(home.command([&options[..], &["./program", case]].concat()), BOUND);
    serde_json::from_str(&found.stdout)
        .unwrap_or_else(|error| panic!("{case}: {error}\n{}", found.stderr))
}

fn cases(program: &Path) -> (Vec<String>, Vec<String>) {
    let listed = Command::new(program).output().expect("the program runs");
    let listed = String::from_utf8(listed.stdout).expect("names are text");
    let (met, not_met) = listed.split_once("\n\n").expect("two lists");
    let lines = |text: &str| text.lines().map(str::to_owned).collect();
    (lines(met), lines(not_met))
}

#[test]
fn a_change_of_a_file_seen_through_a_mapping_is_found_or_named() {
    let home = Home::new();
    let program = build(&home, "mapped_files", "program", &[]);
    let (met, _) = cases(&program);
    assert!(INCOMPLETE.iter().all(|(name, _)| met.iter().any(|case| case == name)), "{met:?}");
    check_all(&met, |case| {
        let report = explore(&program, case);
        let named = INCOMPLETE.iter().find(|(name, _)| name == case);
        let is_right = match (report.verdict, named) {
            (Verdict::Bug, None) => true,
            (Verdict::Incomplete, Some((_, part))) => {
                report.notes.iter().any(|note| note.contains(part))
            }
            _ => false,
        };
        (!is_right)
            .then(|| format!("{case}: {:?} {} {:?}", report.verdict, report.reason, report.notes))
    });
}

#[test]
fn changes_of_a_file_that_no_mapping_shows_are_no_failures() {
    let home = Home::new();
    let program = build(&home, "mapped_files", "program", &[]);
    let (_, not_met) = cases(&program);
    check_all(&not_met, |case| {
        let report = explore(&program, case);
        (report.verdict != Verdict::Clean)
            .then(|| format!("{case}: {:?} {} {:?}", report.verdict, report.reason, report.notes))
    });
}
