//! What a strategy sees when it chooses the next task.

use crate::reduction::events::Event;
use crate::reduction::pending::PendingOperation;
use traces::{Operation, TaskId};

/// What a strategy can observe when it makes a choice.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The number of steps so far.
    pub step: u64,
    /// The task that executed the last step; none at the first step.
    pub running: Option<TaskId>,
    /// Whether the last step makes a switch free of cost: it was a yield, a sleep, a wait, a
    /// time-out or an exit.
    pub yielded: bool,
    /// The site of the last step; 0 if it is unknown.
    pub site: u64,
    /// The enabled tasks, in ascending order; never empty.
    pub enabled: &'a [TaskId],
    /// Their pending operations, in the same order.
    pub operations: &'a [Operation],
    /// The digest of `enabled` ([`traces::enabled::digest`]).
    pub digest: u32,
    /// The pending operations of all tasks that have not ended, enabled or blocked, in ascending
    /// order; empty unless the strategy [needs them](crate::Reduction::needs_pending).
    pub tasks: &'a [PendingOperation],
}

impl View<'_> {
    /// The pending operation of a task, if the strategy needs pending operations and the task has
    /// not ended.
    #[must_use]
    pub fn next(&self, task: TaskId) -> Option<&PendingOperation> {
        self.tasks.binary_search_by_key(&task, |next| next.task).ok().map(|at| &self.tasks[at])
    }

    /// Whether `event` is a join with an unfinished task that does not wait: its result depends on
    /// more than its object.
    #[must_use]
    pub fn joins_unfinished_task(&self, event: &Event) -> bool {
        event.operation == Operation::Join
            && event.other.is_some_and(|other| self.next(other).is_some())
    }

    /// Whether a switch to `task` would preempt the running task.
    #[must_use]
    pub fn preempts(&self, task: TaskId) -> bool {
        match self.running {
            Some(running) => {
                running != task && !self.yielded && self.enabled.binary_search(&running).is_ok()
            }
            None => false,
        }
    }

    /// The enabled tasks in the order in which a non-preemptive scheduler would prefer them: the
    /// running task, then the others by creation, cyclically from there. A task that yielded comes
    /// last.
    pub fn by_default_order(&self) -> impl Iterator<Item = TaskId> + '_ {
        let running = self.running.unwrap_or(TaskId::MAIN);
        let split = self
            .enabled
            .partition_point(|&task| if self.yielded { task <= running } else { task < running });
        self.enabled[split..].iter().chain(&self.enabled[..split]).copied()
    }

    /// The task that a non-preemptive scheduler would run.
    #[must_use]
    pub fn default_task(&self) -> TaskId {
        self.by_default_order().next().unwrap_or(TaskId::MAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(running: Option<u16>, yielded: bool, enabled: &[u16]) -> Vec<u16> {
        let enabled: Vec<TaskId> = enabled.iter().map(|&t| TaskId(t)).collect();
        let view = View {
            step: 0,
            running: running.map(TaskId),
            yielded,
            site: 0,
            enabled: &enabled,
            operations: &[],
            digest: 0,
            tasks: &[],
        };
        view.by_default_order().map(|task| task.0).collect()
    }

    #[test]
    fn the_default_order_begins_with_the_running_task_and_is_cyclic() {
        assert_eq!(order(Some(2), false, &[0, 1, 2, 3]), [2, 3, 0, 1]);
        assert_eq!(order(Some(2), false, &[0, 1, 3]), [3, 0, 1]);
        assert_eq!(order(Some(2), true, &[0, 1, 2, 3]), [3, 0, 1, 2]);
        assert_eq!(order(None, false, &[0]), [0]);
    }
}
