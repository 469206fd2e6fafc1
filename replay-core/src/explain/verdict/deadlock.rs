//! Patterns of executions in which tasks wait forever.

use super::pattern::{Moment, Pattern};
use crate::explain::lock_cycle::lock_cycle;
use crate::explain::{library_calls, locks};
use traces::{Failure, ObjectKind, Operation, Site, Trace, WaitEdge};

pub(super) fn pattern(trace: &Trace, failure: &Failure) -> Option<Pattern> {
    if let Some(wait) = failure.waits.iter().find(|wait| wait.holder == Some(wait.task))
        && let Some(object) = wait.object
    {
        let since = locks::held_since(&trace.execution, wait.task, object);
        return Some(Pattern::OwnLock { wait: moment(trace, wait), since });
    }
    if let Some(cycle) = lock_cycle(trace, failure) {
        return Some(Pattern::LockCycle(cycle));
    }
    // A task that waits for a wake-up is what the others wait for in turn.
    let kind = |wait: &WaitEdge| Some(trace.execution.objects.get(wait.object? as usize)?.kind);
    // The end of a scope or a barrier waits for what blocks the other tasks.
    let awaits_threads = |wait: &WaitEdge| {
        let what = library_calls::awaited(&trace.execution, &failure.stacks, wait);
        what.is_some_and(library_calls::is_for_threads)
    };
    let awaits = |wait: &&WaitEdge| {
        !awaits_threads(wait)
            && matches!(
                kind(wait),
                Some(ObjectKind::Condition | ObjectKind::Semaphore | ObjectKind::Futex)
            )
    };
    let wait = failure.waits.iter().find(awaits)?;
    let wait = moment(trace, wait);
    let steps = &trace.execution.steps;
    let wakeup = steps.iter().rposition(|step| {
        step.object == wait.object && step.task != wait.task && wakes(step.operation)
    });
    let began = wait.step.unwrap_or(steps.len());
    // A wake-up after the wait began went to another task: this is no lost one.
    match wakeup {
        Some(at) if at > began => None,
        wakeup => {
            let wakeup = wakeup.map(|at| Moment::of(trace, at));
            Some(Pattern::LostWakeup { wait, wakeup })
        }
    }
}

fn wakes(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Signal | O::Broadcast | O::FutexWake | O::SemPost)
}

/// A wait at the end of the execution. Its step is the last one of its task, which began it.
fn moment(trace: &Trace, wait: &WaitEdge) -> Moment {
    let execution = &trace.execution;
    let pending = execution.tasks.get(wait.task.index()).and_then(|record| record.pending);
    let last = execution.steps.iter().rposition(|step| step.task == wait.task);
    let known = last.map(|at| execution.steps[at].operation);
    Moment {
        task: wait.task,
        operation: pending.map(|it| it.operation).or(known).unwrap_or(Operation::Wait),
        object: wait.object,
        site: wait.site.unwrap_or(Site { module: 0, offset: 0 }),
        step: last,
    }
}
