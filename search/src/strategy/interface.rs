//! The interface between a strategy and the code that drives it.

use crate::prefix::{Position, TrailChoice};
use crate::reduction::pending::PendingOperation;
use crate::strategy::view::View;
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// The first difference between an execution and the schedule that it should follow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// The step, from 0.
    pub step: u64,
    /// What was expected and what happened, as text for the user.
    pub what: String,
}

/// Why a strategy ends an execution early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GiveUp {
    /// The execution differs from the schedule that it should follow.
    Diverged(Divergence),
    /// Every continuation is equivalent to one that another execution covers.
    Redundant,
}

/// The decision of a strategy before a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// This task executes its next operation.
    Task(TaskId),
    /// End the execution here.
    GiveUp(GiveUp),
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The program ended without a failure.
    Passed,
    /// The program failed.
    Failed,
    /// The execution reached the step limit.
    Cut,
    /// The strategy ended the execution early ([`Decision::GiveUp`]).
    GivenUp,
}

/// The coverage of a search when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coverage {
    /// Some schedules were not run, or it is unknown whether all were.
    Open,
    /// Some schedules were not run, but all those with at most this many preemptions were.
    Within(u32),
    /// Every schedule was run, or every schedule within the bound if there is one.
    Complete {
        /// The most preemptions of a schedule.
        bound: Option<u32>,
    },
    /// Every schedule within the bound was run, and the bound does not count preemptions.
    AsAsked,
}

/// Decides which task runs next. These are the methods that every strategy needs.
///
/// For each execution the driver calls `begin` once; then `choose` before each step, followed by
/// `choose_data` for each choice within that step; then `end`. A strategy is deterministic: the same
/// calls with the same views give the same answers.
///
/// [`PrefixReplay`] and [`Reduction`] have a default for every method, so that a strategy that needs
/// nothing of them implements them with an empty block.
pub trait Strategy: PrefixReplay + Reduction {
    /// Begins an execution. `number` counts from 1, and skips numbers if several workers share a
    /// search. Returns false if the strategy has nothing left to run.
    fn begin(&mut self, number: u64) -> bool;

    /// Chooses the task that runs next.
    fn choose(&mut self, view: &View<'_>) -> Decision;

    /// Makes a data choice, a choice of an outcome within the current step: returns a number below
    /// `of`, which is at least 2. 0 stands for the outcome that is most likely without Heddle.
    fn choose_data(&mut self, of: u32) -> u32;

    /// Ends the execution.
    fn end(&mut self, outcome: Outcome);

    /// What was covered. The driver asks when a search ends.
    fn coverage(&self) -> Coverage {
        Coverage::Open
    }

    /// The name of the strategy that decided in the execution that ran last, if strategies take turns.
    fn active_part(&self) -> &'static str {
        ""
    }

    /// Whether the execution may be longer than others: each choice is drawn regardless of the number of
    /// steps, and no later execution repeats this one.
    fn may_be_longer(&self) -> bool {
        false
    }
}

/// A strategy whose executions begin with a part of an earlier execution ([`crate::prefix`]).
pub trait PrefixReplay {
    /// Begins the current execution a second time, after it diverged from the prefix that it should
    /// repeat. Called in place of `begin`, and without a call of `end` before it.
    fn restart(&mut self) {}

    /// The digest ([`View::digest`]) that the next choice has if the execution does not diverge; none
    /// behind the repeated prefix.
    fn expected_digest(&self) -> Option<u32> {
        None
    }

    /// Whether the execution that is about to end was shorter than the prefix that it should repeat, or
    /// a data choice in it had another number of outcomes than before.
    fn failed_to_repeat(&self) -> bool {
        false
    }

    /// The number of first steps that the execution that was begun has in common with the one before,
    /// if that was an execution of the same strategy that repeated its prefix. The last of these steps
    /// may have another data choice.
    fn common_steps(&self) -> usize {
        0
    }

    /// The number of first steps of the execution that was begun that are determined: later executions
    /// are likely to share them. At least [`PrefixReplay::common_steps`].
    fn planned_steps(&self) -> usize {
        self.common_steps()
    }

    /// The choices of the path that the next execution follows first, if there is one.
    fn planned_choices(&self) -> Vec<TrailChoice> {
        Vec::new()
    }

    /// Takes over from `before`, another search of the same program, what it knows about the last
    /// execution, whose choices are `trail`. Returns the number of steps at which the next execution may
    /// be resumed at most, as if both were executions of this search. Called before `begin`.
    fn adopt(&mut self, _before: &mut Self, _trail: &[TrailChoice]) -> usize
    where
        Self: Sized,
    {
        0
    }

    /// Where the running execution is, before a step; none if an execution cannot be resumed there.
    fn position(&self) -> Option<Position> {
        None
    }

    /// Resumes the execution that was begun at a position in the steps that it has in common with the
    /// one before: the calls for these steps are omitted.
    fn resume(&mut self, _: &Position) {}
}

/// A strategy that uses what every task would do next, to avoid schedules that are equivalent to others.
pub trait Reduction {
    /// Whether the strategy reads [`View::tasks`], which takes time to fill in. Constant during a
    /// search.
    fn needs_pending(&self) -> bool {
        false
    }

    /// Whether the strategy reads [`View::tasks`] at the next choice, given that it does at some.
    fn needs_pending_now(&self) -> bool {
        self.needs_pending()
    }

    /// Whether [`PendingOperation::site`] has to distinguish call paths: equal code addresses with
    /// different callers are then different sites. Constant during a search.
    fn needs_caller_sites(&self) -> bool {
        false
    }

    /// Receives the pending operations of all unfinished tasks at the end of an execution, before
    /// `end`. Called only if [`Reduction::needs_pending`], and if the process still exists. The task
    /// that ran last counts as enabled unless it is blocked.
    fn pending_at_end(&mut self, _: &[PendingOperation]) {}

    /// A number that identifies the equivalence class of the execution that ended: executions that
    /// differ only in the order of independent operations have the same. None if the strategy does not
    /// compute it.
    fn equivalence_class(&self) -> Option<u64> {
        None
    }

    /// An execution was possible that belongs to no class that was run, so that the strategy's notion of
    /// dependence is wrong for this program: the strategy claims no coverage from here on.
    fn invalidate_coverage(&mut self) {}
}

/// How the executions of a search are divided among workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// An execution depends only on the seed and its number, so that each worker gets a range of
    /// numbers. [`Shareable::merge`] collects what the workers' copies learned.
    ByNumber,
    /// One worker at a time runs the strategy, or [`crate::share`] has code that splits it.
    Other,
}

/// What [`crate::share`] and [`crate::strategy::registry`] require of a strategy.
pub trait Shareable: Strategy + Sized {
    /// How the executions of the strategy are divided among workers.
    const SHARING: Sharing = Sharing::Other;

    /// Whether no execution depends on earlier ones: the state of the strategy stays valid when further
    /// accesses become scheduling points.
    const MEMORYLESS: bool = matches!(Self::SHARING, Sharing::ByNumber);

    /// Whether executions may depend on what earlier ones have shown, which [`Shareable::merge`] collects.
    /// If not, ranges of numbers may have any size.
    const LEARNS: bool = true;

    /// Adds what a copy of this strategy learned in another worker.
    fn merge(&mut self, _: &Self) {}

    /// Whether the worker should end its piece of work early, because the strategy has collected
    /// many results that other workers need.
    fn must_share(&self) -> bool {
        false
    }
}

/// Implements [`Strategy`], [`PrefixReplay`] and [`Reduction`] for a type by forwarding every method
/// with the macro `$to`, which gets `self.method(arguments)`.
macro_rules! forward_strategy {
    ([$($generics:tt)*] $type:ty, $to:ident) => {
        impl<$($generics)*> Strategy for $type {
            fn begin(&mut self, number: u64) -> bool {
                $to!(self.begin(number))
            }

            #[inline]
            fn choose(&mut self, view: &View<'_>) -> Decision {
                $to!(self.choose(view))
            }

            fn choose_data(&mut self, of: u32) -> u32 {
                $to!(self.choose_data(of))
            }

            fn end(&mut self, outcome: Outcome) {
                $to!(self.end(outcome))
            }

            fn coverage(&self) -> Coverage {
                $to!(self.coverage())
            }

            fn active_part(&self) -> &'static str {
                $to!(self.active_part())
            }

            fn may_be_longer(&self) -> bool {
                $to!(self.may_be_longer())
            }
        }

        impl<$($generics)*> PrefixReplay for $type {
            fn restart(&mut self) {
                $to!(self.restart())
            }

            fn expected_digest(&self) -> Option<u32> {
                $to!(self.expected_digest())
            }

            fn failed_to_repeat(&self) -> bool {
                $to!(self.failed_to_repeat())
            }

            fn common_steps(&self) -> usize {
                $to!(self.common_steps())
            }

            fn planned_steps(&self) -> usize {
                $to!(self.planned_steps())
            }

            fn planned_choices(&self) -> Vec<$crate::TrailChoice> {
                $to!(self.planned_choices())
            }

            fn position(&self) -> Option<$crate::Position> {
                $to!(self.position())
            }

            fn resume(&mut self, position: &$crate::Position) {
                $to!(self.resume(position))
            }
        }

        impl<$($generics)*> Reduction for $type {
            fn needs_pending(&self) -> bool {
                $to!(self.needs_pending())
            }

            #[inline]
            fn needs_pending_now(&self) -> bool {
                $to!(self.needs_pending_now())
            }

            fn needs_caller_sites(&self) -> bool {
                $to!(self.needs_caller_sites())
            }

            fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
                $to!(self.pending_at_end(tasks))
            }

            fn equivalence_class(&self) -> Option<u64> {
                $to!(self.equivalence_class())
            }

            fn invalidate_coverage(&mut self) {
                $to!(self.invalidate_coverage())
            }
        }
    };
}
pub(crate) use forward_strategy;

macro_rules! dereference {
    ($self:ident.$method:ident($($argument:expr),*)) => {
        (**$self).$method($($argument),*)
    };
}

// A borrowed strategy is a strategy, so that another one can wrap it for a while.
forward_strategy!([S: Strategy + ?Sized] &mut S, dereference);
