//! Fairness for time-outs: a task that times out several times in a row at one site has to let
//! other tasks run.
//!
//! A time-out is a choice and can be made forever: a schedule in which only the waiting task runs
//! would not end. The clock has advanced each time, so such a loop never returns to the same state,
//! and [`crate::spin`] does not recognise it. This is fairness by counting, as in Musuvathi and
//! Qadeer, "Fair Stateless Model Checking" (2008), for time-outs alone and separately for each
//! site: a task that waits at different sites one after another is not in a loop. If this excludes
//! a schedule, the search does not claim to be complete.

use crate::View;
use traces::{Operation, TaskId};

/// The most time-outs of a task in a row at one site while other tasks are enabled.
const TIME_OUTS: u32 = 3;

/// A counter for each site.
#[derive(Debug, Clone, Default)]
pub(crate) struct SiteCounts(Vec<(u64, u32)>);

impl SiteCounts {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Counts an event at this site; returns the new count.
    pub(crate) fn count(&mut self, place: u64) -> u32 {
        match self.0.iter_mut().find(|known| known.0 == place) {
            Some((_, times)) => {
                *times += 1;
                *times
            }
            None => {
                self.0.push((place, 1));
                1
            }
        }
    }

    /// The largest count.
    pub(crate) fn most(&self) -> u32 {
        self.0.iter().map(|&(_, times)| times).max().unwrap_or(0)
    }
}

/// The time-outs of the running task.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimeoutFairness {
    running: Option<TaskId>,
    /// Its last operation.
    last: Option<Operation>,
    time_outs: SiteCounts,
    /// Whether the running task timed out too often at one of the sites.
    waits: bool,
    left_out: bool,
    enabled: Vec<TaskId>,
    operations: Vec<Operation>,
}

impl TimeoutFairness {
    /// Begins an execution.
    pub(crate) fn begin(&mut self) {
        (self.running, self.last, self.waits, self.left_out) = (None, None, false, false);
        self.time_outs.clear();
    }

    /// The view without the task that has to wait, if there is one.
    #[inline]
    pub(crate) fn restrict<'a>(&'a mut self, view: &View<'a>) -> Option<View<'a>> {
        if view.yielded && self.last.is_some_and(Operation::may_time_out) {
            self.count(view.site);
        }
        if !self.waits || view.enabled.len() < 2 {
            return None;
        }
        self.without(self.running?, view)
    }

    #[cold]
    fn count(&mut self, place: u64) {
        self.waits |= self.time_outs.count(place) >= TIME_OUTS;
    }

    #[cold]
    fn without<'a>(&'a mut self, task: TaskId, view: &View<'a>) -> Option<View<'a>> {
        let at = view.enabled.binary_search(&task).ok()?;
        self.left_out = true;
        self.enabled.clear();
        self.enabled.extend_from_slice(view.enabled);
        self.enabled.remove(at);
        self.operations.clear();
        self.operations.extend_from_slice(view.operations);
        self.operations.remove(at);
        Some(View { enabled: &self.enabled, operations: &self.operations, ..*view })
    }

    /// Records that this task was chosen.
    #[inline]
    pub(crate) fn chosen(&mut self, view: &View<'_>, task: TaskId) {
        if self.running != Some(task) {
            (self.running, self.waits) = (Some(task), false);
            self.time_outs.clear();
        }
        let at = view.enabled.binary_search(&task).ok();
        self.last = at.and_then(|at| view.operations.get(at).copied());
    }

    /// Whether schedules of the execution were excluded.
    pub(crate) fn left_out(&self) -> bool {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::enabled;

    /// The tasks from which a strategy may choose after T0 executed these operations in a row, each
    /// of which timed out if it could, while T1 was enabled.
    fn remaining(did: &[Operation]) -> Vec<u16> {
        remaining_at(did, |_| 7)
    }

    /// Like `remaining`, with a site for each operation.
    fn remaining_at(did: &[Operation], place: impl Fn(usize) -> u64) -> Vec<u16> {
        let mut fairness = TimeoutFairness::default();
        fairness.begin();
        let able = [TaskId(0), TaskId(1)];
        let mut view = View {
            step: 0,
            running: None,
            yielded: false,
            site: 0,
            enabled: &able,
            operations: &[],
            digest: enabled::digest(able),
            expiries: &[],
            gave_way: false,
            tasks: &[],
        };
        for (number, &operation) in did.iter().enumerate() {
            let operations = [operation, Operation::Start];
            assert!(fairness.restrict(&view).is_none(), "{operation:?}");
            fairness.chosen(&View { operations: &operations, ..view }, TaskId(0));
            view.running = Some(TaskId(0));
            view.yielded = operation.yielded_or_timed_out(110);
            view.site = place(number);
        }
        let operations = [Operation::Wait, Operation::Start];
        let view = View { operations: &operations, ..view };
        let restricted = fairness.restrict(&view).unwrap_or(view);
        let left: Vec<u16> = restricted.enabled.iter().map(|task| task.0).collect();
        assert_eq!(fairness.left_out(), left.len() < 2);
        left
    }

    #[test]
    fn after_three_time_outs_in_a_row_another_task_runs() {
        use Operation as O;
        assert_eq!(remaining(&[O::SemTimedWait, O::SemTimedWait]), [0, 1]);
        assert_eq!(remaining(&[O::SemTimedWait, O::SemTimedWait, O::SemTimedWait]), [1]);
        let turn = [O::Lock, O::Wait, O::TimedWake, O::Unlock];
        assert_eq!(remaining(&turn.repeat(2)), [0, 1]);
        assert_eq!(remaining(&[&turn[..], &turn, &turn[..3]].concat()), [1]);
        // Yields are not time-outs: the task may be making progress.
        assert_eq!(remaining(&[O::Yield; 20]), [0, 1]);
    }

    #[test]
    fn a_task_that_waits_at_different_sites_is_not_in_a_loop() {
        let many = [Operation::SemTimedWait; 8];
        assert_eq!(remaining_at(&many, |number| number as u64), [0, 1]);
        assert_eq!(remaining_at(&many[..7], |number| number as u64 % 3), [1]);
        assert_eq!(remaining_at(&many[..6], |number| number as u64 % 3), [0, 1]);
    }
}
