//! Searches the tests of known bugs in released crates, and prints the table of `docs/found.md`:
//! `cargo run --release -p tests --example corpus -- [NAME...]`.

use std::path::Path;
use tests::corpus::known_bugs;
use tests::heddle::Home;

fn main() {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/corpus");
    println!("| crate | advisory | what happens | failure | place | found at | learning |");
    println!("| --- | --- | --- | --- | --- | --: | --: |");
    for bug in known_bugs().iter().filter(|bug| names.is_empty() || names.contains(&bug.name)) {
        let (version, shows) = (bug.version(), &bug.shows);
        let advisory = bug.advisory.as_deref().unwrap_or("-");
        let executable = match bug.build(&shared) {
            Ok(executable) => executable,
            Err(error) => {
                println!("| {version} | {advisory} | {shows} | not built: {error:?} | | | |");
                continue;
            }
        };
        let report = bug.explore(&Home::new(), &executable);
        let learning = report.learning;
        match report.bugs.iter().find(|found| found.kind == bug.kind) {
            Some(found) => println!(
                "| {version} | {advisory} | {shows} | {} | {} | {} | {learning} |",
                found.kind.name(),
                found.site,
                found.found_at
            ),
            None => {
                let verdict = report.verdict;
                println!(
                    "| {version} | {advisory} | {shows} | not found: {verdict:?} | | | {learning} |"
                )
            }
        }
    }
}
