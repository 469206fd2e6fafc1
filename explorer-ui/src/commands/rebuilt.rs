//! Adapts the schedule of a trace to a rebuilt program.

use crate::exit::{Problem, Status};
use crate::report::text::{clean, count};
use replay_core::Target;
use replay_core::realign::{Realigned, realign};
use replay_core::runner::Runner;
use replay_core::shrink::runner_for;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use traces::Trace;

/// Runs a recorded schedule in a rebuilt program. Returns the exit status and a description.
pub(super) fn replay_in_rebuilt_program(
    target: &Target,
    trace: &Trace,
    interrupted: &AtomicBool,
) -> Result<(Status, String), Problem> {
    let walk = runner_for(target.clone(), trace);
    let failed = trace.failure.as_ref().map(|failure| failure.kind);
    Ok(match realign(&walk, &trace.execution, interrupted)? {
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
    })
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
    let why = match realign(walk, &trace.execution, interrupted)? {
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
