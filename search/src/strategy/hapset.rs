//! Tries each order of two statements once: learns from passing executions which statement came
//! right before which, and runs a schedule only for an order that was never seen.
//!
//! Wang, Said and Gupta, "Coverage Guided Systematic Concurrency Testing" (ICSE 2011). Each
//! statement has a *happens-before predecessor set*: the statements of other threads that came
//! right before it on the same object. Reduction by persistent sets, also within a bound on
//! preemptions, backtracks only for an order that is in none of these sets; the sets grow during
//! the search. They contain statements and not operations, so the search grows with the code and
//! hardly with the number of threads. Differences:
//!
//! * A statement is a code location with a hash of up to five frames around it, which the unwinder
//!   finds; at a memory access in a program without compiler instrumentation it is the code
//!   location alone. Local and remote tasks are distinguished by which was created first.
//! * On request, random walks precede the search and are learned from; they count as executions.
//! * Within a bound, backtracking points are added as in [`crate::strategy::bounded_dpor`], except
//!   for unlocks that enable another task: they are in no set, so each of them would be tried.
//!
//! The strategy is incomplete: of three writers and a reader it tries two orders of six. So it
//! never claims coverage.

use crate::reduction::events::Event;
use crate::strategy::bounded_dpor::BoundedDpor;
use crate::strategy::descriptor::{BoundUnit, Descriptor};
use crate::strategy::random::Random;
use crate::{
    Coverage, Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable, Strategy,
    View,
};
use serde::{Deserialize, Serialize};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("hapset", "orders of two code locations that were not seen yet")
        .with_parameter('N', "the number of random walks to learn from", 0)
        .bounded_by(BoundUnit::Preemptions);

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hapset {
    search: BoundedDpor,
    walk: Random,
    /// The number of random walks before the search.
    walks: u64,
    /// The number of executions so far.
    executions: u64,
    /// The events of the running execution.
    #[serde(skip)]
    events: Vec<Event>,
}

impl Hapset {
    /// A search that first learns from `walks` random walks, with at most `bound` preemptions if
    /// there is a bound.
    #[must_use]
    pub fn new(seed: u64, walks: u32, bound: Option<u32>) -> Hapset {
        Hapset {
            search: BoundedDpor::guided(bound),
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

    fn end(&mut self, outcome: Outcome) {
        // Of the walks before the search only passing ones are learned from: the orders that a
        // failure needs are still to be tried.
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

    fn active_part(&self) -> &'static str {
        "hapset"
    }

    fn coverage(&self) -> Coverage {
        Coverage::Open
    }
}

impl PrefixReplay for Hapset {
    fn restart(&mut self) {
        self.events.clear();
        self.search.restart();
    }

    fn expected_digest(&self) -> Option<u32> {
        if self.walks_now() { None } else { self.search.expected_digest() }
    }

    fn failed_to_repeat(&self) -> bool {
        !self.walks_now() && self.search.failed_to_repeat()
    }
}

impl Shareable for Hapset {}

impl Reduction for Hapset {
    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        if !self.walks_now() {
            self.search.pending_at_end(tasks);
        }
    }

    fn needs_pending(&self) -> bool {
        true
    }

    fn needs_caller_sites(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::generated::classes;
    use crate::simulation::{Ending, Program, programs, runs};

    fn first(program: &Program, bound: Option<u32>) -> Option<usize> {
        let mut search = Hapset::new(0, 0, bound);
        let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
        let mut all = runs(program, &mut search).take(200);
        all.position(|run| fails(run.ending)).map(|at| at + 1)
    }

    #[test]
    fn shallow_failures_are_found_soon_with_any_number_of_tasks() {
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

    /// The smallest program on which the strategy loses orders. The search ends, and claims no
    /// coverage.
    #[test]
    fn an_incomplete_search_claims_no_coverage() {
        let program = programs::short(&["w a", "w a", "r a"]);
        let mut search = Hapset::new(0, 0, None);
        let mut found: Vec<u64> = classes(&program, &mut search).map(|(class, _)| class).collect();
        found.sort_unstable();
        found.dedup();
        assert!(found.len() < 6, "{} of 6 classes", found.len());
        assert_eq!(search.coverage(), Coverage::Open);
    }

    #[test]
    fn orders_that_walks_have_shown_are_not_tried() {
        let program = programs::locked(3, 1);
        let searched =
            |walks: u32| runs(&program, &mut Hapset::new(1, walks, None)).count() - walks as usize;
        assert!(searched(20) < searched(0), "{} and {}", searched(20), searched(0));
    }
}
