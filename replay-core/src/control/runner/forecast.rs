//! What may follow each step of a failing execution: which share of the schedules fails, and where
//! the point of no return is.

use super::no_return::{NoReturn, Prospect};
use super::program::Runner;
use crate::Error;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Execution, Trace};

/// The most steps whose prospects are computed.
const MAX_STEPS: usize = 400;

/// A result of [`Runner::forecast`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    /// How many of the schedules fail that begin with this many steps.
    After(usize, Prospect),
    /// The point of no return.
    NoReturn(NoReturn),
}

/// The results so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forecast {
    /// What may follow, by the number of steps executed.
    prospects: BTreeMap<usize, Prospect>,
    /// The point of no return.
    pub no_return: Option<NoReturn>,
}

impl Forecast {
    /// Adds a result. A count replaces a sample; a sample replaces no count.
    pub fn add(&mut self, outlook: Outlook) {
        match outlook {
            Outlook::After(after, prospect) => {
                let counted = self.prospects.get(&after).is_some_and(|known| known.complete);
                if prospect.complete || !counted {
                    self.prospects.insert(after, prospect);
                }
            }
            Outlook::NoReturn(found) => self.no_return = Some(found),
        }
    }

    /// What may follow after one of these numbers of steps of the schedule, the latest that is
    /// known.
    #[must_use]
    pub fn latest(&self, steps: RangeInclusive<usize>) -> Option<Prospect> {
        match self.after(*steps.end()) {
            Some(prospect) => Some(prospect),
            None => self.prospects.range(steps).next_back().map(|(_, prospect)| *prospect),
        }
    }

    /// What may follow after this many steps of the schedule; none if it is not known.
    #[must_use]
    pub fn after(&self, steps: usize) -> Option<Prospect> {
        let lost = self.no_return.is_some_and(|found| steps >= found.lost_after);
        if lost { Some(Prospect::LOST) } else { self.prospects.get(&steps).copied() }
    }
}

impl Runner {
    /// Finds the point of no return of a failing execution, and then what may follow each step
    /// before it, the last one first. Ends early if `interrupt` is set.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn forecast(
        &self,
        failing: &Trace,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Outlook),
    ) -> Result<(), Error> {
        let mut examined = |after, prospect| report(Outlook::After(after, prospect));
        let Some(found) = self.no_return(failing, interrupt, &mut examined)? else {
            return Ok(());
        };
        report(Outlook::NoReturn(found));
        let forced = forced_steps(&failing.execution);
        let mut last: Option<Prospect> = None;
        for after in (0..found.lost_after).rev().take(MAX_STEPS) {
            // A step without a choice leaves what may follow as it was.
            let prospect = match last.filter(|_| forced[after]) {
                Some(prospect) => prospect,
                None => self.prospect_after(&failing.execution, after, interrupt)?,
            };
            if interrupt.load(Relaxed) {
                break;
            }
            report(Outlook::After(after, prospect));
            last = Some(prospect);
        }
        Ok(())
    }
}

/// For each step, whether nothing else could have happened there.
fn forced_steps(execution: &Execution) -> Vec<bool> {
    let mut forced = Vec::with_capacity(execution.steps.len());
    execution.for_each_step(|step, _, enabled| {
        let data = execution.data.binary_search_by_key(&(step as u64), |choice| choice.step);
        forced.push(enabled.len() <= 1 && data.is_err());
    });
    forced
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_replace_samples_and_nothing_passes_after_the_point_of_no_return() {
        let mut forecast = Forecast::default();
        let sample = Prospect { executions: 200, failing: 150, complete: false };
        let counted = Prospect { executions: 10, failing: 4, complete: true };
        forecast.add(Outlook::After(3, sample));
        assert_eq!(forecast.after(3), Some(sample));
        forecast.add(Outlook::After(3, counted));
        forecast.add(Outlook::After(3, sample));
        assert_eq!((forecast.after(3), forecast.after(4)), (Some(counted), None));
        assert_eq!((forecast.latest(1..=4), forecast.latest(4..=5)), (Some(counted), None));
        let found = NoReturn { lost_after: 5, passes_after: Some(4), before: None };
        forecast.add(Outlook::NoReturn(found));
        assert_eq!((forecast.after(4), forecast.after(9)), (None, Some(Prospect::LOST)));
    }
}
