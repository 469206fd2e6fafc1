//! Results as the list of CTest or Meson wants them judged.

use super::search::Test;
use crate::suites::expectation::Judged;
use crate::suites::{Outcome, Verdict};
use replay_core::store;
use std::path::Path;
use traces::report::{Report, Verdict as Found};
use traces::{FailureKind, Trace};

/// Options of a search in which no exit status is a failure.
pub(super) const ANY_STATUS: [&str; 2] = ["--fail-on", "-exit,-assertion,-panic"];

impl Test {
    /// The first of the test's directory and the files that it needs that does not exist.
    pub(super) fn missing_file(&self) -> Option<String> {
        let directory = &self.program.directory;
        if !directory.is_dir() {
            return Some(format!("its directory {} does not exist", directory.display()));
        }
        let missing = self.program.needed_files.iter().find(|file| !file.exists())?;
        Some(format!("it needs {}, which does not exist", missing.display()))
    }

    /// What an execution says; `ByStatus` if the program did not exit.
    pub(super) fn judge(&self, trace: &Trace) -> Judged {
        let Some(status) = exit_status(trace) else { return Judged::ByStatus };
        self.program.expectation.judge(status, &String::from_utf8_lossy(&trace.output))
    }

    /// The result if the first run decides it.
    pub(super) fn decided(&self, judged: &Judged) -> Option<Outcome> {
        match judged {
            Judged::Skipped(why) => Some(self.outcome(Verdict::Ignored, why)),
            Judged::Failed(why) => Some(self.outcome(Verdict::Bug, why)),
            Judged::Passed | Judged::ByStatus => None,
        }
    }

    /// Removes failures of schedules in which the test skips itself. Returns what the search did not judge.
    pub(super) fn as_expected(&self, report: &mut Report) -> String {
        let mut why = String::new();
        for bugs in [&mut report.bugs, &mut report.unconfirmed] {
            bugs.retain(|bug| {
                let loaded =
                    bug.trace.as_deref().and_then(|path| store::load(Path::new(path)).ok());
                match loaded.map(|loaded| self.judge(&loaded.trace)) {
                    Some(Judged::Skipped(skipped)) => {
                        why = format!("{skipped} in a schedule, with which the search ended");
                        false
                    }
                    _ => true,
                }
            });
        }
        if report.verdict == Found::Bug && report.bugs.is_empty() {
            report.verdict = Found::Incomplete;
        }
        if let Some(unjudged) = self.program.expectation.unjudged().filter(|_| why.is_empty())
            && self.framework.is_none()
        {
            why = unjudged;
        }
        if !why.is_empty() && report.verdict == Found::Clean {
            report.verdict = Found::Incomplete;
        }
        match report.bugs.is_empty() {
            true => why,
            false => String::new(),
        }
    }
}

/// The exit status of an execution in which the program exited.
pub(super) fn exit_status(trace: &Trace) -> Option<i32> {
    let Some(failure) = &trace.failure else { return Some(0) };
    match failure.kind {
        FailureKind::Exit => {
            let number = failure.message.strip_prefix("exit status ")?;
            number.split(':').next()?.parse().ok()
        }
        FailureKind::Panic => Some(101),
        // The checks of frameworks, which end the program with a status of theirs. `assert` aborts it.
        FailureKind::Assertion if !failure.message.contains(": Assertion `") => Some(1),
        _ => None,
    }
}
