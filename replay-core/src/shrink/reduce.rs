//! Taking away from a schedule what its failure does not need.

use super::candidates::candidates;
use super::coarse::Coarse;
use super::quiet::quiet;
use super::{Refused, Size, Watch};
use crate::walk::{Among, Schedules, Walked};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Trace};

/// More stretches than this are first taken away many at a time.
const MANY: usize = 40;
/// So many runs may be spent on that.
const MOST_TRIES: usize = 300;

/// So often changing the schedule may come to nothing.
const BARREN: u32 = 2;

/// More often than this a schedule that is looked for does not leave the default.
const FARTHEST: u32 = 6;

/// The smallest schedule so far that fails as is wanted.
pub(super) struct Best<'a, P> {
    pub(super) program: &'a P,
    pub(super) trace: Trace,
    pub(super) size: Size,
    /// The signature of the failure.
    pub(super) wanted: &'a str,
    pub(super) interrupt: &'a AtomicBool,
    pub(super) watch: &'a mut dyn Watch,
}

impl<P: Schedules> Best<'_, P> {
    /// Takes an execution in its place if it is smaller and fails in the same way.
    pub(super) fn offer(&mut self, now: Trace) -> bool {
        let size = Size::of(&now.execution);
        let fails = now.failure.as_ref().is_some_and(|failure| failure.signature == self.wanted);
        let smaller = fails && size < self.size;
        if smaller {
            (self.trace, self.size) = (now, size);
        }
        smaller
    }

    /// Runs some choices and offers what comes of them.
    fn attempt(&mut self, choices: Vec<Choice>, trying: &str) -> Result<bool, Refused> {
        self.watch.progress(self.size, trying);
        match self.program.run(choices, self.interrupt)? {
            Walked::Ran(now) => Ok(self.offer(*now)),
            Walked::Impossible { .. } | Walked::Died(_) | Walked::Interrupted => Ok(false),
        }
    }

    /// Looks among the schedules with fewer preemptions that are close to the default one, with at most
    /// so many decisions that are others, and that interrupt nobody who is about to touch what no other
    /// task does. Says how many runs are left then, none where those were not enough.
    pub(super) fn look_close(&mut self, most: u32, budget: u64) -> Result<u64, Refused> {
        let Some(preemptions) = (self.size.preemptions as u32).checked_sub(1) else {
            return Ok(0);
        };
        let trying = match most {
            1 => "schedules that leave the default once".into(),
            _ => format!("schedules that leave the default {most} times"),
        };
        self.watch.progress(self.size, &trying);
        let among = Among::Departures { most, preemptions, quiet: quiet(&self.trace.execution) };
        let looked = self.program.smallest(&among, budget, self.wanted, self.interrupt)?;
        if let Some(found) = looked.found {
            self.offer(found);
        }
        Ok(if looked.complete { budget.saturating_sub(looked.executions) } else { 0 })
    }

    /// The same further and further from the default, until there are too many. Fewer than so many
    /// preemptions need not be looked for.
    pub(super) fn look_closely(&mut self, least: u32, mut budget: u64) -> Result<(), Refused> {
        for most in 1..=FARTHEST {
            if budget == 0 || self.interrupt.load(Relaxed) || self.size.preemptions as u32 <= least
            {
                break;
            }
            let before = self.size;
            budget = self.look_close(most, budget)?;
            if self.size < before {
                self.shed_one_by_one()?;
            }
        }
        Ok(())
    }

    /// Changes the schedule here and there, so often, and goes on from what fails and is no larger.
    pub(super) fn wander(&mut self, budget: u64) -> Result<(), Refused> {
        let (mut seed, mut barren) = (0, 0);
        while barren < BARREN && !self.interrupt.load(Relaxed) {
            seed += 1;
            self.watch.progress(self.size, "schedules that are like it");
            let choices = self.trace.execution.choices().collect();
            let among = Among::Near { choices, seed };
            let looked = self.program.smallest(&among, budget, self.wanted, self.interrupt)?;
            if looked.found.is_some_and(|found| self.offer(found)) {
                barren = 0;
                self.shed_one_by_one()?;
            } else {
                barren += 1;
            }
        }
        Ok(())
    }

    /// Where there are many stretches, takes away as much as possible in few runs: first everything
    /// behind a beginning, then the switches among half of what is left, a quarter, and so on.
    pub(super) fn shed_many(&mut self) -> Result<(), Refused> {
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

    /// One of the tries that are left, if any is.
    fn coarsely(&mut self, choices: Vec<Choice>, left: &mut usize) -> Result<bool, Refused> {
        if *left == 0 || self.interrupt.load(Relaxed) {
            return Ok(false);
        }
        *left -= 1;
        self.attempt(choices, "fewer switches, many at a time")
    }

    /// Looks for a short beginning that is enough. Which ones fail is not monotone, but most often it
    /// is, and any will do.
    fn cut_off(&mut self, left: &mut usize) -> Result<(), Refused> {
        let coarse = Coarse::of(&self.trace.execution);
        let (mut low, mut high) = (0, coarse.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.coarsely(coarse.beginning(middle), left)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(())
    }

    /// Takes away the switches among many stretches, then among fewer, down to three.
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
                        taken = self.coarsely(choices, left)?;
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

    /// Takes away one switch after the other, until none can go.
    pub(super) fn shed_one_by_one(&mut self) -> Result<(), Refused> {
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
