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

/// Each dependency of the workspace with its features, as cargo builds it for this kind of command.
fn features(edges: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["tree", "--workspace", "--locked", "--prefix", "none", "--no-dedupe"])
        .args(["--format", "{p} {f}", "--edges", edges])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Regression test: the tests of `probes` selected a feature that no program selected, and the first test
/// that ran the program compiled most of the workspace a second time.
#[test]
fn tests_select_no_features_of_what_the_programs_use() {
    let (programs, tests) = (features("normal,build"), features("normal,build,dev"));
    assert!(programs.len() > 100, "all dependencies are listed");
    let other: Vec<&String> = programs.difference(&tests).collect();
    assert!(other.is_empty(), "select their features as `tests/Cargo.toml` says: {other:?}");
}

/// Licences that a program under MIT OR Apache-2.0 may be distributed with, without further conditions on
/// its own source.
const LICENCES: [&str; 12] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    "Unicode-3.0",
    "Unlicense",
];

/// The parts of a licence expression between an operator outside of parentheses.
fn parts<'a>(expression: &'a str, operator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    for (at, byte) in expression.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ if depth == 0 && at >= from && expression[at..].starts_with(operator) => {
                parts.push(&expression[from..at]);
                from = at + operator.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[from..]);
    parts
}

/// Whether one of the alternatives consists of licences of the list.
fn fits(expression: &str) -> bool {
    let expression = expression.trim();
    let alternatives = parts(expression, " OR ");
    if alternatives.len() > 1 {
        return alternatives.into_iter().any(fits);
    }
    let all = parts(expression, " AND ");
    if all.len() > 1 {
        return all.into_iter().all(fits);
    }
    let inner = expression.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    inner.map_or_else(|| LICENCES.contains(&expression), fits)
}

#[test]
fn licence_expressions_are_evaluated() {
    for good in ["MIT", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND ISC", "Apache-2.0 AND ISC"] {
        assert!(fits(good), "{good}");
    }
    for bad in ["MPL-2.0", "MIT AND GPL-3.0", "(GPL-2.0 OR MPL-2.0) AND MIT", ""] {
        assert!(!fits(bad), "{bad}");
    }
}

#[test]
fn licences_of_all_dependencies_fit() {
    let metadata = MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .exec()
        .expect("cargo metadata");
    assert!(metadata.packages.len() > 100, "all dependencies are listed");
    for package in &metadata.packages {
        // Older packages write a slash for OR.
        let licence = package.license.as_deref().unwrap_or_default().replace('/', " OR ");
        assert!(fits(&licence), "{} {}: `{licence}`", package.name, package.version);
    }
}
