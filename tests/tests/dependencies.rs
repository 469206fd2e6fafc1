//! The dependencies between the crates are acyclic and point in one direction.

use cargo_metadata::MetadataCommand;
use std::collections::{BTreeMap, BTreeSet};

/// The crates of the workspace that each crate may depend on.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("traces", &[]),
    ("search", &["traces"]),
    ("probes", &["search", "traces"]),
    ("replay-core", &["search", "traces"]),
    ("explorer-ui", &["replay-core", "search", "traces"]),
    ("heddle-cluster", &["explorer-ui", "replay-core", "search", "traces"]),
    ("tests", &["explorer-ui", "replay-core", "search", "traces"]),
    ("screenshots", &["explorer-ui", "replay-core", "traces"]),
];

/// Terminal libraries, only for `explorer-ui` and the crates above it.
const TERMINAL: [&str; 3] = ["ratatui", "crossterm", "clap"];

#[test]
fn crates_depend_on_each_other_as_the_architecture_says() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .no_deps()
        .other_options(["--locked".to_owned()])
        .exec()
        .expect("cargo metadata");
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    let parts: BTreeSet<&str> =
        metadata.packages.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(
        parts,
        allowed.keys().copied().collect(),
        "update the table for a new or removed crate"
    );
    for package in &metadata.packages {
        let part = package.name.as_str();
        for dependency in &package.dependencies {
            let name = dependency.name.as_str();
            assert!(
                !parts.contains(name) || allowed[part].contains(&name),
                "{part} must not use {name}"
            );
            let below = !matches!(part, "explorer-ui" | "screenshots" | "tests");
            assert!(!(below && TERMINAL.contains(&name)), "{part} must not know terminals: {name}");
        }
    }
}
