//! Estimates the number of schedules by Knuth's method ("Estimating the efficiency of backtrack
//! programs", 1975): the product of the numbers of choices along a random walk is an unbiased
//! estimate of the size of the tree. A single walk can be far off, so the spread is reported too.

use super::program::Runner;
use crate::control::command::{Outcome, first_of};
use crate::{Error, SearchOptions, StrategyChoice};
use std::sync::atomic::AtomicBool;
use traces::{Choice, Execution};

/// An estimated number of schedules. All values are decimal logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean of the walks' estimates.
    pub mean: f64,
    /// The smallest estimate.
    pub least: f64,
    /// The largest estimate.
    pub most: f64,
    /// The number of walks.
    pub walks: u64,
}

impl Runner {
    /// Estimates the number of schedules with this prefix by random walks; none if no walk reached
    /// an end.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn estimate(
        &self,
        beginning: &[Choice],
        walks: u64,
        interrupt: &AtomicBool,
    ) -> Result<Option<Estimate>, Error> {
        estimate(self, beginning, walks, interrupt)
    }
}

fn estimate(
    runner: &Runner,
    beginning: &[Choice],
    walks: u64,
    interrupt: &AtomicBool,
) -> Result<Option<Estimate>, Error> {
    let behind = beginning.iter().filter(|choice| matches!(choice, Choice::Task(_))).count();
    let mut said = Vec::new();
    for seed in 1..=walks {
        let options = SearchOptions {
            strategy: StrategyChoice::RANDOM,
            prefix: beginning.to_vec(),
            seed,
            ..runner.options.clone()
        };
        match first_of(&runner.target, &options, interrupt)? {
            Outcome::Recorded(trace) => said.push(ways(&trace.execution, behind)),
            Outcome::Interrupted => break,
            Outcome::Diverged { .. } | Outcome::Died { .. } => {}
        }
    }
    Ok(of(&said))
}

/// The decimal logarithm of the product of the numbers of choices from step `behind` on.
fn ways(execution: &Execution, behind: usize) -> f64 {
    let mut power = 0.0;
    execution.for_each_step(|step, _, enabled| {
        if step >= behind {
            power += (enabled.len().max(1) as f64).log10();
        }
    });
    let data = execution.data.iter().filter(|choice| choice.step >= behind as u64);
    power + data.map(|choice| f64::from(choice.of.max(1)).log10()).sum::<f64>()
}

fn of(said: &[f64]) -> Option<Estimate> {
    let most = said.iter().copied().reduce(f64::max)?;
    let least = said.iter().copied().reduce(f64::min)?;
    // The mean of the numbers, not of their logarithms, computed without overflow.
    let sum: f64 = said.iter().map(|power| 10_f64.powf(power - most)).sum();
    let mean = most + (sum / said.len() as f64).log10();
    Some(Estimate { mean, least, most, walks: said.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_of_the_numbers_and_does_not_overflow() {
        assert_eq!(of(&[]), None);
        let even = of(&[2.0, 2.0]).expect("two walks");
        assert!((even.mean - 2.0).abs() < 1e-9);
        let spread = of(&[1.0, 3.0]).expect("two walks");
        assert!((spread.mean - 505_f64.log10()).abs() < 1e-9, "{spread:?}");
        assert_eq!((spread.least, spread.most), (1.0, 3.0));
        assert!((of(&[5_000.0, 1.0]).expect("two walks").mean - 4_999.7).abs() < 0.01);
    }
}
