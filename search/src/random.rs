//! A uniform random walk: at each choice every enabled task is as likely as any other.
//!
//! The baseline of Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of
//! Finding Bugs" (2010), which their PCT improves on; unlike PCT it is fair, so a program that spins
//! with yields gets on.

use crate::rng::Rng;
use crate::{Decision, Outcome, Strategy, View};

/// Each execution has a stream of its own, so that its number and the seed are all it depends on.
#[derive(Debug, Clone)]
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
}
