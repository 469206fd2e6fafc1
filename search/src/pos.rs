//! Partial order sampling: a random priority for each *operation*, drawn anew whenever something
//! happened that it depends on.
//!
//! Yuan, Yang and Gu, "Partial Order Aware Concurrency Sampling" (2018). A uniform walk favours some
//! classes of executions over others by how many orders of independent steps they have; here those do
//! not count. We depart in that a task that yielded draws the lower of two priorities.

use crate::events::Event;
use crate::rng::Rng;
use crate::{Decision, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// The search. See the module's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pos {
    seed: u64,
    rng: Rng,
    /// By task: the priority of what it would do next; 0: not drawn yet.
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

    fn detailed(&self) -> bool {
        true
    }

    fn part(&self) -> &'static str {
        "pos"
    }
}
