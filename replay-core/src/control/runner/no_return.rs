//! The point of no return: the step of a failing schedule after which no schedule passes any more.
//!
//! If every schedule that has a prefix fails, so does every schedule that has a longer prefix of
//! the same execution. So the point is found by bisection. A prefix counts as lost only after all
//! schedules that have it were run; samples that all fail prove nothing.

use super::look_ahead::{SearchCounts, run};
use super::program::Runner;
use crate::Error;
use crate::control::command::search_job;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{Job, Plan};
use traces::{Choice, Execution, Trace};

/// Executions to prove with one schedule for each order of dependent operations that every schedule with a prefix
/// fails.
const REDUCED_PROOF: u64 = 5_000;
/// Executions to prove it with every schedule, where an access may have been overlooked.
const PROOF: u64 = 20_000;
/// Executions to count all schedules with a prefix; if there are more, samples are drawn.
const COUNT: u64 = 2_000;
/// Samples for the share of failing schedules.
const SAMPLES: u64 = 200;

/// How many of the schedules with a prefix fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prospect {
    /// The number of schedules that were run.
    pub executions: u64,
    /// How many of these failed.
    pub failing: u64,
    /// Whether all schedules with the prefix were run; otherwise they are a random sample.
    pub complete: bool,
}

impl Prospect {
    /// The prospect at the end of a failing execution: nothing else can follow.
    pub const LOST: Prospect = Prospect { executions: 1, failing: 1, complete: true };

    /// Whether all schedules with the prefix were run, and each of them failed.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.complete && self.failing == self.executions
    }

    /// Whether some schedule with the prefix passed.
    #[must_use]
    pub fn can_pass(&self) -> bool {
        self.failing < self.executions
    }
}

/// Where a failing schedule can no longer be saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoReturn {
    /// After this many steps every schedule fails: all of them were run. At most the number of
    /// steps of the schedule.
    pub lost_after: usize,
    /// After at most this many steps some schedule passes: one was run. None if none was found.
    pub passes_after: Option<usize>,
    /// The schedules that follow after `passes_after` steps.
    pub before: Option<Prospect>,
}

impl NoReturn {
    /// The step, counted from 0, that makes the failure inevitable; none if it may be an earlier
    /// one, or if every schedule fails from the beginning.
    #[must_use]
    pub fn step(&self) -> Option<usize> {
        let step = self.lost_after.checked_sub(1)?;
        (self.passes_after == Some(step)).then_some(step)
    }
}

impl Runner {
    /// Finds the point of no return of a failing execution, and reports each examined prefix with
    /// its number of steps. None if `interrupt` was set.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn no_return(
        &self,
        failing: &Trace,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(usize, Prospect),
    ) -> Result<Option<NoReturn>, Error> {
        let execution = &failing.execution;
        let choices: Vec<Choice> = execution.choices().collect();
        bisect(failing.steps_to_failure(), |steps| {
            let prospect = self.proved(prefix(execution, &choices, steps), interrupt)?;
            if interrupt.load(Relaxed) {
                return Ok(None);
            }
            report(steps, prospect);
            Ok(Some(prospect))
        })
    }

    /// How many of the schedules fail that begin with the first `steps` steps of an execution:
    /// exactly if there are few, otherwise by a sample.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn prospect_after(
        &self,
        execution: &Execution,
        steps: usize,
        interrupt: &AtomicBool,
    ) -> Result<Prospect, Error> {
        let choices: Vec<Choice> = execution.choices().collect();
        let counts = self.counted(prefix(execution, &choices, steps), interrupt)?;
        Ok(Prospect::from(counts))
    }

    /// A search for schedules with this prefix.
    fn search_after(
        &self,
        prefix: &[Choice],
        (plan, last): (Plan, u64),
        interrupt: &AtomicBool,
    ) -> Result<SearchCounts, Error> {
        let job = Job {
            prefix: prefix.to_vec(),
            last,
            stop_at_first: false,
            ..search_job(&self.options, plan)
        };
        run(&self.target, job, &self.options, interrupt)
    }

    /// All schedules with this prefix if there are few of them, otherwise a sample.
    fn counted(&self, prefix: &[Choice], interrupt: &AtomicBool) -> Result<SearchCounts, Error> {
        let all = self.search_after(prefix, (Plan::bounded("dfs", None), COUNT), interrupt)?;
        if all.complete {
            return Ok(all);
        }
        self.search_after(prefix, (Plan::seeded("random", self.options.seed), SAMPLES), interrupt)
    }

    /// The same, and if all of a sample fail, an attempt to prove that every schedule does.
    fn proved(&self, prefix: &[Choice], interrupt: &AtomicBool) -> Result<Prospect, Error> {
        let counts = self.counted(prefix, interrupt)?;
        let all_fail =
            |found: &SearchCounts| found.failing == found.executions && found.failing > 0;
        if counts.complete || !all_fail(&counts) {
            return Ok(Prospect::from(counts));
        }
        // Turns of a waiting loop multiply the schedules and not the orders of dependent operations. Where
        // these all fail, every schedule does, if no access was overlooked; otherwise their number is no
        // number of schedules.
        let reduced =
            self.search_after(prefix, (Plan::bounded("dpor", None), REDUCED_PROOF), interrupt)?;
        if !reduced.complete || !all_fail(&reduced) {
            // With more orders than that there are too many schedules.
            return Ok(Prospect::from(counts));
        }
        if reduced.observed_all {
            return Ok(Prospect::from(reduced));
        }
        let all = self.search_after(prefix, (Plan::bounded("dfs", None), PROOF), interrupt)?;
        Ok(Prospect::from(if all.complete { all } else { counts }))
    }
}

impl From<SearchCounts> for Prospect {
    fn from(counts: SearchCounts) -> Prospect {
        Prospect {
            // An execution without an end did not pass.
            executions: counts.executions.saturating_sub(counts.holes).max(counts.failing),
            failing: counts.failing,
            complete: counts.complete && counts.executions > 0,
        }
    }
}

/// The choices of the first `steps` steps.
fn prefix<'a>(execution: &Execution, choices: &'a [Choice], steps: usize) -> &'a [Choice] {
    let made = execution.data.partition_point(|choice| choice.step < steps as u64);
    &choices[..(steps + made).min(choices.len())]
}

/// Bisects the number of steps after which the execution is lost.
fn bisect(
    steps: usize,
    mut prospect: impl FnMut(usize) -> Result<Option<Prospect>, Error>,
) -> Result<Option<NoReturn>, Error> {
    let mut found = NoReturn { lost_after: steps, passes_after: None, before: None };
    // Prefixes of at most `open` steps are not known to be lost.
    let mut open = 0;
    while open < found.lost_after {
        let middle = open.midpoint(found.lost_after);
        let Some(seen) = prospect(middle)? else { return Ok(None) };
        if seen.is_lost() {
            found.lost_after = middle;
            continue;
        }
        if seen.can_pass() {
            (found.passes_after, found.before) = (Some(middle), Some(seen));
        }
        open = middle + 1;
    }
    Ok(Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bisects a schedule of which `passing` steps leave passing schedules and of which all
    /// schedules after `countable` steps can be run; counts the examined prefixes.
    fn found(steps: usize, passing: usize, countable: usize) -> (NoReturn, usize) {
        let mut examined = 0;
        let found = bisect(steps, |after| {
            examined += 1;
            let complete = after >= countable;
            let failing = if after > passing { 10 } else { 4 };
            Ok(Some(Prospect { executions: 10, failing, complete }))
        });
        let found = found.expect("nothing is run").expect("it is not interrupted");
        (found, examined)
    }

    #[test]
    fn the_point_is_found_by_bisection() {
        for steps in [1, 2, 7, 100, 10_000] {
            for passing in [0, steps / 3, steps - 1] {
                let (found, examined) = found(steps, passing, 0);
                assert_eq!(found.step(), Some(passing), "{steps} {passing}");
                assert_eq!(found.lost_after, passing + 1);
                assert!(examined <= 2 + steps.ilog2() as usize, "{steps}: {examined}");
            }
        }
    }

    #[test]
    fn samples_that_all_fail_are_no_proof() {
        // From step 40 on everything fails, but only from step 60 on all schedules can be run.
        let (found, _) = found(100, 40, 60);
        assert_eq!((found.lost_after, found.step()), (60, None));
        assert!(found.passes_after.is_none_or(|after| after <= 40), "{found:?}");
        let sample = Prospect { executions: 200, failing: 200, complete: false };
        assert!(!sample.is_lost() && !sample.can_pass());
    }

    #[test]
    fn a_schedule_that_is_lost_from_the_beginning_has_no_point() {
        let always = bisect(8, |_| Ok(Some(Prospect::LOST))).expect("nothing is run");
        let always = always.expect("it is not interrupted");
        assert_eq!((always.lost_after, always.step()), (0, None));
        assert_eq!(bisect(8, |_| Ok(None)).expect("nothing is run"), None, "interrupted");
    }
}
