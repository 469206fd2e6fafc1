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
    /// Those of the enabled tasks whose next step is an expiry ([`crate::time`]), the earliest first.
    /// Empty if any delay is possible: then an expiry is a step like any other.
    pub expiries: &'a [TaskId],
    /// Whether the last step was a yield, after which expiries come before the running task.
    pub gave_way: bool,
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

    fn is_enabled(&self, task: TaskId) -> bool {
        self.enabled.binary_search(&task).is_ok()
    }

    /// Whether the task's next step is an expiry.
    fn expires(&self, task: TaskId) -> bool {
        self.expiries.contains(&task)
    }

    /// Whether the task comes after all expiries, because it yielded.
    fn is_last(&self, task: TaskId) -> bool {
        self.gave_way && self.running == Some(task)
    }

    /// Whether the choice of `task` would be a preemption: of the running task, or of a task that
    /// could run before an expiry is due.
    #[must_use]
    pub fn preempts(&self, task: TaskId) -> bool {
        if self.expires(task) {
            let first = self.expiries.iter().find(|&&one| self.is_enabled(one));
            let could_run = |&other: &TaskId| !self.expires(other) && !self.is_last(other);
            return first != Some(&task) || self.enabled.iter().any(could_run);
        }
        match self.running {
            Some(running) => {
                running != task
                    && !self.yielded
                    && !self.expires(running)
                    && self.is_enabled(running)
            }
            None => false,
        }
    }

    /// The enabled tasks in the order in which a non-preemptive scheduler would prefer them: the
    /// running task, then the others by creation, cyclically from there, then expiries by their
    /// deadlines. A task that yielded comes last.
    pub fn by_default_order(&self) -> impl Iterator<Item = TaskId> + '_ {
        let running = self.running.unwrap_or(TaskId::MAIN);
        let split = self
            .enabled
            .partition_point(|&task| if self.yielded { task <= running } else { task < running });
        let others = self.enabled[split..].iter().chain(&self.enabled[..split]).copied();
        let expiries = self.expiries.iter().copied().filter(|&task| self.is_enabled(task));
        let none = self.expiries.is_empty();
        let last = self.running.filter(|&task| {
            !none && self.is_last(task) && !self.expires(task) && self.is_enabled(task)
        });
        others
            .filter(move |&task| none || !self.expires(task) && !self.is_last(task))
            .chain(expiries)
            .chain(last)
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
            expiries: &[],
            gave_way: false,
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

    #[test]
    fn expiries_come_in_the_order_of_their_deadlines_when_no_task_can_run() {
        let enabled = [TaskId(0), TaskId(1), TaskId(2), TaskId(3)];
        let running = View {
            step: 0,
            running: Some(TaskId(1)),
            yielded: false,
            site: 0,
            enabled: &enabled,
            operations: &[],
            digest: 0,
            expiries: &[TaskId(3), TaskId(0)],
            gave_way: false,
            tasks: &[],
        };
        let order =
            |view: &View<'_>| -> Vec<u16> { view.by_default_order().map(|task| task.0).collect() };
        let costs = |view: &View<'_>| enabled.map(|task| view.preempts(task));
        assert_eq!(order(&running), [1, 2, 3, 0]);
        assert_eq!(costs(&running), [true, false, true, true]);
        let yielded = View { yielded: true, gave_way: true, ..running };
        assert_eq!(order(&yielded), [2, 3, 0, 1]);
        assert_eq!(costs(&yielded), [true, false, false, true]);
        let alone = View { enabled: &[TaskId(1), TaskId(3)], ..yielded };
        assert_eq!(order(&alone), [3, 1]);
        assert!(!alone.preempts(TaskId(3)), "the other task yielded");
        let waiting = View { enabled: &[TaskId(0), TaskId(3)], ..running };
        assert_eq!(order(&waiting), [3, 0]);
        assert!(!waiting.preempts(TaskId(3)) && waiting.preempts(TaskId(0)));
    }
}
