//! The cycle of a deadlock over locks: the lock that each task holds, and the one it waits for.

use super::locks::HeldLocks;
use traces::order;
use traces::{Failure, ObjectKind, Site, TaskId, Trace, WaitEdge};

/// A task of a cycle: it holds a lock that the task before it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// The task.
    pub task: TaskId,
    /// The lock that it holds: an index into the execution's objects.
    pub holds: u32,
    /// The step at which it acquired the lock.
    pub since: Option<usize>,
    /// The lock that it waits for.
    pub waits: u32,
    /// The code location of its wait.
    pub site: Option<Site>,
}

/// The tasks that each hold the lock another one waits for, in the order of the cycle; none if the
/// waits close over something else.
#[must_use]
pub fn lock_cycle(trace: &Trace, failure: &Failure) -> Option<Vec<Hold>> {
    let held = HeldLocks::before(&trace.execution, trace.execution.steps.len());
    let edge = |task| failure.waits.iter().find(|wait| wait.task == task);
    let next = |task| Some(holder(trace, &held, edge(task)?)?.0);
    let start = failure.waits.iter().map(|wait| wait.task).find(|&start| {
        let path = std::iter::successors(Some(start), |&task| next(task));
        path.skip(1).take(failure.waits.len()).any(|task| task == start)
    })?;
    let mut cycle = vec![start];
    while let Some(task) = next(*cycle.last()?).filter(|&task| task != start) {
        cycle.push(task);
    }
    let before = |at: usize| cycle[(at + cycle.len() - 1) % cycle.len()];
    let hold = |(at, &task): (usize, &TaskId)| {
        let (wait, awaited) = (edge(task)?, edge(before(at))?);
        let (holds, waits) = (held.lock(awaited.object?), held.lock(wait.object?));
        let since = holder(trace, &held, awaited)?.1;
        Some(Hold { task, holds, since, waits, site: wait.site })
    };
    cycle.iter().enumerate().map(hold).collect()
}

/// The holder of the lock that a task waits for, and the step of the acquisition.
fn holder(trace: &Trace, held: &HeldLocks, wait: &WaitEdge) -> Option<(TaskId, Option<usize>)> {
    let object = wait.object?;
    match trace.execution.objects.get(object as usize)?.kind {
        ObjectKind::Mutex => {
            let holder = wait.holder?;
            Some((holder, order::held_since(&trace.execution, holder, object)))
        }
        // A lock in a word of memory.
        ObjectKind::Memory => {
            let holder = wait.holder?;
            let step = held.all().find(|&(lock, task, _)| (lock, task) == (object, holder));
            Some((holder, step.map(|(_, _, since)| since)))
        }
        ObjectKind::Futex => held.holder(object).map(|(task, step)| (task, Some(step))),
        _ => None,
    }
}
