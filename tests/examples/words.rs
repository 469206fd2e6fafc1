//! Phrases and names that the project avoids, and what to write instead: `cargo run -p tests
//! --example words -- [--lower] [FOLDER OR FILE]...`. `--lower` lowers the limits to the present
//! numbers.

use std::collections::BTreeMap;
use std::path::Path;
use tests::style::repository;
use tests::style::words::{LIMITS, Words, counts, limits};

fn main() {
    let root = repository();
    let (options, parts): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let hits = Words::read(&root).hits(&root);
    let chosen = |file: &Path| parts.is_empty() || parts.iter().any(|part| file.starts_with(part));
    for hit in hits.iter().filter(|hit| chosen(&hit.file)) {
        println!("{hit}");
    }
    let counts = counts(&hits);
    eprintln!("{} in all: {counts:?}", hits.len());
    if options.iter().any(|option| option == "--lower") {
        let mut limits = limits(&root);
        for (part, limit) in &mut limits {
            *limit = (*limit).min(counts.get(part).copied().unwrap_or(0));
        }
        limits.retain(|_, limit| *limit > 0);
        write(&root, &limits);
    }
}

fn write(root: &Path, limits: &BTreeMap<String, usize>) {
    let head = "# How many phrases and names of words.toml each part of the repository has. They only get fewer:\n\
                # `cargo run -p tests --example words -- --lower`.\n";
    let lines: String =
        limits.iter().map(|(part, limit)| format!("{part:?} = {limit}\n")).collect();
    std::fs::write(root.join(LIMITS), format!("{head}{lines}")).expect("the limits");
}
