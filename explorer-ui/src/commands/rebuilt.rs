//! Adapts the schedule of a trace to a rebuilt program.

use crate::exit::{Problem, Status};
use crate::report::text::{clean, count};
use replay_core::Target;
use replay_core::realign::{Realigned, realign};
use replay_core::runner::Runner;
use replay_core::shrink::runner_for;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::{FailureKind, Trace};

/// Runs a recorded schedule in a rebuilt program. Returns the exit status and a description.
pub(super) fn replay_in_rebuilt_program(
    target: &Target,
    trace: &Trace,
    interrupted: &AtomicBool,
) -> Result<(Status, String), Problem> {
    let walk = runner_for(target.clone(), trace);
    let failed = trace.failure.as_ref().map(|failure| failure.kind);
    Ok(outcome(realign(&walk, &trace.execution, interrupted)?, failed))
}

/// The exit status and the description of a replay in a rebuilt program. `failed` is how the recorded
/// execution failed.
fn outcome(realigned: Realigned, failed: Option<FailureKind>) -> (Status, String) {
    match realigned {
        Realigned::Fits(now) => match (&now.failure, failed) {
            (Some(failure), before) => {
                let still = if Some(failure.kind) == before { "still fails" } else { "fails" };
                let place = clean(&failure.place);
                (
                    Status::Bug,
                    format!("{still}: {} at {place}: {}", failure.kind, clean(&failure.message)),
                )
            }
            (None, Some(_)) => {
                (Status::Fine, "the schedule applies to the new build and passes".into())
            }
            (None, None) => {
                (Status::Fine, "the schedule applies to the new build and passes again".into())
            }
        },
        Realigned::Not { fitted, of } => {
            let parts = count(of as u64, "segment");
            let text = format!(
                "the schedule no longer applies: only {fitted} of its {parts} could be matched"
            );
            (Status::Fine, text)
        }
    }
}

/// The execution of a rebuilt program under the schedule of a trace.
///
/// # Errors
/// If the schedule cannot be adapted, or the failure differs.
pub(super) fn fit_failing_schedule(
    walk: &Runner,
    trace: &Trace,
    path: &Path,
    interrupted: &AtomicBool,
) -> Result<Trace, Problem> {
    let kind = trace.failure.as_ref().map(|failure| failure.kind);
    same_failure(realign(walk, &trace.execution, interrupted)?, kind, path)
}

/// The execution if it fails in this way.
fn same_failure(
    realigned: Realigned,
    kind: Option<FailureKind>,
    path: &Path,
) -> Result<Trace, Problem> {
    let why = match realigned {
        Realigned::Fits(now) => match &now.failure {
            Some(failure) if Some(failure.kind) == kind => return Ok(*now),
            Some(failure) => {
                format!("applies to the new build, but has a different failure: {}", failure.kind)
            }
            None => "applies to the new build and passes".to_owned(),
        },
        Realigned::Not { fitted, of } => {
            format!("does not apply: only {fitted} of its {of} segments could be matched")
        }
    };
    Err(Problem::Usage(format!(
        "{}: the program was rebuilt, and the schedule {why}; run `heddle explore` again",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    fn fits(trace: Trace) -> Realigned {
        Realigned::Fits(Box::new(trace))
    }

    const NOT: Realigned = Realigned::Not { fitted: 2, of: 5 };

    #[test]
    fn a_replay_says_whether_the_new_build_fails() {
        let kind = samples::assertion().failure.map(|failure| failure.kind);
        let deadlock = Some(FailureKind::Deadlock);
        let passes = || fits(samples::two_tasks());
        for (realigned, failed, status, expected) in [
            (
                fits(samples::assertion()),
                kind,
                Status::Bug,
                "still fails: assertion at queue.c:34: q.len > 0",
            ),
            (
                fits(samples::assertion()),
                deadlock,
                Status::Bug,
                "fails: assertion at queue.c:34: q.len > 0",
            ),
            (passes(), kind, Status::Fine, "the schedule applies to the new build and passes"),
            (
                passes(),
                None,
                Status::Fine,
                "the schedule applies to the new build and passes again",
            ),
            (
                NOT,
                kind,
                Status::Fine,
                "the schedule no longer applies: only 2 of its 5 segments could be matched",
            ),
        ] {
            let (is, text) = outcome(realigned, failed);
            assert_eq!(is, status, "{text}");
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn a_schedule_without_the_same_failure_is_refused() {
        let refused = |realigned| {
            let kind = Some(FailureKind::Deadlock);
            let problem = same_failure(realigned, kind, Path::new("a.heddle"));
            problem.map(drop).expect_err("it is refused").to_string()
        };
        let message = |why: &str| {
            format!(
                "a.heddle: the program was rebuilt, and the schedule {why}; run `heddle explore` again"
            )
        };
        assert_eq!(
            refused(fits(samples::assertion())),
            message("applies to the new build, but has a different failure: assertion")
        );
        let passes = message("applies to the new build and passes");
        assert_eq!(refused(fits(samples::two_tasks())), passes);
        let not = message("does not apply: only 2 of its 5 segments could be matched");
        assert_eq!(refused(NOT), not);
        let same = same_failure(
            fits(samples::deadlock()),
            Some(FailureKind::Deadlock),
            Path::new("a.heddle"),
        );
        assert!(same.is_ok());
    }
}
