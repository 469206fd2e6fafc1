//! An index of an execution that answers questions about any step in microseconds, even among a
//! million steps.
//!
//! The state at a step depends on all earlier steps. So the state is stored at regular intervals
//! and computed from the last stored one.

use super::locks::{HeldLocks, LockTracker, task_of};
use traces::{Execution, Operation, TaskId, Trace};

/// The number of steps between stored states.
const EVERY: usize = 256;

/// The index of one execution.
#[derive(Debug, Clone)]
pub struct StepIndex {
    /// For each task, its steps, ascending.
    steps: Vec<Vec<u32>>,
    /// For each task, the steps from which it is enabled or disabled.
    abilities: Vec<Vec<(u64, bool)>>,
    /// For each task, the step that created it.
    created: Vec<Option<usize>>,
    kept: Vec<LockTracker>,
}

impl StepIndex {
    /// Builds the index of a trace.
    #[must_use]
    pub fn of(trace: &Trace) -> StepIndex {
        let execution = &trace.execution;
        let changed = execution.enabled.iter().map(|change| change.task.index() + 1).max();
        let moved = execution.steps.iter().map(|step| step.task.index() + 1).max();
        let tasks = execution.tasks.len().max(changed.unwrap_or(0)).max(moved.unwrap_or(0)).max(1);
        let mut positions = StepIndex {
            steps: vec![Vec::new(); tasks],
            abilities: vec![Vec::new(); tasks],
            created: vec![None; tasks],
            kept: Vec::with_capacity(execution.steps.len() / EVERY + 1),
        };
        for change in &execution.enabled {
            positions.abilities[change.task.index()].push((change.step, change.enabled));
        }
        let mut holding = LockTracker::new(execution);
        for (at, step) in execution.steps.iter().enumerate() {
            if at.is_multiple_of(EVERY) {
                positions.kept.push(holding.clone());
            }
            holding.take(execution, at);
            positions.steps[step.task.index()].push(at as u32);
            if step.operation == Operation::Create
                && let Some(task) = task_of(execution, step.object)
                && let Some(created) = positions.created.get_mut(task.index())
            {
                created.get_or_insert(at);
            }
        }
        positions
    }

    /// The number of tasks.
    #[must_use]
    pub fn tasks(&self) -> usize {
        self.steps.len()
    }

    /// Whether a task is enabled at a step.
    #[must_use]
    pub fn is_enabled(&self, task: TaskId, step: usize) -> bool {
        let Some(changes) = self.abilities.get(task.index()) else { return false };
        let until = changes.partition_point(|&(at, _)| at <= step as u64);
        until > 0 && changes[until - 1].1
    }

    /// The enabled tasks at a step, ascending.
    #[must_use]
    pub fn enabled(&self, step: usize) -> Vec<TaskId> {
        let tasks = (0..self.tasks() as u16).map(TaskId);
        tasks.filter(|&task| self.is_enabled(task, step)).collect()
    }

    /// The next step of a task, from this step on.
    #[must_use]
    pub fn next_of(&self, task: TaskId, step: usize) -> Option<usize> {
        let own = self.steps.get(task.index())?;
        own.get(own.partition_point(|&at| (at as usize) < step)).map(|&at| at as usize)
    }

    /// Whether a task was created before a step. Main always exists.
    #[must_use]
    pub fn is_created(&self, task: TaskId, step: usize) -> bool {
        let created = self.created.get(task.index()).copied().flatten();
        task == TaskId::MAIN || created.is_some_and(|created| created < step)
    }

    /// The locks held before a step. `execution` must be the one that the index was built from.
    #[must_use]
    pub fn locks(&self, execution: &Execution, step: usize) -> HeldLocks {
        let step = step.min(execution.steps.len());
        let Some(last) = self.kept.len().checked_sub(1) else {
            return HeldLocks::before(execution, step);
        };
        let kept = (step / EVERY).min(last);
        let mut holding = self.kept[kept].clone();
        (kept * EVERY..step).for_each(|at| holding.take(execution, at));
        holding.locks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use traces::{EnabledChange, Object, ObjectKind, ObjectLocation, Site, Step};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_index_agrees_with_a_scan_of_all_steps(
            moves in prop::collection::vec((0..3_u16, 0..4_u32, 0..3_usize), 0..900),
            changes in prop::collection::vec((0..900_u64, 0..3_u16, any::<bool>()), 0..50),
        ) {
            const OPERATIONS: [Operation; 3] =
                [Operation::Lock, Operation::Unlock, Operation::Wait];
            let mut changes = changes;
            changes.sort_by_key(|&(step, ..)| step);
            let mutex = |at| Object {
                kind: ObjectKind::Mutex,
                place: ObjectLocation::Other(at),
                name: "m".into(),
            };
            let execution = Execution {
                objects: (0..4).map(mutex).collect(),
                steps: moves
                    .iter()
                    .map(|&(task, object, operation)| Step {
                        task: TaskId(task),
                        operation: OPERATIONS[operation],
                        object: Some(object),
                        site: Site { module: 0, offset: 1 },
                        value: 0,
                    })
                    .collect(),
                enabled: changes
                    .iter()
                    .map(|&(step, task, enabled)| EnabledChange { step, task: TaskId(task), enabled })
                    .collect(),
                ..Default::default()
            };
            let trace = Trace { execution, ..Default::default() };
            let positions = StepIndex::of(&trace);
            let steps = trace.execution.steps.len();
            for step in (0..=steps).step_by(37).chain([steps]) {
                let known: Vec<_> = positions.locks(&trace.execution, step).all().collect();
                let before: Vec<_> = HeldLocks::before(&trace.execution, step).all().collect();
                prop_assert_eq!(known, before);
                for task in 0..3 {
                    let next =
                        (step..steps).find(|&at| trace.execution.steps[at].task == TaskId(task));
                    prop_assert_eq!(positions.next_of(TaskId(task), step), next);
                }
            }
            trace.execution.for_each_step(|step, _, enabled| {
                assert_eq!(positions.enabled(step), enabled);
            });
        }
    }
}
