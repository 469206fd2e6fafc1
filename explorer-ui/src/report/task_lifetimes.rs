//! The lifetime of each task, as a range of steps: determines where its lane is drawn.

use std::ops::RangeInclusive;
use traces::{TaskId, TaskState, Trace};

/// For each task, the steps during which it exists; none for a task that never did.
#[must_use]
pub(crate) fn lifetimes(trace: &Trace) -> Vec<Option<RangeInclusive<usize>>> {
    let execution = &trace.execution;
    let mut spans: Vec<Option<(usize, usize)>> = vec![None; task_count(trace)];
    let mut seen = |task: TaskId, step: usize| {
        if let Some(span) = spans.get_mut(task.index()) {
            match span {
                Some((_, last)) => *last = (*last).max(step),
                None => *span = Some((step, step)),
            }
        }
    };
    execution.for_each_step(|index, step, enabled| {
        seen(step.task, index);
        for &task in enabled {
            seen(task, index);
        }
    });
    let end = execution.steps.len();
    for task in alive_at_the_end(trace) {
        seen(task, end);
    }
    spans.into_iter().map(|span| span.map(|(first, last)| first..=last)).collect()
}

/// The number of tasks that a trace refers to. A damaged trace may refer to more than it lists.
#[must_use]
pub(crate) fn task_count(trace: &Trace) -> usize {
    let highest = trace.execution.steps.iter().map(|step| step.task.index() + 1).max();
    let waiting = trace
        .failure
        .iter()
        .flat_map(|failure| failure.waits.iter().map(|wait| wait.task.index() + 1))
        .max();
    trace.execution.tasks.len().max(highest.unwrap_or(0)).max(waiting.unwrap_or(0))
}

fn alive_at_the_end(trace: &Trace) -> impl Iterator<Item = TaskId> + '_ {
    trace.failure.iter().flat_map(|failure| {
        let stacks = failure.stacks.iter().filter(|stack| stack.state != TaskState::Exited);
        stacks.map(|stack| stack.task).chain(failure.waits.iter().map(|wait| wait.task))
    })
}
