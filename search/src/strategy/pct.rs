//! Random priorities with a few random changes: a failure that needs `depth` ordering constraints
//! is found with probability of at least 1/(n k^(depth-1)) for n tasks and k steps.
//!
//! Burckhardt, Kothari, Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic
//! Guarantees of Finding Bugs" (2010). Differences: k is the length of the longest execution so
//! far, because the user need not know it (the guarantee holds from the first execution of maximal
//! length on); and a task that yields gets the lowest priority, because otherwise a spin loop would
//! never end.

use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::strategy::drawn_positions::DrawnPositions;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor = Descriptor::new(
    "pct",
    "random priorities, with a few priority changes",
)
.with_parameter('D', "the number of ordering constraints (the bug depth)", 3);

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pct {
    seed: u64,
    depth: u32,
    rng: Rng,
    /// The steps before which the task that would run next gets a lower priority.
    changes: DrawnPositions,
    /// By task; higher runs first. Lowered priorities are negative, each lower than the one before.
    priorities: Vec<i64>,
    lowest: i64,
}

impl Pct {
    /// A search with this seed for failures of this depth, which is 1 or more.
    #[must_use]
    pub fn new(seed: u64, depth: u32) -> Pct {
        Pct {
            seed,
            depth: depth.max(1),
            rng: Rng::new(seed, 0),
            changes: DrawnPositions::default(),
            priorities: Vec::new(),
            lowest: 0,
        }
    }

    fn priority(&mut self, task: TaskId) -> i64 {
        while self.priorities.len() <= task.index() {
            let drawn = (self.rng.next() >> 1) as i64;
            self.priorities.push(drawn);
        }
        self.priorities[task.index()]
    }

    fn fall(&mut self, task: TaskId) {
        self.priority(task);
        self.lowest -= 1;
        self.priorities[task.index()] = self.lowest;
    }

    fn highest(&mut self, view: &View<'_>) -> TaskId {
        let first = view.enabled[0];
        let mut best = (self.priority(first), first);
        for &task in &view.enabled[1..] {
            let priority = self.priority(task);
            if priority > best.0 {
                best = (priority, task);
            }
        }
        best.1
    }
}

impl Strategy for Pct {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        self.priorities.clear();
        self.lowest = 0;
        self.changes.begin(&mut self.rng, self.depth - 1);
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if let (Some(running), true) = (view.running, view.yielded) {
            self.fall(running);
        }
        let mut task = self.highest(view);
        while self.changes.pass() {
            self.fall(task);
            task = self.highest(view);
        }
        self.changes.advance();
        Decision::Task(task)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {
        self.changes.end();
    }

    fn active_part(&self) -> &'static str {
        "pct"
    }
}

impl PrefixReplay for Pct {}

impl Shareable for Pct {
    const SHARING: Sharing = Sharing::ByNumber;

    fn merge(&mut self, other: &Pct) {
        self.changes.merge(&other.changes);
    }
}

impl Reduction for Pct {}
