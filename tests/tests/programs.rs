//! Programs of Debian packages are searched, and none of them fails by mistake.

use tests::corpus::known_bugs;
use tests::programs::{Found, programs};

#[test]
fn installed_programs_give_what_the_manifest_expects() {
    let limits = ["--max-executions", "10"];
    for program in programs().iter().filter(|program| program.brief) {
        let found = program.explore(&limits);
        if let Found::Missing(why) = &found {
            println!("SKIPPED: {}: {why}", program.package);
            continue;
        }
        assert_eq!(found.verdict(), Some(program.expected), "{}: {found:#?}", program.package);
    }
}

#[test]
fn the_corpus_has_sixty_programs() {
    let programs = programs();
    assert!(programs.len() + known_bugs().len() >= 60, "{}", programs.len());
    let names = |package: &str| programs.iter().filter(|one| one.package == package).count();
    for program in &programs {
        assert_eq!(names(&program.package), 1, "{} is listed twice", program.package);
        let is_known = program.expected == tests::programs::Expected::Passes;
        assert!(is_known || program.because.is_some(), "{}: why?", program.package);
    }
}
