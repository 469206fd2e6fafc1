//! Chooses the pattern of a failing execution.

use super::pattern::{Basis, Moment, Pattern, Verdict};
use super::{accesses, deadlock};
use crate::explain::bisect::{Bisected, Event, Shape};
use traces::{FailureKind, Operation, TaskId, Trace};

/// The verdict from the recording alone; none if the execution does not fail.
#[must_use]
pub fn from_recording(trace: &Trace) -> Option<Verdict> {
    let failure = trace.failure.as_ref()?;
    let pattern = if failure.waits.is_empty() {
        match failure.kind {
            FailureKind::Livelock | FailureKind::Spin => Some(Pattern::Spins(last_steps(trace))),
            // A panic is an effect: the accesses before it tell more.
            kind if kind != FailureKind::Panic && !failure.past.is_empty() => Some(Pattern::Past),
            _ => accesses::pattern(trace, failure),
        }
    } else {
        deadlock::pattern(trace, failure)
    };
    let pattern = pattern.unwrap_or(Pattern::Message);
    Some(Verdict { pattern, basis: Basis::Recording })
}

/// The verdict after a bisection. A pattern that the failure itself proves, such as a cycle of
/// locks, stays; any other is replaced by the orders that decide.
#[must_use]
pub fn from_bisection(bisected: &Bisected) -> Option<Verdict> {
    let first = from_recording(&bisected.failing)?;
    if bisected.always {
        let pattern = match first.pattern {
            Pattern::LockCycle(_) | Pattern::OwnLock { .. } | Pattern::Past => first.pattern,
            _ => Pattern::Always,
        };
        return Some(Verdict { pattern, basis: Basis::AllSchedules });
    }
    let basis = Basis::Runs(bisected.evidence);
    let proved = matches!(
        first.pattern,
        Pattern::LockCycle(_)
            | Pattern::OwnLock { .. }
            | Pattern::LostWakeup { .. }
            | Pattern::Past
            | Pattern::Spins(_)
    );
    let Some(cause) = bisected.cause.as_ref().filter(|_| bisected.evidence.is_enough() && !proved)
    else {
        return Some(Verdict { basis, ..first });
    };
    let both = |(first, last): (Event, Event)| (first.into(), last.into());
    let pattern = match cause.shape {
        Shape::Between { inner, outer } if cause.orders.len() <= 2 => {
            Pattern::Between { inner: both(inner), outer: both(outer) }
        }
        Shape::Overlap { one, other } if cause.orders.len() <= 2 => {
            Pattern::Overlap { one: both(one), other: both(other) }
        }
        _ => {
            let orders = cause.orders.iter();
            Pattern::Orders(orders.map(|it| (it.before.into(), it.after.into())).collect())
        }
    };
    Some(Verdict { pattern, basis })
}

/// The last step of each task that has not ended.
fn last_steps(trace: &Trace) -> Vec<Moment> {
    let steps = &trace.execution.steps;
    let tasks = (0..trace.execution.tasks.len()).map(|task| TaskId(task as u16));
    // The tasks that spin are those that ran at the end.
    let recent = steps.len().saturating_sub(RECENT);
    let last = |task| steps.iter().rposition(|step| step.task == task);
    let spinning = tasks.filter_map(last).filter(|&at| at >= recent);
    spinning.filter(|&at| !ends(steps[at].operation)).map(|at| Moment::of(trace, at)).collect()
}

/// A task that spins is among the tasks of the last this many steps.
const RECENT: usize = 64;

fn ends(operation: Operation) -> bool {
    matches!(operation, Operation::Exit | Operation::ExitNow)
}
