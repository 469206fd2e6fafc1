//! A search that tells executions apart by the order of operations, not believed before it was tried.
//!
//! Partial order reduction and caches of states rest on knowing what depends on what. Two accesses to
//! memory that are no scheduling points are not known, and a search that trusts its own picture would
//! call a program clean that is not. So when such a search says that it is done, uniform random walks
//! follow. Each must end in a class of executions that the search has seen; one that does not shows
//! that something was left out, and then nothing is claimed.

use crate::events::{Event, Map, Order};
use crate::random::Random;
use crate::{Coverage, Decision, Next, Outcome, Strategy, View};

/// How many walks at least and at most; in between, as many as the search had executions.
const LEAST: u64 = 20;
const MOST: u64 = 500;
/// How many classes are remembered; a search of more is not checked.
const REMEMBERED: usize = 1_000_000;

/// A strategy, and then the check of what it says to have covered.
#[derive(Debug, Clone)]
pub struct Checked<S> {
    inner: S,
    walk: Random,
    order: Order,
    seen: Map<u64, ()>,
    executions: u64,
    checks: u64,
    checking: bool,
    doubted: bool,
}

impl<S: Strategy> Checked<S> {
    /// `inner`, and a check at its end.
    #[must_use]
    pub fn new(inner: S) -> Checked<S> {
        Checked {
            inner,
            walk: Random::new(0x6865_6464_6c65),
            order: Order::default(),
            seen: Map::default(),
            executions: 0,
            checks: 0,
            checking: false,
            doubted: false,
        }
    }
}

impl<S: Strategy> Strategy for Checked<S> {
    fn begin(&mut self, number: u64) -> bool {
        if !self.checking {
            if self.inner.begin(number) {
                self.executions += 1;
                return true;
            }
            let whole = matches!(self.inner.coverage(), Coverage::Complete { bound: None });
            if !whole || self.doubted || self.seen.len() >= REMEMBERED {
                return false;
            }
            self.checking = true;
        }
        if self.checks >= self.executions.clamp(LEAST, MOST) {
            return false;
        }
        self.checks += 1;
        self.order.clear();
        self.walk.begin(self.checks)
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        if !self.checking {
            return self.inner.choose(view);
        }
        self.order.see(view.tasks, view.running);
        let decision = self.walk.choose(view);
        if let Decision::Task(task) = decision
            && let Some(next) = view.next(task)
        {
            let event = Event::new(next, self.order.count(task));
            self.order.step(&event);
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        if !self.checking {
            return self.inner.choose_data(of);
        }
        let taken = self.walk.choose_data(of);
        self.order.note(u64::from(taken));
        taken
    }

    fn end(&mut self, outcome: Outcome) {
        let ended = matches!(outcome, Outcome::Passed | Outcome::Failed);
        if !self.checking {
            self.inner.end(outcome);
            if let (Some(class), true) = (self.inner.class(), ended && self.seen.len() < REMEMBERED)
            {
                self.seen.insert(class, ());
            }
        } else if ended && !self.seen.contains_key(&self.order.hash()) {
            self.doubted = true;
            self.checking = false;
            self.inner.doubt();
        }
    }

    fn detailed(&self) -> bool {
        true
    }

    fn left(&mut self, tasks: &[Next]) {
        if !self.checking {
            self.inner.left(tasks);
        }
    }

    fn part(&self) -> &'static str {
        if self.checking { "check" } else { self.inner.part() }
    }

    fn checks(&self) -> u64 {
        self.checks
    }

    fn coverage(&self) -> Coverage {
        self.inner.coverage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dpor::Dpor;
    use crate::simulate::{programs, runs};

    #[test]
    fn what_is_right_is_not_doubted() {
        for program in [programs::locked(4, 1), programs::account(), programs::opposite()] {
            let mut checked = Checked::new(Dpor::new());
            let all = runs(&program, &mut checked).count() as u64;
            assert_eq!(checked.coverage(), Coverage::Complete { bound: None });
            assert!(checked.checks() >= LEAST && checked.checks() < all);
        }
    }

    /// A search that stops after one execution and claims to be complete.
    #[derive(Debug)]
    struct Boaster {
        dpor: Dpor,
        begun: bool,
        doubted: bool,
    }

    impl Strategy for Boaster {
        fn begin(&mut self, number: u64) -> bool {
            !std::mem::replace(&mut self.begun, true) && self.dpor.begin(number)
        }
        fn choose(&mut self, view: &View<'_>) -> Decision {
            self.dpor.choose(view)
        }
        fn choose_data(&mut self, of: u32) -> u32 {
            self.dpor.choose_data(of)
        }
        fn end(&mut self, outcome: Outcome) {
            self.dpor.end(outcome);
        }
        fn class(&self) -> Option<u64> {
            self.dpor.class()
        }
        fn doubt(&mut self) {
            self.doubted = true;
        }
        fn coverage(&self) -> Coverage {
            if self.doubted { Coverage::Open } else { Coverage::Complete { bound: None } }
        }
    }

    #[test]
    fn a_search_that_left_something_out_is_found_out() {
        let boaster = Boaster { dpor: Dpor::new(), begun: false, doubted: false };
        let mut checked = Checked::new(boaster);
        runs(&programs::locked(3, 1), &mut checked).for_each(drop);
        assert_eq!(checked.coverage(), Coverage::Open);
    }
}
