//! The tasks of asynchronous runtimes in reports: which one a thread executes.

use crate::report::names::task_title;
use crate::report::text::{clean, count};
use std::collections::HashMap;
use traces::{AsyncTask, Execution, TaskId, Trace};

/// `async task 15 (deposit)`.
pub(crate) fn async_title(task: &AsyncTask) -> String {
    let name = clean(&task.name);
    if name.is_empty() {
        format!("async task {}", task.id)
    } else {
        format!("async task {} ({name})", task.id)
    }
}

/// A thread's title, and the asynchronous task that it executes at a step: `T1 tokio-rt-worker, async task 15 (deposit)`.
pub(crate) fn title_at(trace: &Trace, step: usize, thread: TaskId) -> String {
    let title = task_title(trace, thread);
    match trace.execution.async_task_at(step, thread) {
        Some(executed) => format!("{title}, {}", async_title(executed)),
        None => title,
    }
}

/// The asynchronous tasks that a thread executes in an execution, each once, in order.
pub(crate) fn executed_by(execution: &Execution, thread: TaskId) -> Vec<&AsyncTask> {
    let mut all: Vec<&AsyncTask> = Vec::new();
    let own = execution.async_changes.iter().filter(|change| change.task == thread);
    for task in own.filter_map(|change| execution.async_task(change.id)) {
        if all.iter().all(|known| known.id != task.id) {
            all.push(task);
        }
    }
    all
}

/// The first of some asynchronous tasks, and how many more there are.
pub(crate) fn listed(executed: &[&AsyncTask]) -> String {
    const MOST: usize = 4;
    let mut names: Vec<String> = executed.iter().take(MOST).map(|task| async_title(task)).collect();
    if let Some(more) = executed.len().checked_sub(MOST).filter(|&more| more > 0) {
        names.push(count(more as u64, "more async task"));
    }
    names.join(", ")
}

/// Finds, in ascending order of the rows of a schedule, where a thread begins to execute another asynchronous
/// task.
pub(crate) struct Changes<'a> {
    execution: &'a Execution,
    /// The number of changes before the last row.
    passed: usize,
    /// By thread: the number of the task that it executes, and of the last one that a row was about.
    current: HashMap<TaskId, u64>,
    shown: HashMap<TaskId, u64>,
}

impl<'a> Changes<'a> {
    pub(crate) fn of(execution: &'a Execution) -> Changes<'a> {
        Changes { execution, passed: 0, current: HashMap::new(), shown: HashMap::new() }
    }

    /// What to write above a row, if its thread executes another asynchronous task than in its row before.
    pub(crate) fn above(&mut self, step: usize, thread: TaskId) -> Option<String> {
        let rest = &self.execution.async_changes[self.passed..];
        let new = rest.partition_point(|change| change.step <= step as u64);
        for change in &rest[..new] {
            self.current.insert(change.task, change.id);
        }
        self.passed += new;
        let now = self.current.get(&thread).copied().unwrap_or(0);
        if self.shown.insert(thread, now).unwrap_or(0) == now {
            return None;
        }
        let begun = self.execution.async_task(now);
        Some(begun.map_or_else(|| "no async task".to_owned(), async_title))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::AsyncChange;

    fn execution() -> Execution {
        let change = |step, task, id| AsyncChange { step, task: TaskId(task), id };
        let task = |id, name: &str| AsyncTask { id, name: name.into() };
        Execution {
            async_tasks: vec![task(7, "deposit"), task(9, "")],
            async_changes: vec![
                change(2, 1, 7),
                change(3, 2, 9),
                change(4, 1, 0),
                change(5, 1, 9),
                change(6, 1, 7),
            ],
            ..Execution::default()
        }
    }

    #[test]
    fn a_row_names_the_task_that_its_thread_begins_to_execute() {
        let execution = execution();
        let mut changes = Changes::of(&execution);
        let mut above = |step, thread| changes.above(step, TaskId(thread));
        assert_eq!(above(1, 1), None);
        assert_eq!(above(2, 1).as_deref(), Some("async task 7 (deposit)"));
        assert_eq!(above(3, 2).as_deref(), Some("async task 9"));
        assert_eq!(above(3, 1), None);
        assert_eq!(above(4, 1).as_deref(), Some("no async task"));
        // A folded row begins before the change to task 9 and the next one after that to task 7.
        assert_eq!(above(6, 1).as_deref(), Some("async task 7 (deposit)"));
        assert_eq!(above(7, 0), None);
    }

    #[test]
    fn the_tasks_of_a_thread_are_listed_once_in_their_order() {
        let execution = execution();
        let ids = |thread| {
            let all = executed_by(&execution, TaskId(thread));
            all.into_iter().map(|task| task.id).collect::<Vec<_>>()
        };
        assert_eq!((ids(0), ids(1), ids(2)), (vec![], vec![7, 9], vec![9]));
        let six: Vec<AsyncTask> = (1..7).map(|id| AsyncTask { id, name: String::new() }).collect();
        let text = listed(&six.iter().collect::<Vec<_>>());
        assert_eq!(
            text,
            "async task 1, async task 2, async task 3, async task 4, 2 more async tasks"
        );
        assert!(listed(&six.iter().take(5).collect::<Vec<_>>()).ends_with("1 more async task"));
        let at = |step, thread| execution.async_task_at(step, TaskId(thread)).map(|task| task.id);
        assert_eq!((at(1, 1), at(3, 1), at(4, 1), at(9, 1)), (None, Some(7), None, Some(7)));
    }
}
