//! A uniform random walk: at each choice every enabled task has the same probability.
//!
//! The baseline of Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs" (2010), which introduces PCT. Unlike PCT it is fair, so that a program with spin
//! loops makes progress.

use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor = Descriptor::new("random", "a uniform random walk");

/// Each execution has its own random stream, so that it depends only on the seed and its number.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Random {
    seed: u64,
    rng: Rng,
}

impl Random {
    /// A search with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Random {
        Random { seed, rng: Rng::new(seed, 0) }
    }
}

impl Strategy for Random {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let n = view.enabled.len() as u32;
        let taken = if n == 1 { 0 } else { self.rng.below(n) };
        Decision::Task(view.enabled[taken as usize])
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {}

    fn may_be_longer(&self) -> bool {
        true
    }
}

impl PrefixReplay for Random {}

impl Shareable for Random {
    const SHARING: Sharing = Sharing::ByNumber;
    const LEARNS: bool = false;
}

impl Reduction for Random {}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{Operation, TaskId, enabled};

    fn walk(random: &mut Random, number: u64) -> Vec<Decision> {
        let tasks = [TaskId(0), TaskId(2), TaskId(3)];
        assert!(random.begin(number));
        let mut view = View {
            step: 0,
            running: None,
            yielded: false,
            site: 0,
            enabled: &tasks,
            operations: &[Operation::Lock; 3],
            digest: enabled::digest(tasks),
            expiries: &[],
            gave_way: false,
            tasks: &[],
        };
        (0..30)
            .map(|step| {
                view.step = step;
                random.choose(&view)
            })
            .collect()
    }

    #[test]
    fn an_execution_depends_on_seed_and_number_alone() {
        let mut random = Random::new(7);
        let fifth = walk(&mut random, 5);
        walk(&mut random, 6);
        assert_eq!(walk(&mut random, 5), fifth);
        assert_eq!(walk(&mut Random::new(7), 5), fifth);
        assert_ne!(walk(&mut random, 6), fifth);
        assert_ne!(walk(&mut Random::new(8), 5), fifth);
    }

    #[test]
    fn every_enabled_task_and_every_outcome_is_chosen() {
        let mut random = Random::new(0);
        let mut seen = [0; 4];
        for number in 1..=100 {
            for decision in walk(&mut random, number) {
                let Decision::Task(task) = decision else { panic!("it never gives up") };
                seen[task.index()] += 1;
            }
        }
        assert_eq!(seen[1], 0);
        assert!(
            [0, 2, 3].iter().all(|&task: &usize| (900..1_100).contains(&seen[task])),
            "{seen:?}"
        );
        let mut ways = [0; 3];
        (0..300).for_each(|_| ways[random.choose_data(3) as usize] += 1);
        assert!(ways.iter().all(|&n| n > 70), "{ways:?}");
    }
}
