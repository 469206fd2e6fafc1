//! The classic programs with each mistake that can be planted in them: it is found, and of the right kind. (What they do
//! without one is told with all the others, in `under_control`.)

use tests::heddle::Home;
use tests::targets::{Language, Program, programs};
use traces::FailureKind;

/// Searches with the mistake; what is wrong with the report.
fn check(home: &Home, program: &Program, mistake: &str, kind: FailureKind) -> Option<String> {
    let path = program.build().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let path = path.to_string_lossy();
    // Its kind alone counts: what is destroyed too soon is in use in one schedule, used later in another.
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
fn each_mistake_in_c_is_found_and_named() {
    check_all(Language::C);
}

#[test]
fn each_mistake_in_cpp_is_found_and_named() {
    check_all(Language::Cpp);
}

#[test]
fn each_mistake_in_rust_is_found_and_named() {
    check_all(Language::Rust);
}
