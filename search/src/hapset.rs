//! Each order of two places in the code once: what happened right before what in runs that went well is
//! learned, and only orders that were never seen are worth another execution.
//!
//! Wang, Said and Gupta, "Coverage Guided Systematic Concurrency Testing" (ICSE 2011). Each statement has
//! a set of those that came right before it on the same object in another thread, its *happens-before
//! predecessor set*. Reduction by persistent sets, or the same within a number of preemptions, goes back
//! to a place only for an order that is in none of these sets; they grow all the time. The sets are of
//! statements, not of operations, so the search grows with the code and hardly with the threads. Where we
//! depart:
//!
//! * A statement is a place with the hash of up to five frames around it, found by the unwinder; at an
//!   access to memory in a program that tells of none it is the place alone. Local and remote are told
//!   apart by which of the two tasks was created first.
//! * Some random walks are learned from before the search, if asked for; they are executions like others.
//! * Within a bound, places are added as by [`crate::bounded`]; but not for unlocks that let somebody go on:
//!   they are in no set, so that each of them would be tried.
//!
//! It misses things: of three writers and a reader it tries two orders of six. So whatever it comes to,
//! nothing is said to be covered.

use crate::bounded::Bounded;
use crate::events::{Access, Event, Map};
use crate::random::Random;
use crate::{Coverage, Decision, Next, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A statement of one of two tasks: which, and whether it is the task that was created first.
type Statement = (u64, bool);

/// What came right before what.
pub(crate) type Pair = (Statement, Statement);

/// The predecessor sets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Sets {
    seen: BTreeSet<Pair>,
}

/// The two as statements.
pub(crate) fn pair(earlier: &Event, later: &Event) -> Pair {
    let first = earlier.task < later.task;
    ((earlier.statement(), first), (later.statement(), !first))
}

impl Sets {
    /// Whether the one was seen right before the other.
    pub(crate) fn contain(&self, pair: Pair) -> bool {
        self.seen.contains(&pair)
    }

    /// The one was seen right before the other.
    pub(crate) fn insert(&mut self, pair: Pair) {
        self.seen.insert(pair);
    }

    /// Learns from an execution.
    fn learn(&mut self, events: &[Event]) {
        let mut last: Map<u64, &Event> = Map::default();
        for event in events {
            for &(object, access) in event.accesses() {
                // Who gives a lock back had it, and was before or after with that.
                if matches!(access, Access::Unlock | Access::Unshare) {
                    continue;
                }
                let before = last.insert(object, event).filter(|before| before.task != event.task);
                let Some(before) = before else { continue };
                if before.access(object).is_some_and(|theirs| !theirs.commutes(access)) {
                    self.insert(pair(before, event));
                }
            }
        }
    }
}

/// The search. See the module's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hapset {
    search: Bounded,
    walk: Random,
    /// How many walks come first.
    walks: u64,
    /// How many executions there were.
    executions: u64,
    /// What the execution that runs did.
    #[serde(skip)]
    events: Vec<Event>,
}

impl Hapset {
    /// A search that learns from so many random walks first, with at most so many preemptions if a number
    /// is named.
    #[must_use]
    pub fn new(seed: u64, walks: u32, bound: Option<u32>) -> Hapset {
        Hapset {
            search: Bounded::guided(bound),
            walk: Random::new(seed),
            walks: u64::from(walks),
            executions: 0,
            events: Vec::new(),
        }
    }

    fn walks_now(&self) -> bool {
        self.executions <= self.walks
    }
}

impl Strategy for Hapset {
    fn begin(&mut self, number: u64) -> bool {
        self.executions += 1;
        self.events.clear();
        if self.walks_now() { self.walk.begin(number) } else { self.search.begin(number) }
    }

    fn again(&mut self) {
        self.events.clear();
        self.search.again();
    }

    fn expected(&self) -> Option<u32> {
        if self.walks_now() { None } else { self.search.expected() }
    }

    fn fell_short(&self) -> bool {
        !self.walks_now() && self.search.fell_short()
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let walks = self.walks_now();
        let decision = if walks { self.walk.choose(view) } else { self.search.choose(view) };
        if let Decision::Task(task) = decision
            && let Some(next) = view.next(task)
        {
            self.events.push(Event::new(next, 0));
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        if self.walks_now() { self.walk.choose_data(of) } else { self.search.choose_data(of) }
    }

    fn left(&mut self, tasks: &[Next]) {
        if !self.walks_now() {
            self.search.left(tasks);
        }
    }

    fn end(&mut self, outcome: Outcome) {
        // Of those before the search only the good ones: what a failure needs is still to be tried.
        let learns = match self.walks_now() {
            true => outcome == Outcome::Passed,
            false => outcome != Outcome::GivenUp,
        };
        if !self.walks_now() {
            self.search.end(outcome);
        }
        if learns && let Some(sets) = self.search.guide() {
            sets.learn(&self.events);
        }
    }

    fn detailed(&self) -> bool {
        true
    }

    fn wants_frames(&self) -> bool {
        true
    }

    fn part(&self) -> &'static str {
        "hapset"
    }

    fn coverage(&self) -> Coverage {
        Coverage::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::generated::classes;
    use crate::simulate::{Ending, Program, programs, runs};

    fn first(program: &Program, bound: Option<u32>) -> Option<usize> {
        let mut search = Hapset::new(0, 0, bound);
        let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
        let mut all = runs(program, &mut search).take(200);
        all.position(|run| fails(run.ending)).map(|at| at + 1)
    }

    #[test]
    fn shallow_failures_are_found_soon_however_many_tasks_there_are() {
        for bound in [None, Some(2)] {
            for (name, program, most) in [
                ("lost update", programs::lost_update(2), 3),
                ("lost update of 6", programs::lost_update(6), 3),
                ("opposite locks", programs::opposite(), 2),
                ("wronglock", programs::wronglock(3), 3),
                ("wronglock of 8", programs::wronglock(8), 3),
                ("downloader", programs::downloader(2), 2),
                ("downloader of 10", programs::downloader(10), 2),
                ("twostage", programs::twostage(1), 2),
                ("compressor that joins", programs::compressor(true), 3),
                ("thread pool", programs::thread_pool(2, 5), 14),
            ] {
                let found = first(&program, bound);
                assert!(found.is_some_and(|at| at <= most), "{name} {bound:?}: {found:?}");
            }
        }
    }

    /// The smallest program on which it loses orders. It ends, and claims nothing.
    #[test]
    fn what_it_does_not_try_is_not_called_covered() {
        let program = programs::short(&["w a", "w a", "r a"]);
        let mut search = Hapset::new(0, 0, None);
        let mut found: Vec<u64> = classes(&program, &mut search).map(|(class, _)| class).collect();
        found.sort_unstable();
        found.dedup();
        assert!(found.len() < 6, "{} of 6 classes", found.len());
        assert_eq!(search.coverage(), Coverage::Open);
    }

    #[test]
    fn what_walks_have_seen_is_not_tried_again() {
        let program = programs::locked(3, 1);
        let searched =
            |walks: u32| runs(&program, &mut Hapset::new(1, walks, None)).count() - walks as usize;
        assert!(searched(20) < searched(0), "{} and {}", searched(20), searched(0));
    }
}
