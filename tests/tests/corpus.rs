//! Known bugs of released crates are found from a test that a user would write.

use std::path::Path;
use tests::corpus::{KnownBug, Release, known_bugs};
use tests::heddle::Home;
use tests::style::repository;

/// All bugs if `HEDDLE_CORPUS` is set; else those of crates without dependencies, which compile fast.
fn selected() -> Vec<KnownBug> {
    let all = std::env::var_os("HEDDLE_CORPUS").is_some();
    let brief = ["atom_rc", "oneshot_poll", "oneshot_timeout"];
    known_bugs().into_iter().filter(|bug| all || brief.contains(&bug.name.as_str())).collect()
}

#[test]
fn known_bugs_of_released_crates_are_found() {
    let shared = tempfile::tempdir().expect("a directory");
    for bug in selected() {
        let executable = match bug.build(shared.path(), Release::Affected) {
            Ok(executable) => executable,
            Err(error) => {
                println!("SKIPPED: {}: {error}", bug.name);
                continue;
            }
        };
        let report = bug.explore(&Home::new(), &executable);
        let kinds: Vec<_> = report.bugs.iter().map(|found| found.kind).collect();
        assert!(kinds.contains(&bug.kind), "{}: {report:?}", bug.name);
    }
}

#[test]
fn versions_that_mended_them_show_no_failure() {
    let shared = tempfile::tempdir().expect("a directory");
    for bug in selected().iter().filter(|bug| bug.fixed.is_some()) {
        let executable = match bug.build(shared.path(), Release::Fixed) {
            Ok(executable) => executable,
            // The mended version does not let a program do this.
            Err(error) if bug.is_refused(&error) => continue,
            Err(error) => {
                println!("SKIPPED: {}: {error}", bug.name);
                continue;
            }
        };
        let report = bug.explore(&Home::new(), &executable);
        assert!(report.bugs.is_empty(), "{}: {report:?}", bug.name);
        assert!(report.complete || report.executions > 1000, "{}: {report:?}", bug.name);
    }
}

#[test]
fn the_page_lists_each_bug() {
    let page = repository().join("docs/found.md");
    let page = std::fs::read_to_string(page).expect("the page exists");
    for bug in known_bugs() {
        assert!(
            page.contains(&bug.version(Release::Affected)),
            "{} is not in docs/found.md",
            bug.name
        );
        assert!(page.contains(&bug.shows), "{}: docs/found.md says something else", bug.name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        assert!(source.join(format!("{}.rs", bug.name)).exists(), "{} has no test", bug.name);
    }
}
