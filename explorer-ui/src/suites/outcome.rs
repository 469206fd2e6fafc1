//! The results of a suite's tests.

use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;
use traces::report::{Bug, Report};

/// What happened to a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A schedule fails that is not in the baseline.
    Bug,
    /// Every failing schedule that was found is in the baseline.
    Known,
    /// A schedule failed, and not when it was run again: the test depends on something outside of
    /// the schedule.
    Unconfirmed,
    /// The program could not be run, or its answer was not usable.
    Error,
    /// The test does something that Heddle does not model.
    Unsupported,
    /// No failure was found, and not everything was covered.
    Incomplete,
    /// No failure was found, and everything asked for was covered.
    Clean,
    /// The test creates no thread, so that it was run once.
    NoThreads,
    /// The framework runs the test only on request.
    Ignored,
    /// An earlier failure, the limit on all tests, or an interruption came first.
    NotRun,
}

impl Verdict {
    /// The name in tables and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Bug => "bug",
            Verdict::Known => "known",
            Verdict::Unconfirmed => "unconfirmed",
            Verdict::Error => "error",
            Verdict::Unsupported => "unsupported",
            Verdict::Incomplete => "incomplete",
            Verdict::Clean => "clean",
            Verdict::NoThreads => "no-threads",
            Verdict::Ignored => "ignored",
            Verdict::NotRun => "not-run",
        }
    }
}

/// The result of one test.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The program's name.
    pub suite: String,
    /// The test's name.
    pub test: String,
    /// The framework's name, or empty if the program is one test.
    pub framework: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, if the verdict needs a reason.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The time from its start to its end.
    pub elapsed_s: f64,
    /// The report of the search, if there was one.
    pub report: Option<Box<Report>>,
    /// The failing schedule as text, if it was asked for.
    #[serde(skip)]
    pub schedule: String,
}

impl Outcome {
    /// The failures.
    #[must_use]
    pub fn bugs(&self) -> &[Bug] {
        self.report.as_deref().map_or(&[], |report| &report.bugs)
    }

    /// The failures that did not occur again when their schedules were run again.
    #[must_use]
    pub fn unconfirmed(&self) -> &[Bug] {
        self.report.as_deref().map_or(&[], |report| &report.unconfirmed)
    }

    /// The name in reports: `SUITE TEST`.
    #[must_use]
    pub fn name(&self) -> String {
        full_name(&self.suite, &self.test)
    }

    /// The time as a duration.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::try_from_secs_f64(self.elapsed_s).unwrap_or_default()
    }
}

/// `SUITE TEST`, or the suite alone if it is one test.
#[must_use]
pub fn full_name(suite: &str, test: &str) -> String {
    if test.is_empty() { suite.to_owned() } else { format!("{suite} {test}") }
}

/// The failures of an earlier run, by test and signature.
#[derive(Debug, Clone, Default)]
pub struct Baseline(BTreeSet<(String, String, String)>);

impl Baseline {
    /// Reads what `heddle test --json` printed.
    ///
    /// # Errors
    /// If the text is something else.
    pub fn parse(text: &str) -> Result<Baseline, String> {
        let object: serde_json::Value =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let tests = object["tests"].as_array().ok_or("it has no list of tests")?;
        let mut known = BTreeSet::new();
        for test in tests {
            let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
            for bug in test["report"]["bugs"].as_array().into_iter().flatten() {
                known.insert((text(&test["suite"]), text(&test["test"]), text(&bug["signature"])));
            }
        }
        Ok(Baseline(known))
    }

    /// Whether the run that this is the result of had the same failure in the same test.
    #[must_use]
    pub fn has(&self, suite: &str, test: &str, bug: &Bug) -> bool {
        self.0.contains(&(suite.to_owned(), test.to_owned(), bug.signature.clone()))
    }
}

/// How many tests have each verdict.
#[must_use]
pub fn counts(outcomes: &[Outcome]) -> Vec<(Verdict, usize)> {
    let mut verdicts: Vec<Verdict> = outcomes.iter().map(|outcome| outcome.verdict).collect();
    verdicts.sort();
    verdicts.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::FailureKind;

    #[test]
    fn a_baseline_knows_a_failure_by_test_and_signature() {
        let text = r#"{"heddle":1,"tests":[
            {"suite":"s","test":"a","report":{"bugs":[{"signature":"deadlock x.c:3"}]}},
            {"suite":"s","test":"b","report":null}]}"#;
        let baseline = Baseline::parse(text).expect("valid");
        let bug = |signature: &str| Bug {
            kind: FailureKind::Deadlock,
            signature: signature.to_owned(),
            message: String::new(),
            site: String::new(),
            stack: Vec::new(),
            trace: None,
            found_at: 1,
            preemptions: 0,
            switches: 0,
            steps: 0,
            count: 1,
        };
        assert!(baseline.has("s", "a", &bug("deadlock x.c:3")));
        assert!(!baseline.has("s", "a", &bug("deadlock x.c:4")));
        assert!(!baseline.has("s", "b", &bug("deadlock x.c:3")));
        assert!(Baseline::parse("{}").is_err());
        assert!(Baseline::parse("").is_err());
    }
}
