//! What the lists of CTest and Meson say about a test's result besides "exit status 0". Pure.

use regex::Regex;

/// How a test's result is judged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Expectation {
    /// The exit status with which the test says that it skips itself.
    pub skips_with: Option<i32>,
    /// The test passes if its exit status is not 0.
    pub fails: bool,
    /// The test skips itself if its output has one of these.
    pub skips_if: Vec<String>,
    /// If there are any, the test passes if its output has one of these, with any exit status.
    pub passes_if: Vec<String>,
    /// The test fails if its output has one of these.
    pub fails_if: Vec<String>,
    /// The protocol of the test's output, if the exit status says nothing.
    pub protocol: Option<String>,
}

/// What one execution says about the test.
#[derive(Debug, PartialEq, Eq)]
pub enum Judged {
    /// The test skips itself, for this reason.
    Skipped(String),
    /// The test passes.
    Passed,
    /// The test fails, for a reason that its exit status does not show.
    Failed(String),
    /// The exit status is the result.
    ByStatus,
}

impl Expectation {
    /// Judges an execution in which the program exited with this status.
    #[must_use]
    pub fn judge(&self, status: i32, output: &str) -> Judged {
        let first = |texts: &[String]| texts.iter().find(|text| has(output, text)).cloned();
        if self.skips_with == Some(status) {
            return Judged::Skipped(format!("it skips itself (exit status {status})"));
        }
        if let Some(text) = first(&self.skips_if) {
            return Judged::Skipped(format!("it skips itself (its output has `{text}`)"));
        }
        if let Some(text) = first(&self.fails_if) {
            return Judged::Failed(format!("its output has `{text}` (FAIL_REGULAR_EXPRESSION)"));
        }
        if !self.passes_if.is_empty() {
            return match first(&self.passes_if) {
                Some(_) => Judged::Passed,
                None => Judged::Failed(
                    "its output has nothing of what it must have (PASS_REGULAR_EXPRESSION)".into(),
                ),
            };
        }
        match (self.fails, status) {
            (true, 0) => Judged::Failed("it passes and is expected to fail (WILL_FAIL)".into()),
            (true, _) => Judged::Passed,
            (false, _) => Judged::ByStatus,
        }
    }

    /// Whether a search must not take an exit status for a failure.
    #[must_use]
    pub fn ignores_status(&self) -> bool {
        self.fails || !self.passes_if.is_empty()
    }

    /// What a search cannot judge: it knows the exit status of each schedule, and not its output.
    #[must_use]
    pub fn unjudged(&self) -> Option<String> {
        let what = if self.fails {
            "the exit status, with which it is expected to fail (WILL_FAIL)"
        } else if !self.passes_if.is_empty() {
            "the output (PASS_REGULAR_EXPRESSION)"
        } else if !self.fails_if.is_empty() {
            "the output (FAIL_REGULAR_EXPRESSION)"
        } else {
            let protocol = self.protocol.as_ref()?;
            return Some(format!("not judged in each schedule: the output (protocol {protocol})"));
        };
        Some(format!("not judged in each schedule: {what}"))
    }
}

/// Whether the text has a match of an expression of CMake, whose syntax is a part of the crate's. One that
/// is no expression there matches itself.
fn has(output: &str, expression: &str) -> bool {
    match Regex::new(expression) {
        Ok(regex) => regex.is_match(output),
        Err(_) => output.contains(expression),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn results_are_judged_as_ctest_does() {
        let none = Expectation::default();
        assert_eq!(none.judge(1, "lost"), Judged::ByStatus);
        let skips = Expectation {
            skips_with: Some(77),
            skips_if: texts(&[r"\[  SKIPPED \]"]),
            ..Expectation::default()
        };
        let reason = |judged| match judged {
            Judged::Skipped(why) | Judged::Failed(why) => why,
            other => format!("{other:?}"),
        };
        assert_eq!(reason(skips.judge(77, "")), "it skips itself (exit status 77)");
        assert_eq!(
            reason(skips.judge(0, "[  SKIPPED ] a")),
            "it skips itself (its output has `\\[  SKIPPED \\]`)"
        );
        assert_eq!(skips.judge(1, ""), Judged::ByStatus);
        let fails = Expectation { fails: true, ..Expectation::default() };
        assert_eq!(fails.judge(1, ""), Judged::Passed);
        assert_eq!(reason(fails.judge(0, "")), "it passes and is expected to fail (WILL_FAIL)");
        let output = Expectation {
            passes_if: texts(&["all (fine|good)"]),
            fails_if: texts(&["lost", "(odd"]),
            ..Expectation::default()
        };
        assert_eq!(output.judge(3, "all good"), Judged::Passed);
        assert_eq!(
            reason(output.judge(0, "one is fine")),
            "its output has nothing of what it must have (PASS_REGULAR_EXPRESSION)"
        );
        assert_eq!(
            reason(output.judge(0, "all good, (odd")),
            "its output has `(odd` (FAIL_REGULAR_EXPRESSION)"
        );
    }

    #[test]
    fn what_a_search_cannot_judge_is_named() {
        let said = |expectation: Expectation| expectation.unjudged().unwrap_or_default();
        let none = Expectation::default;
        assert_eq!(said(none()), "");
        assert_eq!(
            said(Expectation { fails: true, ..none() }),
            "not judged in each schedule: the exit status, with which it is expected to fail (WILL_FAIL)"
        );
        assert_eq!(
            said(Expectation { passes_if: texts(&["a"]), ..none() }),
            "not judged in each schedule: the output (PASS_REGULAR_EXPRESSION)"
        );
        assert_eq!(
            said(Expectation { fails_if: texts(&["a"]), ..none() }),
            "not judged in each schedule: the output (FAIL_REGULAR_EXPRESSION)"
        );
        assert_eq!(
            said(Expectation { protocol: Some("tap".into()), ..none() }),
            "not judged in each schedule: the output (protocol tap)"
        );
    }
}
