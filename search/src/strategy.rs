//! The interface between a strategy and what drives it.

use crate::events::Event;
use serde::{Deserialize, Serialize};
use traces::{Operation, TaskId};

/// All that a strategy may know at a choice.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// How many steps came before.
    pub step: u64,
    /// The task that moved last; none at the first step.
    pub running: Option<TaskId>,
    /// Whether the last step invited others to run (a yield, a sleep, a wait, a time-out, an exit).
    pub yielded: bool,
    /// Where in the code that step was; 0 where nobody knows.
    pub place: u64,
    /// The tasks that may move, in ascending order; never empty.
    pub enabled: &'a [TaskId],
    /// What each of them would do, in the same order.
    pub operations: &'a [Operation],
    /// The digest of `enabled` ([`traces::enabled::digest`]).
    pub digest: u32,
    /// Every task that has not ended, able to move or not, in ascending order; empty where the
    /// strategy is not [`Strategy::detailed`].
    pub tasks: &'a [Next],
}

/// What a task that has not ended would do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Next {
    /// Who.
    pub task: TaskId,
    /// What it would do.
    pub operation: Operation,
    /// To what: a number that stands for the object in every execution with the same beginning; for
    /// a task its number plus one; 0 for nothing.
    pub object: u64,
    /// The mutex of a wait on a condition variable, or 0.
    pub mutex: u64,
    /// Another object that changes with it, or 0.
    pub also: u64,
    /// Where in the program's code.
    pub site: u64,
    /// A semaphore's value, as it is now.
    pub value: u64,
    /// Whether it could do so now.
    pub enabled: bool,
    /// Whether a wait was ended by a signal or the like.
    pub woken: bool,
    /// Whether it goes on without what it waits for, once its time is up.
    pub timed: bool,
    /// Whether the object would be changed by it as things stand: a compare-and-swap or a
    /// `trylock` that would fail changes nothing, nor does an inner lock of a recursive mutex. Of the
    /// unlock of a read-write lock: whether a writer gives it up; of its locks: whether the task does
    /// not write already.
    pub writes: bool,
    /// Whether the lock keeps readers out while a writer waits.
    pub preferred: bool,
    /// Whether it ends here if it was asked to end.
    pub cancellable: bool,
    /// Objects that it goes round to see changed ([`crate::stall`]), or 0.
    pub awaits: [u64; 3],
    /// Whether it goes round for more than these.
    pub vague: bool,
}

impl Next {
    /// A task that can do `operation` on `object` now.
    #[must_use]
    pub fn new(task: TaskId, operation: Operation, object: u64, site: u64) -> Next {
        Next {
            task,
            operation,
            object,
            mutex: 0,
            also: 0,
            site,
            value: 0,
            enabled: true,
            woken: false,
            timed: false,
            writes: operation.is_write(),
            preferred: false,
            cancellable: false,
            awaits: [0; 3],
            vague: false,
        }
    }

    /// Whether what follows may depend on more than is told here: whom a waiting writer keeps out, what
    /// a task goes round for, how often a time may be up, what a task stands before once a signal came,
    /// which changes that. (How often a wait may come back by itself is
    /// counted, and a choice.)
    #[must_use]
    pub fn hides_something(&self) -> bool {
        let times_out = self.timed && self.operation != Operation::SpuriousWake;
        let signals = matches!(self.operation, Operation::Kill | Operation::Handler);
        self.preferred || self.vague || times_out || signals
    }
}

impl View<'_> {
    /// What the task would do, where the strategy is detailed and the task has not ended.
    #[must_use]
    pub fn next(&self, task: TaskId) -> Option<&Next> {
        self.tasks.binary_search_by_key(&task, |next| next.task).ok().map(|at| &self.tasks[at])
    }

    /// Whether `event` is a join that does not wait, of a task that has not ended: what it finds
    /// depends on more than its object.
    #[must_use]
    pub fn joins_nobody(&self, event: &Event) -> bool {
        event.operation == Operation::Join
            && event.other.is_some_and(|other| self.next(other).is_some())
    }

    /// Whether choosing `task` would preempt the running one.
    #[must_use]
    pub fn preempts(&self, task: TaskId) -> bool {
        match self.running {
            Some(running) => {
                running != task && !self.yielded && self.enabled.binary_search(&running).is_ok()
            }
            None => false,
        }
    }

    /// The enabled tasks with the one first that a non-preemptive scheduler would take: the running
    /// task, then the others in order of creation from there on, cyclically. A task that yielded
    /// comes last.
    pub fn by_default_order(&self) -> impl Iterator<Item = TaskId> + '_ {
        let running = self.running.unwrap_or(TaskId::MAIN);
        let split = self
            .enabled
            .partition_point(|&task| if self.yielded { task <= running } else { task < running });
        self.enabled[split..].iter().chain(&self.enabled[..split]).copied()
    }

    /// The task that a non-preemptive scheduler would take.
    #[must_use]
    pub fn default_task(&self) -> TaskId {
        self.by_default_order().next().unwrap_or(TaskId::MAIN)
    }
}

/// How an execution differs from the schedule it was to follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The step, from 0.
    pub step: u64,
    /// What was expected and what came, in words.
    pub what: String,
}

/// Why a strategy ends an execution early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveUp {
    /// The execution is not the one that was to be followed.
    Diverged(Divergence),
    /// Going on would show nothing new.
    Redundant,
}

/// A strategy's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// This task moves.
    Task(TaskId),
    /// End the execution here.
    GiveUp(GiveUp),
}

/// How an execution ended, as far as a strategy may care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The program ended well.
    Passed,
    /// It failed.
    Failed,
    /// It was cut at the step limit.
    Cut,
    /// The strategy gave it up.
    GivenUp,
}

/// What has been covered when a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coverage {
    /// There is more to try, or nobody knows.
    Open,
    /// There is more to try, but every schedule with at most so many preemptions was run.
    Within(u32),
    /// Every schedule with at most this many preemptions was run; all of them if none is named.
    Complete {
        /// The bound, if there was one.
        bound: Option<u32>,
    },
    /// Everything asked for was run, in a measure that is no number of preemptions.
    AsAsked,
}

/// Decides what runs next.
///
/// For each execution the driver calls `begin` once; then `choose` before each step, with
/// `choose_data` in between where a step has a choice of its own; then `end`. The same calls with
/// the same views give the same answers.
pub trait Strategy {
    /// A new execution; `number` counts from 1 and may skip numbers where several workers share a
    /// search. False: there is nothing left to try.
    fn begin(&mut self, number: u64) -> bool;

    /// Which task moves.
    fn choose(&mut self, view: &View<'_>) -> Decision;

    /// A number below `of` (which is 2 or more) for a choice within the step that runs; 0 is what
    /// would most likely happen natively.
    fn choose_data(&mut self, of: u32) -> u32;

    /// The execution is over.
    fn end(&mut self, outcome: Outcome);

    /// In the place of `begin`, and without `end` having been called: the execution that was begun last
    /// left its beginning, and is to be run once more.
    fn again(&mut self) {}

    /// The digest ([`View::digest`]) that the next choice has to find if the execution is to be the one
    /// that was begun; none where nothing is repeated there.
    fn expected(&self) -> Option<u32> {
        None
    }

    /// Whether the execution that is about to be ended did less than it was to repeat, or had other
    /// ways to go in a step.
    fn fell_short(&self) -> bool {
        false
    }

    /// Whether it looks at [`View::tasks`], which cost time to fill in. The same for the whole
    /// search.
    fn detailed(&self) -> bool {
        false
    }

    /// Whether it looks at [`View::tasks`] at the next choice; they need not be filled in otherwise. Only
    /// where it is detailed.
    fn looks(&self) -> bool {
        self.detailed()
    }

    /// Whether [`Next::site`] is to tell the same place apart by the frames around it. The same for the
    /// whole search.
    fn wants_frames(&self) -> bool {
        false
    }

    /// What the tasks that have not ended stood before when the execution ended; before `end`, and
    /// only where the strategy is detailed and the process is still there. The task that moved last
    /// counts as enabled unless it waits.
    fn left(&mut self, _: &[Next]) {}

    /// Which part of the strategy decided in the execution that ran last.
    fn part(&self) -> &'static str {
        ""
    }

    /// A number for the class of the execution that ended, where the strategy tells executions
    /// apart by the order of dependent operations and runs one of each.
    fn class(&self) -> Option<u64> {
        None
    }

    /// Whether what it has found has to be shared with others before it goes on.
    fn is_full(&self) -> bool {
        false
    }

    /// An execution turned out to be possible that is in no class that was run: the strategy's
    /// picture of the program is wrong, and nothing is to be claimed from here on.
    fn doubt(&mut self) {}

    /// What was covered, asked when a search ends.
    fn coverage(&self) -> Coverage {
        Coverage::Open
    }
}

/// So that a strategy can be wrapped by another for a while.
impl<S: Strategy + ?Sized> Strategy for &mut S {
    fn begin(&mut self, number: u64) -> bool {
        (**self).begin(number)
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        (**self).choose(view)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        (**self).choose_data(of)
    }

    fn end(&mut self, outcome: Outcome) {
        (**self).end(outcome);
    }

    fn again(&mut self) {
        (**self).again();
    }

    fn expected(&self) -> Option<u32> {
        (**self).expected()
    }

    fn fell_short(&self) -> bool {
        (**self).fell_short()
    }

    fn detailed(&self) -> bool {
        (**self).detailed()
    }

    fn looks(&self) -> bool {
        (**self).looks()
    }

    fn wants_frames(&self) -> bool {
        (**self).wants_frames()
    }

    fn left(&mut self, tasks: &[Next]) {
        (**self).left(tasks);
    }

    fn part(&self) -> &'static str {
        (**self).part()
    }

    fn class(&self) -> Option<u64> {
        (**self).class()
    }

    fn is_full(&self) -> bool {
        (**self).is_full()
    }

    fn doubt(&mut self) {
        (**self).doubt();
    }

    fn coverage(&self) -> Coverage {
        (**self).coverage()
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
            place: 0,
            enabled: &enabled,
            operations: &[],
            digest: 0,
            tasks: &[],
        };
        view.by_default_order().map(|task| task.0).collect()
    }

    #[test]
    fn the_default_order_goes_on_with_the_running_task_then_round() {
        assert_eq!(order(Some(2), false, &[0, 1, 2, 3]), [2, 3, 0, 1]);
        assert_eq!(order(Some(2), false, &[0, 1, 3]), [3, 0, 1]);
        assert_eq!(order(Some(2), true, &[0, 1, 2, 3]), [3, 0, 1, 2]);
        assert_eq!(order(None, false, &[0]), [0]);
    }
}
