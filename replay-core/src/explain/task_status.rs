//! The status of each task at a step of a recorded execution: its next operation, whether it is
//! enabled, and if not, what blocks it. Pure. Also exact for past steps: a task that is parked
//! before an operation executes that operation next, whatever other tasks do meanwhile.

use super::blocked::BlockedBy;
use super::locks::HeldLocks;
use super::step_index::StepIndex;
use traces::{Operation, Site, TaskId, TaskState, Trace, WaitEdge};

/// The status of one task at a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStatus {
    /// The task.
    pub task: TaskId,
    /// The task's next step in this execution, if there is one.
    pub next: Option<usize>,
    /// Its next operation.
    pub operation: Option<Operation>,
    /// The object of that operation.
    pub object: Option<u32>,
    /// The site of that operation.
    pub site: Option<Site>,
    /// Whether the task is enabled.
    pub enabled: bool,
    /// What blocks the task, if it is not enabled.
    pub why: Option<BlockedBy>,
}

/// The existing tasks before step `step` (or at the end, for the number of steps), in order. For
/// several questions about one execution, build a [`StepIndex`] once.
#[must_use]
pub fn task_statuses(trace: &Trace, step: usize) -> Vec<TaskStatus> {
    StepIndex::of(trace).task_statuses(trace, step)
}

impl StepIndex {
    /// The existing tasks before step `step` (or at the end, for the number of steps), in order.
    #[must_use]
    pub fn task_statuses(&self, trace: &Trace, step: usize) -> Vec<TaskStatus> {
        let execution = &trace.execution;
        let step = step.min(execution.steps.len());
        let held = self.locks(execution, step);
        let mut found = Vec::new();
        for task in self.alive(trace, step) {
            let next = self.next_of(task, step);
            let able = self.is_enabled(task, step) && !is_blocked(trace, task, step);
            let mut status = TaskStatus {
                task,
                next,
                operation: None,
                object: None,
                site: None,
                enabled: able,
                why: None,
            };
            if let Some(next) = next {
                let next = &execution.steps[next];
                status.operation = Some(next.operation);
                status.object = next.object;
                status.site = Some(next.site);
                status.why = (!able).then(|| held.why(execution, next.operation, next.object));
            } else {
                at_the_end(trace, &mut status, &held);
            }
            found.push(status);
        }
        found
    }

    /// The wait-for graph before a step.
    #[must_use]
    pub fn waits(&self, trace: &Trace, step: usize) -> Vec<WaitEdge> {
        let edge = |one: TaskStatus| {
            let holder = match one.why? {
                BlockedBy::Held { holder, .. } => Some(holder),
                BlockedBy::NotEnded(task) | BlockedBy::Writer { writer: task, .. } => Some(task),
                _ => None,
            };
            Some(WaitEdge { task: one.task, object: one.object, holder, site: one.site })
        };
        self.task_statuses(trace, step).into_iter().filter_map(edge).collect()
    }

    /// The tasks that exist before a step, ascending.
    fn alive(&self, trace: &Trace, step: usize) -> Vec<TaskId> {
        // A task that has no further step, is not enabled and is not known at the end has ended.
        let waits = |task: TaskId| {
            trace.failure.as_ref().is_some_and(|failure| {
                let mut stacks = failure.stacks.iter();
                stacks.any(|stack| stack.task == task && stack.state != TaskState::Exited)
            })
        };
        (0..self.tasks() as u16)
            .map(TaskId)
            .filter(|&task| {
                self.is_enabled(task, step)
                    || (self.is_created(task, step)
                        && (self.next_of(task, step).is_some() || waits(task)))
            })
            .collect()
    }
}

/// Whether a task is blocked at the end: changes after the last step are not recorded.
fn is_blocked(trace: &Trace, task: TaskId, step: usize) -> bool {
    let at_end = step >= trace.execution.steps.len();
    if let Some(pending) = trace.execution.tasks.get(task.index()).and_then(|task| task.pending) {
        return at_end && pending.blocked;
    }
    let stacks = trace.failure.iter().flat_map(|failure| &failure.stacks);
    at_end
        && stacks
            .filter(|stack| stack.task == task)
            .any(|stack| matches!(stack.state, TaskState::Blocked(_)))
}

/// Fills in what is known about a task without further steps.
fn at_the_end(trace: &Trace, status: &mut TaskStatus, held: &HeldLocks) {
    let pending = trace.execution.tasks.get(status.task.index()).and_then(|task| task.pending);
    if let Some(pending) = pending {
        status.operation = Some(pending.operation);
        status.object = pending.object;
        status.site = Some(pending.site);
        let why = || held.why(&trace.execution, pending.operation, pending.object);
        status.why = (!status.enabled).then(why);
        return;
    }
    let Some(failure) = &trace.failure else {
        status.why = (!status.enabled).then_some(BlockedBy::Unknown);
        return;
    };
    if let Some(wait) = failure.waits.iter().find(|wait| wait.task == status.task) {
        status.object = wait.object;
        status.site = wait.site;
    }
    if status.enabled {
        return;
    }
    let holder = status.object.and_then(|object| held.holder(object).map(|at| (object, at)));
    status.why = Some(match holder {
        Some((object, (holder, since))) => BlockedBy::Held { object, holder, since },
        None => {
            let stack = failure.stacks.iter().find(|stack| stack.task == status.task);
            match stack.map(|stack| &stack.state) {
                Some(TaskState::Blocked(what)) => BlockedBy::Said(what.clone()),
                _ => BlockedBy::Unknown,
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::super::blocked::BlockedText;
    use super::*;
    use traces::{EnabledChange, Execution, Object, ObjectKind, ObjectLocation, Step, TaskRecord};

    /// T1 and T2 each lock a mutex (object 0); T0 joins T1 (objects 1 and 2 are the tasks).
    fn trace() -> Trace {
        use Operation::{Create, Join, Lock, Start, Unlock};
        let steps = [
            (0, Create, Some(1)), // 0
            (0, Create, Some(2)), // 1
            (1, Start, None),     // 2
            (1, Lock, Some(0)),   // 3
            (2, Start, None),     // 4
            (1, Unlock, Some(0)), // 5
            (2, Lock, Some(0)),   // 6
            (2, Unlock, Some(0)), // 7
            (0, Join, Some(1)),   // 8
        ];
        let change = |step, task, enabled| EnabledChange { step, task: TaskId(task), enabled };
        let object = |kind, place, name: &str| Object { kind, place, name: name.into() };
        Trace {
            execution: Execution {
                tasks: vec![TaskRecord::default(); 3],
                objects: vec![
                    object(ObjectKind::Mutex, ObjectLocation::Other(0), "m"),
                    object(ObjectKind::Task, ObjectLocation::Task(TaskId(1)), "T1"),
                    object(ObjectKind::Task, ObjectLocation::Task(TaskId(2)), "T2"),
                ],
                steps: steps
                    .into_iter()
                    .map(|(task, operation, object)| Step {
                        task: TaskId(task),
                        operation,
                        object,
                        site: Site { module: 0, offset: 1 },
                        value: 0,
                    })
                    .collect(),
                enabled: vec![
                    change(0, 0, true),
                    change(1, 1, true),
                    change(2, 2, true),
                    change(2, 0, false),
                    change(5, 2, false),
                    change(6, 2, true),
                    change(6, 1, false),
                    change(6, 0, true),
                ],
                ..Default::default()
            },
            ..Default::default()
        }
    }

    fn statuses(trace: &Trace, step: usize) -> Vec<String> {
        task_statuses(trace, step)
            .iter()
            .map(|one| {
                let operation = one.operation.map_or("-", Operation::name);
                let why = match &one.why {
                    Some(why) => BlockedText(why, &trace.execution).to_string(),
                    None => "enabled".into(),
                };
                format!("{} {operation}: {why}", one.task)
            })
            .collect()
    }

    #[test]
    fn enabled_tasks_and_reasons_of_blocked_ones() {
        let trace = trace();
        assert_eq!(statuses(&trace, 0), ["T0 create: enabled"]);
        assert_eq!(
            statuses(&trace, 2),
            ["T0 join: T1 has not ended", "T1 start: enabled", "T2 start: enabled"]
        );
        assert_eq!(
            statuses(&trace, 5),
            [
                "T0 join: T1 has not ended",
                "T1 unlock: enabled",
                "T2 lock: m is held by T1 since step 4"
            ]
        );
        assert_eq!(statuses(&trace, 6), ["T0 join: enabled", "T2 lock: enabled"]);
    }

    #[test]
    fn the_wait_for_graph_is_known_at_every_step() {
        let trace = trace();
        let positions = StepIndex::of(&trace);
        let edges = |step| {
            let waits = positions.waits(&trace, step);
            waits
                .into_iter()
                .map(|wait| (wait.task.0, wait.holder.map(|t| t.0)))
                .collect::<Vec<_>>()
        };
        assert_eq!(edges(0), []);
        assert_eq!(edges(2), [(0, Some(1))]);
        assert_eq!(edges(5), [(0, Some(1)), (2, Some(1))]);
        assert_eq!(edges(6), []);
    }

    #[test]
    fn locks_are_those_held_at_the_moment() {
        let trace = trace();
        let at = |step| HeldLocks::before(&trace.execution, step).holder(0);
        assert_eq!(
            [at(3), at(4), at(6), at(7)],
            [None, Some((TaskId(1), 3)), None, Some((TaskId(2), 6))]
        );
    }
}
