//! A random walk in which the running task has a higher probability to continue than any other task
//! has to run.
//!
//! It lies between the uniform walk and the non-preemptive schedule: most failures need few
//! switches at the right points, and a walk that switches less often reaches more of them. Weight 2
//! was the best of 0.25 to 15 on a program that needs seven preemptions.

use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor = Descriptor::new(
    "sticky",
    "a random walk that prefers the running task",
)
.with_parameter('W', "the weight of the running task", 2);

/// A random walk with a weight for the running task; every other enabled task has weight 1.
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
        // Numbers below n select a task; the numbers beyond also select the running task.
        let drawn = self.rng.below(n + self.weight - 1);
        Decision::Task(view.enabled.get(drawn as usize).copied().unwrap_or(running))
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {}

    fn active_part(&self) -> &'static str {
        "sticky"
    }

    fn may_be_longer(&self) -> bool {
        true
    }
}

impl PrefixReplay for Sticky {}

impl Shareable for Sticky {
    const SHARING: Sharing = Sharing::ByNumber;
    const LEARNS: bool = false;
}

impl Reduction for Sticky {}
