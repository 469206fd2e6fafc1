//! Partial order sampling: each *operation* has a random priority, which is drawn again whenever an
//! operation that it depends on was executed.
//!
//! Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling" (2018). A uniform walk favours
//! equivalence classes in which independent steps have many orders; partial order sampling does
//! not. One difference: a task that yielded gets the lower of two drawn priorities.

use crate::reduction::events::Event;
use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("pos", "random priorities, drawn again at conflicts");

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pos {
    seed: u64,
    rng: Rng,
    /// By task: the priority of its pending operation; 0 if it was not drawn yet.
    priorities: Vec<u64>,
}

impl Pos {
    /// A search with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Pos {
        Pos { seed, rng: Rng::new(seed, 0), priorities: Vec::new() }
    }

    fn priority(&mut self, task: TaskId) -> u64 {
        if self.priorities.len() <= task.index() {
            self.priorities.resize(task.index() + 1, 0);
        }
        if self.priorities[task.index()] == 0 {
            self.priorities[task.index()] = self.rng.next() | 1;
        }
        self.priorities[task.index()]
    }
}

impl Strategy for Pos {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        self.priorities.clear();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if let (Some(running), true) = (view.running, view.yielded) {
            let again = self.rng.next() | 1;
            let priority = self.priority(running).min(again);
            self.priorities[running.index()] = priority;
        }
        let mut best = (0, view.enabled[0]);
        for &task in view.enabled {
            let priority = self.priority(task);
            if priority > best.0 {
                best = (priority, task);
            }
        }
        let chosen = best.1;
        if let Some(next) = view.next(chosen) {
            let event = Event::new(next, 0);
            for other in view.tasks {
                let races = other.task != chosen
                    && other.task.index() < self.priorities.len()
                    && Event::new(other, 0).depends(&event);
                if races {
                    self.priorities[other.task.index()] = 0;
                }
            }
        }
        self.priorities[chosen.index()] = 0;
        Decision::Task(chosen)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {}

    fn active_part(&self) -> &'static str {
        "pos"
    }

    fn may_be_longer(&self) -> bool {
        true
    }
}

impl PrefixReplay for Pos {}

impl Shareable for Pos {
    const SHARING: Sharing = Sharing::ByNumber;
    const LEARNS: bool = false;
}

impl Reduction for Pos {
    fn needs_pending(&self) -> bool {
        true
    }
}
