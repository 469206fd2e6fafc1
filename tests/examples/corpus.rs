//! Searches the tests of known bugs in released crates, and prints the table of `docs/found.md`:
//! `cargo run --release -p tests --example corpus -- [NAME...]`.

use std::path::Path;
use tests::corpus::{KnownBug, Release, known_bugs};
use tests::heddle::Home;

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpus");
    println!("| crate | advisory | what happens | failure | place | found at | without the bug |");
    println!("| --- | --- | --- | --- | --- | --: | --- |");
    for bug in known_bugs().iter().filter(|bug| names.is_empty() || names.contains(&bug.name)) {
        let version = bug.version(Release::Affected);
        let advisory = bug.advisory.as_deref().unwrap_or("-");
        let found = affected(bug, &shared);
        let fixed = fixed(bug, &shared);
        println!("| {version} | {advisory} | {} | {found} | {fixed} |", bug.shows);
    }
}

/// What a search of the version that has the bug finds: the kind, the place, the execution.
fn affected(bug: &KnownBug, shared: &Path) -> String {
    let executable = match bug.build(shared, Release::Affected) {
        Ok(executable) => executable,
        Err(error) => return format!("not built: {error:?} | |"),
    };
    let report = bug.explore(&Home::new(), &executable);
    match report.bugs.iter().find(|found| found.kind == bug.kind) {
        Some(found) => {
            format!("{} | {} | {}", found.kind.name(), found.site, found.found_at)
        }
        None => format!("not found: {:?} | |", report.verdict),
    }
}

/// What a search of the version without the bug finds.
fn fixed(bug: &KnownBug, shared: &Path) -> String {
    if bug.fixed.is_none() {
        return "no release yet".to_owned();
    }
    let version = bug.version(Release::Fixed);
    let executable = match bug.build(shared, Release::Fixed) {
        Ok(executable) => executable,
        Err(error) if bug.is_refused(&error) => {
            return format!("{version}: the compiler refuses the test");
        }
        Err(error) => return format!("{version}: not built: {error:?}"),
    };
    let report = bug.explore(&Home::new(), &executable);
    match report.bugs.first() {
        Some(found) => format!("{version}: {} at {}", found.kind.name(), found.site),
        None if report.complete => {
            format!("{version}: no failure, complete in {} executions", report.executions)
        }
        None => format!("{version}: no failure in {} executions", report.executions),
    }
}
