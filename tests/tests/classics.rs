//! The classic programs with each planted mistake: the search finds it and reports the right kind
//! of failure. (`under_control` runs them without a mistake.)

use tests::heddle::Home;
use tests::targets::{Language, Program, programs};
use traces::FailureKind;

/// Searches the program with the mistake, and returns what is wrong with the report.
fn check(home: &Home, program: &Program, mistake: &str, kind: FailureKind) -> Option<String> {
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let path = path.to_string_lossy();
    // Only the kind is compared: an object destroyed too early is in use in one schedule and used
    // later in another.
    let args = ["explore", "--json", "--workers", "1", "--max-executions", "300"];
    let rest = ["--max-steps", "2000", "--fail-on", kind.name(), "--", &path, mistake];
    let report = home.heddle([&args[..], &rest[..]].concat()).report();
    let right = report.bugs.iter().any(|bug| bug.kind == kind && bug.site.starts_with("classic"));
    (!right).then(|| format!("{} {mistake}: {kind} expected: {report:#?}", program.name))
}

fn check_all(language: Language) {
    let home = Home::new();
    let wrong: Vec<String> = programs()
        .iter()
        .filter(|program| program.language == language)
        .flat_map(|program| program.mistakes.iter().map(move |mistake| (program, mistake)))
        .filter_map(|(program, (mistake, kind))| check(&home, program, mistake, *kind))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_mistake_in_c_is_found_with_its_kind() {
    check_all(Language::C);
}

#[test]
fn each_mistake_in_cpp_is_found_with_its_kind() {
    check_all(Language::Cpp);
}

#[test]
fn each_mistake_in_rust_is_found_with_its_kind() {
    check_all(Language::Rust);
}
