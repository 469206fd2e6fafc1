//! Removes parts of a schedule that the failure does not need.

use super::Size;
use super::candidates::candidates;
use super::coarse::Coarse;
use super::outcome::{ProgressObserver, Refused};
use super::private_sites::private_sites;
use crate::control::runner::{RunOutcome, RunSchedules, ScheduleSet};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Trace};

/// Schedules with more stretches are first reduced many stretches at a time.
const MANY: usize = 40;
/// The most runs to spend on that.
const MOST_TRIES: usize = 300;

/// How many rounds of the local search may fail before it ends.
const FRUITLESS_ROUNDS: u32 = 2;

/// The most departures from the default schedule that are searched.
const FARTHEST: u32 = 6;

/// How the progress names schedules with at most so many departures from the default.
fn departures(most: u32) -> String {
    match most {
        1 => "schedules with one departure from the default".to_owned(),
        _ => format!("schedules with {most} departures from the default"),
    }
}

/// The smallest schedule so far that has the failure.
pub(super) struct Best<'a, P> {
    pub(super) program: &'a P,
    pub(super) trace: Trace,
    pub(super) size: Size,
    /// The signature of the failure.
    pub(super) wanted: &'a str,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) watch: &'a mut dyn ProgressObserver,
}

impl<P: RunSchedules> Best<'_, P> {
    /// Takes an execution as the new best if it is smaller and has the same failure.
    pub(super) fn offer(&mut self, now: Trace) -> bool {
        let size = Size::of(&now.execution);
        let fails = now.failure.as_ref().is_some_and(|failure| failure.signature == self.wanted);
        let smaller = fails && size < self.size;
        if smaller {
            (self.trace, self.size) = (now, size);
        }
        smaller
    }

    /// Runs some choices and offers the result.
    fn attempt(&mut self, choices: Vec<Choice>, trying: &str) -> Result<bool, Refused> {
        self.watch.progress(self.size, trying);
        match self.program.run(choices, self.interrupt)? {
            RunOutcome::Ran(now) => Ok(self.offer(*now)),
            RunOutcome::Impossible { .. } | RunOutcome::Died(_) | RunOutcome::Interrupted => {
                Ok(false)
            }
        }
    }

    /// Searches the schedules with fewer preemptions and at most `most` departures from the default
    /// schedule, without preemptions at private sites. Returns the number of runs left, or 0 if
    /// they did not suffice.
    pub(super) fn try_departures(&mut self, most: u32, budget: u64) -> Result<u64, Refused> {
        let Some(preemptions) = (self.size.preemptions as u32).checked_sub(1) else {
            return Ok(0);
        };
        self.watch.progress(self.size, &departures(most));
        let among = ScheduleSet::Departures {
            most,
            preemptions,
            quiet: private_sites(&self.trace.execution),
        };
        let looked = self.program.smallest(&among, budget, self.wanted, self.interrupt)?;
        if let Some(found) = looked.found {
            self.offer(found);
        }
        Ok(if looked.complete { budget.saturating_sub(looked.executions) } else { 0 })
    }

    /// Repeats the search with more and more departures, until the budget is used up. Stops at
    /// `least` preemptions.
    pub(super) fn try_more_departures(
        &mut self,
        least: u32,
        mut budget: u64,
    ) -> Result<(), Refused> {
        for most in 1..=FARTHEST {
            if budget == 0 || self.interrupt.load(Relaxed) || self.size.preemptions as u32 <= least
            {
                break;
            }
            let before = self.size;
            budget = self.try_departures(most, budget)?;
            if self.size < before {
                self.remove_single_switches()?;
            }
        }
        Ok(())
    }

    /// Local search: mutates the schedule and continues from mutations that fail and are not
    /// larger.
    pub(super) fn search_nearby(&mut self, budget: u64) -> Result<(), Refused> {
        let (mut seed, mut fruitless) = (0, 0);
        while fruitless < FRUITLESS_ROUNDS && !self.interrupt.load(Relaxed) {
            seed += 1;
            self.watch.progress(self.size, "similar schedules");
            let choices = self.trace.execution.choices().collect();
            let among = ScheduleSet::Mutations { choices, seed };
            let looked = self.program.smallest(&among, budget, self.wanted, self.interrupt)?;
            if looked.found.is_some_and(|found| self.offer(found)) {
                fruitless = 0;
                self.remove_single_switches()?;
            } else {
                fruitless += 1;
            }
        }
        Ok(())
    }

    /// Reduces a schedule of many stretches in few runs: first cuts off the end, then removes the
    /// switches among half of the stretches, a quarter, and so on.
    pub(super) fn remove_many_switches(&mut self) -> Result<(), Refused> {
        let mut left = MOST_TRIES;
        while Coarse::of(&self.trace.execution).len() > MANY {
            let before = self.size;
            self.cut_off(&mut left)?;
            self.join(&mut left)?;
            if self.size == before {
                break;
            }
        }
        Ok(())
    }

    /// Uses one of the remaining tries, if there is one.
    fn try_coarse(&mut self, choices: Vec<Choice>, left: &mut usize) -> Result<bool, Refused> {
        if *left == 0 || self.interrupt.load(Relaxed) {
            return Ok(false);
        }
        *left -= 1;
        self.attempt(choices, "many fewer switches at a time")
    }

    /// Binary search for a short prefix that still fails. Failing is not monotone in the length,
    /// but usually it is, and any failing prefix is valid.
    fn cut_off(&mut self, left: &mut usize) -> Result<(), Refused> {
        let coarse = Coarse::of(&self.trace.execution);
        let (mut low, mut high) = (0, coarse.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.try_coarse(coarse.beginning(middle), left)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(())
    }

    /// Removes the switches among many stretches, then among fewer, down to three.
    fn join(&mut self, left: &mut usize) -> Result<(), Refused> {
        let mut chunk = Coarse::of(&self.trace.execution).len();
        while chunk >= 3 {
            let mut at = 0;
            loop {
                let coarse = Coarse::of(&self.trace.execution);
                if at >= coarse.len() {
                    break;
                }
                let mut taken = false;
                for by_last in [false, true] {
                    if let Some(choices) = coarse.joined(at, at + chunk, by_last) {
                        taken = self.try_coarse(choices, left)?;
                    }
                    if taken {
                        break;
                    }
                }
                if !taken {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        Ok(())
    }

    /// Removes single switches until none can be removed.
    pub(super) fn remove_single_switches(&mut self) -> Result<(), Refused> {
        'again: loop {
            for candidate in candidates(&self.trace.execution) {
                if self.interrupt.load(Relaxed) {
                    return Ok(());
                }
                if self.attempt(candidate, "fewer switches")? {
                    continue 'again;
                }
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_progress_names_the_schedules_that_are_tried() {
        assert_eq!(super::departures(1), "schedules with one departure from the default");
        assert_eq!(super::departures(3), "schedules with 3 departures from the default");
    }
}
