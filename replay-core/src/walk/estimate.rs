//! How many schedules there are, as Knuth estimates the size of a tree ("Estimating the efficiency of
//! backtrack programs", 1975): a random walk that had so many ways at each step stands for the product
//! of them. Right on the average, and far off in any single walk: so the spread is told, too.

use super::Walk;
use crate::command::{Once, first_of};
use crate::{Error, SearchOptions, StrategyName};
use std::sync::atomic::AtomicBool;
use traces::{Choice, Execution};

/// A number of schedules, as powers of ten.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean of what the walks said.
    pub mean: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// How many walks there were.
    pub walks: u64,
}

pub(super) fn estimate(
    walk: &Walk,
    beginning: &[Choice],
    walks: u64,
    interrupt: &AtomicBool,
) -> Result<Option<Estimate>, Error> {
    let behind = beginning.iter().filter(|choice| matches!(choice, Choice::Task(_))).count();
    let mut said = Vec::new();
    for seed in 1..=walks {
        let options = SearchOptions {
            strategy: StrategyName::Random,
            prefix: beginning.to_vec(),
            seed,
            ..walk.options.clone()
        };
        match first_of(&walk.target, &options, interrupt)? {
            Once::Recorded(trace) => said.push(ways(&trace.execution, behind)),
            Once::Interrupted => break,
            Once::Diverged { .. } | Once::Died { .. } => {}
        }
    }
    Ok(of(&said))
}

/// The product of the ways at each step from `behind` on, as a power of ten.
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
    // The mean of the numbers, not of their powers, without numbers that no machine holds.
    let sum: f64 = said.iter().map(|power| 10_f64.powf(power - most)).sum();
    let mean = most + (sum / said.len() as f64).log10();
    Some(Estimate { mean, least, most, walks: said.len() as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_that_of_the_numbers_and_no_number_is_too_large() {
        assert_eq!(of(&[]), None);
        let even = of(&[2.0, 2.0]).expect("two walks");
        assert!((even.mean - 2.0).abs() < 1e-9);
        let spread = of(&[1.0, 3.0]).expect("two walks");
        assert!((spread.mean - 505_f64.log10()).abs() < 1e-9, "{spread:?}");
        assert_eq!((spread.least, spread.most), (1.0, 3.0));
        assert!((of(&[5_000.0, 1.0]).expect("two walks").mean - 4_999.7).abs() < 0.01);
    }
}
