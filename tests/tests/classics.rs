//! The classic programs with each planted mistake: the search finds it and reports the right kind
//! of failure. (`under_control` runs them without a mistake.)

use tests::heddle::Home;
use tests::parallel::check_all;
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

#[test]
fn each_mistake_in_a_classic_program_is_found_with_its_kind() {
    let mistakes = |program: &'static Program| {
        program.mistakes.iter().map(move |(mistake, kind)| (program, mistake, *kind))
    };
    let cases: Vec<_> = programs().iter().flat_map(mistakes).collect();
    for language in [Language::C, Language::Cpp, Language::Rust] {
        assert!(cases.iter().any(|case| case.0.language == language), "{language:?} has none");
    }
    check_all(&cases, |&(program, mistake, kind)| check(&Home::new(), program, mistake, kind));
}
