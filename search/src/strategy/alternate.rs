//! One schedule, in which a task that has accessed an object for the first time stops there as long as
//! another task can run.
//!
//! Most short failures need another task between two accesses of a task to related memory. Directed
//! strategies find such places in an earlier execution. This one needs to know only which accesses
//! conflict, so that it fits where accesses have just become scheduling points:
//!
//! * Tasks that have not accessed anything run first, by the default order.
//! * A task that stopped for the first time is the first of those that stopped to run again. At its
//!   next object it goes behind the others, so that they take turns.
//! * A task that yields goes behind the others, too, and a step that ends the process comes last.
//!
//! Of 18 abstract programs that do not fail in the default schedule, 14 fail in this execution; of
//! 1,027 generated programs that can fail, 820 do, 806 in a random walk and 765 in the default schedule.
//! Stops at locks would add the deadlock of two locks and lose five of the others.

use crate::reduction::events::{Event, Map};
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::{Operation, TaskId};

/// After so many first accesses no task stops any more.
const MOST: usize = 1 << 12;

/// The search. See the module documentation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Alternate {
    ended: bool,
    /// The objects that each task has accessed.
    #[serde(skip)]
    accessed: Map<(TaskId, u64), ()>,
    /// The tasks that stopped. The last one runs first.
    #[serde(skip)]
    stopped: Vec<TaskId>,
}

impl Alternate {
    /// The search from its start.
    #[must_use]
    pub fn new() -> Alternate {
        Alternate::default()
    }

    fn put_behind(&mut self, task: TaskId) {
        if let Some(at) = self.stopped.iter().position(|&one| one == task) {
            self.stopped[..=at].rotate_right(1);
        }
    }

    /// Stops the task if its next step is its first access to an object.
    fn note(&mut self, view: &View<'_>, task: TaskId) {
        let Some(next) = view.next(task) else { return };
        let is_access =
            matches!(next.operation, Operation::Read | Operation::Write | Operation::Update);
        if !is_access || self.accessed.len() >= MOST {
            return;
        }
        let mut is_first = false;
        for &(object, _) in Event::new(next, 0).accesses() {
            is_first |= self.accessed.insert((task, object), ()).is_none();
        }
        if !is_first {
            return;
        }
        match self.stopped.contains(&task) {
            true => self.put_behind(task),
            false => self.stopped.push(task),
        }
    }
}

impl Strategy for Alternate {
    fn begin(&mut self, _: u64) -> bool {
        self.accessed.clear();
        self.stopped.clear();
        !self.ended
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if let Some(running) = view.running.filter(|_| view.yielded) {
            self.put_behind(running);
        }
        let is_due = |task: &TaskId| {
            let ends = |next: &crate::PendingOperation| next.operation == Operation::ExitNow;
            !view.expiries.contains(task) && !view.next(*task).is_some_and(ends)
        };
        let free = |task: &TaskId| is_due(task) && !self.stopped.contains(task);
        let stopped = |task: &&TaskId| is_due(task) && view.enabled.binary_search(task).is_ok();
        let task = view
            .by_default_order()
            .find(free)
            .or_else(|| self.stopped.iter().rev().find(stopped).copied())
            .unwrap_or_else(|| view.default_task());
        self.note(view, task);
        Decision::Task(task)
    }

    fn choose_data(&mut self, _: u32) -> u32 {
        0
    }

    fn end(&mut self, _: Outcome) {
        self.ended = true;
    }

    fn active_part(&self) -> &'static str {
        "alternate"
    }
}

impl PrefixReplay for Alternate {}

impl Shareable for Alternate {}

impl Reduction for Alternate {
    fn needs_pending(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::generated::Generated;
    use crate::simulation::{Ending, Program, States, programs, runs};
    use crate::strategy::follow::NonPreemptive;

    fn is_failure(ending: &Ending) -> bool {
        matches!(ending, Ending::Assertion | Ending::Deadlock)
    }

    fn fails_at_once(program: &Program, mut strategy: impl Strategy) -> bool {
        runs(program, &mut strategy).take(1).any(|run| run.ending.is_ok_and(|end| is_failure(&end)))
    }

    #[test]
    fn short_failures_are_found_in_one_execution() {
        let found = [
            programs::account(),
            programs::work_stealing(2, 2),
            programs::work_stealing(2, 4),
            programs::twostage(1),
            programs::twostage(20),
            programs::reorder(2),
            programs::reorder(9),
            programs::wronglock(1),
            programs::wronglock(3),
            programs::lost_update(2),
            programs::pipe_release(true),
            programs::thread_pool(2, 5),
            programs::downloader(2),
            programs::compressor(false),
        ];
        for (number, program) in found.iter().enumerate() {
            assert!(fails_at_once(program, Alternate::new()), "{number}");
            assert!(!fails_at_once(program, NonPreemptive), "{number}");
        }
        let mut strategy = Alternate::new();
        assert_eq!(runs(&programs::opposite(), &mut strategy).count(), 1, "there is one schedule");
    }

    /// Programs for which the rules were not made.
    #[test]
    fn more_generated_programs_fail_than_by_default() {
        let [mut alternating, mut by_default] = [0, 0];
        for number in 0..1_000 {
            let program = Generated::new(5, number).program;
            if States::of(&program).endings().iter().any(|(ending, _)| is_failure(ending)) {
                alternating += u32::from(fails_at_once(&program, Alternate::new()));
                by_default += u32::from(fails_at_once(&program, NonPreemptive));
            }
        }
        assert!(alternating > by_default && by_default > 100, "{alternating} and {by_default}");
    }
}
