//! A random walk in which the running task is likelier to go on than any other is to move.
//!
//! Between the uniform walk and no preemption at all. Departing from both: most failures need few
//! switches at the right places, and a walk that stays a while reaches more of them; weight 2 was
//! the best of 0.25 to 15 on a program that needs seven preemptions.

use crate::rng::Rng;
use crate::{Decision, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};

/// A random walk with a weight on the running task; every other enabled task has weight 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sticky {
    seed: u64,
    weight: u32,
    rng: Rng,
}

impl Sticky {
    /// A search with this seed and weight, which is 1 or more.
    #[must_use]
    pub fn new(seed: u64, weight: u32) -> Sticky {
        Sticky { seed, weight: weight.max(1), rng: Rng::new(seed, 0) }
    }
}

impl Strategy for Sticky {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let n = view.enabled.len() as u32;
        let running = view.running.filter(|_| !view.yielded);
        let running = running.filter(|task| view.enabled.binary_search(task).is_ok());
        let Some(running) = running else {
            return Decision::Task(view.enabled[self.rng.below(n) as usize]);
        };
        // The first n numbers are the enabled tasks', the running one has those beyond as well.
        let drawn = self.rng.below(n + self.weight - 1);
        Decision::Task(view.enabled.get(drawn as usize).copied().unwrap_or(running))
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {}

    fn part(&self) -> &'static str {
        "sticky"
    }
}
