//! Random partial order sampling: an execution is a sequence of random *rounds*, each a set of
//! operations that do not depend on each other.
//!
//! Sen, "Effective Random Testing of Concurrent Programs" (2007). A uniform walk draws a task at each
//! step, so independent operations of many tasks dilute the order of the few that conflict. Here the
//! operations of a round run one after another without a further draw, and the next round is drawn
//! only among operations that follow an operation of this round: in program order, or because the
//! two depend on each other. Differences: an operation of a round that is no longer enabled when its
//! turn comes is left out; a task that yielded does not follow itself, so that others make progress;
//! the first operation of a new task follows its creation.

use crate::reduction::events::Event;
use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::{Decision, Outcome, PrefixReplay, Reduction, Shareable, Sharing, Strategy, View};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("rapos", "random sets of independent operations, one after another");

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rapos {
    seed: u64,
    rng: Rng,
    /// The tasks of the current round whose operations have not run, the next one last.
    waiting: Vec<TaskId>,
    /// The tasks whose operations of the current round have run, in this order.
    finished: Vec<TaskId>,
    /// By task: whether its pending operation depends on one of the current round. A task beyond the
    /// end was created in the round.
    follows: Vec<bool>,
}

impl Rapos {
    /// A search with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Rapos {
        Rapos {
            seed,
            rng: Rng::new(seed, 0),
            waiting: Vec::new(),
            finished: Vec::new(),
            follows: Vec::new(),
        }
    }

    /// The tasks from which a round is drawn. If none of the enabled tasks follows the last round, any
    /// one of them begins the next.
    fn candidates(&mut self, view: &View<'_>) -> Vec<TaskId> {
        if view.yielded {
            self.finished.retain(|&task| Some(task) != view.running);
        }
        let follows = |task: &TaskId| {
            self.finished.contains(task) || self.follows.get(task.index()).copied().unwrap_or(true)
        };
        let following: Vec<TaskId> = view.enabled.iter().copied().filter(follows).collect();
        if !following.is_empty() {
            return following;
        }
        vec![view.enabled[self.rng.below(view.enabled.len() as u32) as usize]]
    }

    /// Draws the next round: in random order, each candidate that is independent of those before it,
    /// with probability one half. The first one always takes part.
    fn draw_round(&mut self, view: &View<'_>) {
        let mut candidates = self.candidates(view);
        self.finished.clear();
        self.follows.clear();
        self.follows.resize(view.tasks.last().map_or(0, |last| last.task.index() + 1), false);
        while !candidates.is_empty() {
            let drawn = self.rng.below(candidates.len() as u32) as usize;
            let candidate = candidates.swap_remove(drawn);
            let takes_part = self.waiting.is_empty()
                || self.rng.below(2) == 0
                    && self.waiting.iter().all(|&other| !depend(view, other, candidate));
            if takes_part {
                self.waiting.push(candidate);
            }
        }
    }
}

/// Whether the pending operations of two tasks depend on each other; true if either is unknown.
fn depend(view: &View<'_>, one: TaskId, other: TaskId) -> bool {
    match (view.next(one), view.next(other)) {
        (Some(one), Some(other)) => Event::new(one, 0).depends(&Event::new(other, 0)),
        _ => true,
    }
}

impl Strategy for Rapos {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        self.waiting.clear();
        self.finished.clear();
        self.follows.clear();
        true
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.waiting.retain(|task| view.enabled.binary_search(task).is_ok());
        if self.waiting.is_empty() {
            self.draw_round(view);
        }
        // The round was drawn among enabled tasks, which are never none.
        let chosen = self.waiting.pop().unwrap_or(view.enabled[0]);
        self.finished.push(chosen);
        for other in view.tasks.iter().map(|pending| pending.task).filter(|&task| task != chosen) {
            if let Some(follows) = self.follows.get_mut(other.index()) {
                *follows |= depend(view, chosen, other);
            }
        }
        Decision::Task(chosen)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, _: Outcome) {}

    fn active_part(&self) -> &'static str {
        "rapos"
    }

    fn may_be_longer(&self) -> bool {
        true
    }
}

impl PrefixReplay for Rapos {}

impl Shareable for Rapos {
    const SHARING: Sharing = Sharing::ByNumber;
    const LEARNS: bool = false;
}

impl Reduction for Rapos {
    fn needs_pending(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::generated::classes;
    use crate::simulation::{Ending, Program, programs, runs};
    use crate::strategy::random::Random;
    use std::collections::BTreeSet;

    #[test]
    fn failures_are_found() {
        for (name, program, most) in [
            ("lost update", programs::lost_update(2), 30),
            ("opposite locks", programs::opposite(), 30),
            ("reorder", programs::reorder(3), 500),
            ("twostage", programs::twostage(1), 100),
        ] {
            let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
            let at = runs(&program, &mut Rapos::new(1)).take(most).position(|r| fails(r.ending));
            assert!(at.is_some(), "{name}");
        }
    }

    fn distinct<S: Strategy>(program: &Program, strategy: S, most: usize) -> usize {
        classes(program, strategy).take(most).map(|(class, _)| class).collect::<BTreeSet<_>>().len()
    }

    /// Four tasks with twelve operations that no other task depends on, between two that conflict.
    #[test]
    fn more_orders_of_conflicts_are_seen_than_by_a_uniform_walk() {
        let alone = ["b", "c", "d", "e"].map(|name| format!("w {name};").repeat(12));
        let tasks = alone.map(|alone| format!("w a;{alone}r a"));
        let program = programs::short(&tasks.each_ref().map(String::as_str));
        let counts =
            [distinct(&program, Rapos::new(1), 400), distinct(&program, Random::new(1), 400)];
        assert!(counts[0] > counts[1], "{counts:?}");
    }

    #[test]
    fn equal_seeds_give_equal_executions() {
        let program = programs::locked(3, 2);
        let executions = |seed| -> Vec<u64> {
            classes(&program, Rapos::new(seed)).take(20).map(|(class, _)| class).collect()
        };
        assert_eq!(executions(5), executions(5));
        assert_ne!(executions(5), executions(6));
    }
}
