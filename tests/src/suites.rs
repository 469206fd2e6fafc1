//! Runs of `heddle test`: the sources of the small suites, and the results of their tests.

use crate::heddle::{Home, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The directory of the suites.
#[must_use]
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("suites")
}

/// The tests of a result, each as `NAME VERDICT`.
///
/// # Panics
/// If the run did not print a result as JSON.
#[must_use]
pub fn verdicts(run: &Run) -> Vec<String> {
    let object: Value = run.object();
    let tests = object["tests"].as_array().expect("a list");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut all: Vec<String> = tests
        .iter()
        .map(|test| format!("{}: {}", text(&test["test"]), text(&test["verdict"])))
        .collect();
    all.sort();
    all
}

/// Each failure has a trace, in a directory of the test.
///
/// # Panics
/// If one has none, or one that is not replayed.
pub fn assert_no_trace_is_lost(home: &Home, run: &Run) {
    let object: Value = run.object();
    for test in object["tests"].as_array().expect("a list") {
        for bug in test["report"]["bugs"].as_array().into_iter().flatten() {
            let trace = bug["trace"].as_str().expect("a trace");
            let suite = test["suite"].as_str().expect("a name");
            assert!(trace.starts_with(&format!("heddle-out/{suite}/")), "{trace}");
            let shown = home.heddle(["show", trace]);
            assert_eq!(shown.status, 0, "{trace}: {shown:?}");
            let replayed = home.heddle(["replay", trace]);
            assert_eq!(replayed.status, 1, "{trace}: {replayed:?}");
            assert!(replayed.stdout.starts_with("reproduced: "), "{trace}: {replayed:?}");
        }
    }
}

/// The tests of a run with these options, as objects.
///
/// # Panics
/// If it did not print a result as JSON.
#[must_use]
pub fn tested(home: &Home, program: &str, options: &[&str]) -> (Run, Vec<Value>) {
    let run = home.heddle([&["test", program, "--json", "--no-fail-fast"], options].concat());
    let tests = run.object::<Value>()["tests"].as_array().expect("a list").clone();
    (run, tests)
}
