//! Tasks that look again and again whether something has happened, with a limit of time for each look:
//! after a few in a row others have to move.
//!
//! That a time is up is a choice, and may be made for ever: schedules in which only the one that waits
//! moves never end. The clock has moved each time, so such a loop never comes back to the same state,
//! and [`crate::stall`] says nothing of it. This is fairness by counting, as in Musuvathi and Qadeer,
//! "Fair Stateless Model Checking" (2008), for time-outs alone, and for each place in the code by itself:
//! a task that waits at one place after the other is no loop. Where it left anything out, not everything
//! was seen.

use crate::View;
use traces::{Operation, TaskId};

/// How often in a row a task's time may be up at one place while others could move.
const TIME_OUTS: u32 = 3;

/// How often something happened at each place in the code.
#[derive(Debug, Clone, Default)]
pub(crate) struct Times(Vec<(u64, u32)>);

impl Times {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// It happens at this place: how often it has.
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

    /// How often it happened where it did most often.
    pub(crate) fn most(&self) -> u32 {
        self.0.iter().map(|&(_, times)| times).max().unwrap_or(0)
    }
}

/// Who ran out of time how often.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patience {
    running: Option<TaskId>,
    /// What it did last.
    last: Option<Operation>,
    time_outs: Times,
    /// Whether that was too often at one of them.
    waits: bool,
    left_out: bool,
    enabled: Vec<TaskId>,
    operations: Vec<Operation>,
}

impl Patience {
    /// An execution begins.
    pub(crate) fn begin(&mut self) {
        (self.running, self.last, self.waits, self.left_out) = (None, None, false, false);
        self.time_outs.clear();
    }

    /// What is left to choose from, where that is less than `view` says.
    #[inline]
    pub(crate) fn restrict<'a>(&'a mut self, view: &View<'a>) -> Option<View<'a>> {
        if view.yielded && self.last.is_some_and(Operation::may_time_out) {
            self.count(view.place);
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

    /// This task was chosen.
    #[inline]
    pub(crate) fn chosen(&mut self, view: &View<'_>, task: TaskId) {
        if self.running != Some(task) {
            (self.running, self.waits) = (Some(task), false);
            self.time_outs.clear();
        }
        let at = view.enabled.binary_search(&task).ok();
        self.last = at.and_then(|at| view.operations.get(at).copied());
    }

    /// Whether there were schedules in the execution that are not looked at.
    pub(crate) fn left_out(&self) -> bool {
        self.left_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::enabled;

    /// Whom a strategy may choose from, where T0 did these operations in a row, each of which timed out
    /// where it could, and T1 could have moved.
    fn left(did: &[Operation]) -> Vec<u16> {
        left_at(did, |_| 7)
    }

    /// The same, each at its place.
    fn left_at(did: &[Operation], place: impl Fn(usize) -> u64) -> Vec<u16> {
        let mut patience = Patience::default();
        patience.begin();
        let able = [TaskId(0), TaskId(1)];
        let mut view = View {
            step: 0,
            running: None,
            yielded: false,
            place: 0,
            enabled: &able,
            operations: &[],
            digest: enabled::digest(able),
            tasks: &[],
        };
        for (number, &operation) in did.iter().enumerate() {
            let operations = [operation, Operation::Start];
            assert!(patience.restrict(&view).is_none(), "{operation:?}");
            patience.chosen(&View { operations: &operations, ..view }, TaskId(0));
            view.running = Some(TaskId(0));
            view.yielded = operation.gave_way(110);
            view.place = place(number);
        }
        let operations = [Operation::Wait, Operation::Start];
        let view = View { operations: &operations, ..view };
        let restricted = patience.restrict(&view).unwrap_or(view);
        let left: Vec<u16> = restricted.enabled.iter().map(|task| task.0).collect();
        assert_eq!(patience.left_out(), left.len() < 2);
        left
    }

    #[test]
    fn after_three_time_outs_in_a_row_another_task_moves() {
        use Operation as O;
        assert_eq!(left(&[O::SemTimedWait, O::SemTimedWait]), [0, 1]);
        assert_eq!(left(&[O::SemTimedWait, O::SemTimedWait, O::SemTimedWait]), [1]);
        let turn = [O::Lock, O::Wait, O::TimedWake, O::Unlock];
        assert_eq!(left(&turn.repeat(2)), [0, 1]);
        assert_eq!(left(&[&turn[..], &turn, &turn[..3]].concat()), [1]);
        // Yields alone are no time-outs: the task may be getting on.
        assert_eq!(left(&[O::Yield; 20]), [0, 1]);
    }

    #[test]
    fn a_task_that_waits_at_one_place_after_the_other_is_no_loop() {
        let many = [Operation::SemTimedWait; 8];
        assert_eq!(left_at(&many, |number| number as u64), [0, 1]);
        assert_eq!(left_at(&many[..7], |number| number as u64 % 3), [1]);
        assert_eq!(left_at(&many[..6], |number| number as u64 % 3), [0, 1]);
    }
}
