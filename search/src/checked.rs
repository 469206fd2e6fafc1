//! What a search says to have covered is not believed before it was tried.
//!
//! Partial order reduction and caches of states rest on knowing what depends on what. Two accesses to
//! memory that are no scheduling points are not known, and a search that trusts its own picture would
//! call a program clean that is not. So when such a search says that it is done, random walks
//! follow. Each must end in a class of executions that the search has seen; one that does not shows
//! that something was left out, and then nothing is claimed.

use crate::events::{Map, Order};
use crate::pct::Pct;
use crate::random::Random;
use crate::{Decision, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};

/// How many walks at least and at most; in between, as many as the search had executions.
const LEAST: u64 = 20;
const MOST: u64 = 500;
/// How many classes are remembered; a search of more is not checked.
const REMEMBERED: usize = 1_000_000;

/// A random walk that knows in which class it ended: every third a uniform one, the others by random
/// priorities, which put all of one task before all of another as often as not. (A uniform walk hardly
/// ever does: what a task meets after another is done with everything is not seen by those alone.)
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Walk {
    uniform: Random,
    ordered: Pct,
    is_uniform: bool,
    #[serde(skip)]
    order: Order,
    cut: bool,
}

impl Walk {
    /// Walks with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Walk {
        Walk {
            uniform: Random::new(seed),
            ordered: Pct::new(seed, 3),
            is_uniform: true,
            order: Order::default(),
            cut: false,
        }
    }
}

impl Default for Walk {
    fn default() -> Walk {
        Walk::new(0x6865_6464_6c65)
    }
}

impl Strategy for Walk {
    fn begin(&mut self, number: u64) -> bool {
        self.order.clear();
        self.is_uniform = number % 3 == 1;
        if self.is_uniform { self.uniform.begin(number) } else { self.ordered.begin(number) }
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.order.see(view.tasks, view.running);
        let decision =
            if self.is_uniform { self.uniform.choose(view) } else { self.ordered.choose(view) };
        self.order.follow(view, &decision);
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        let taken = if self.is_uniform {
            self.uniform.choose_data(of)
        } else {
            self.ordered.choose_data(of)
        };
        self.order.note(u64::from(taken));
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        if !self.is_uniform {
            self.ordered.end(outcome);
        }
        self.cut = !matches!(outcome, Outcome::Passed | Outcome::Failed);
    }

    fn detailed(&self) -> bool {
        true
    }

    fn part(&self) -> &'static str {
        "check"
    }

    fn class(&self) -> Option<u64> {
        (!self.cut).then(|| self.order.hash())
    }
}

/// The classes in which a search's executions ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Classes {
    seen: Map<u64, ()>,
    executions: u64,
}

impl Classes {
    /// So many executions ended in these.
    pub fn add(&mut self, executions: u64, classes: &[u64]) {
        self.executions += executions;
        for &class in classes {
            if self.seen.len() < REMEMBERED {
                self.seen.insert(class, ());
            }
        }
    }

    /// How many walks are to check that this is all; none where not everything was remembered.
    #[must_use]
    pub fn walks(&self) -> u64 {
        if self.seen.len() < REMEMBERED { self.executions.clamp(LEAST, MOST) } else { 0 }
    }

    /// Whether each of these was seen.
    #[must_use]
    pub fn contain(&self, classes: &[u64]) -> bool {
        classes.iter().all(|class| self.seen.contains_key(class))
    }
}
