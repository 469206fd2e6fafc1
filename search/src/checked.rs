//! What a search says to have covered is not believed before it was tried.
//!
//! Partial order reduction and caches of states rest on knowing what depends on what. Two accesses to
//! memory that are no scheduling points are not known, and a search that trusts its own picture would
//! call a program clean that is not. So when such a search says that it is done, random walks
//! follow. Each must end in a class of executions that the search has seen; one that does not shows
//! that something was left out, and then nothing is claimed.

use crate::bounded::Bounded;
use crate::events::{Map, Order};
use crate::pct::Pct;
use crate::random::Random;
use crate::rng::Rng;
use crate::{Coverage, Decision, Next, Outcome, Strategy, View};
use serde::{Deserialize, Serialize};

/// How many walks at least and at most; in between, as many as the search had executions.
const LEAST: u64 = 20;
const MOST: u64 = 500;
/// At least one in 2^(this - 1) of the preemptions of a uniform walk is made, where there is a bound.
const RAREST: u32 = 12;
/// How many classes are remembered at most: of a search of more, every second, or fourth, and so on, by
/// their numbers; and twice, or four times, as many walks are made, of which those count whose class
/// would be remembered.
const REMEMBERED: usize = 1_000_000;

/// A random walk that knows in which class it ended: every third a uniform one, the others by random
/// priorities, which put all of one task before all of another as often as not. (A uniform walk hardly
/// ever does: what a task meets after another is done with everything is not seen by those alone.)
///
/// One that checks a search within a bound makes no more preemptions than that search: of those that
/// a uniform walk would make, the more are left out the later in the execution they are to come.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Walk {
    uniform: Random,
    ordered: Pct,
    is_uniform: bool,
    seed: u64,
    bound: Option<u32>,
    /// How many more preemptions this execution may have; with a bound.
    left: u32,
    /// One in so many that a uniform walk would make is made; with a bound.
    rarity: u32,
    rng: Rng,
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
            seed,
            bound: None,
            left: 0,
            rarity: 1,
            rng: Rng::new(seed, 0),
            order: Order::default(),
            cut: false,
        }
    }

    /// Walks that check a search within this bound on preemptions.
    #[must_use]
    pub fn within(bound: Option<u32>) -> Walk {
        Walk { bound, ..Walk::new(0x6865_6464_6c65) }
    }

    /// The same, without the preemptions that are too many.
    fn bounded(&mut self, view: &View<'_>, wanted: Decision) -> Decision {
        let (Decision::Task(task), Some(running)) = (&wanted, view.running) else { return wanted };
        if self.bound.is_none() || !view.preempts(*task) {
            return wanted;
        }
        if self.left == 0 || self.is_uniform && self.rng.below(self.rarity) != 0 {
            return Decision::Task(running);
        }
        self.left -= 1;
        wanted
    }
}

impl Strategy for Walk {
    fn begin(&mut self, number: u64) -> bool {
        self.order.clear();
        self.is_uniform = number % 3 == 1;
        self.left = self.bound.unwrap_or(0);
        self.rng = Rng::new(self.seed, number);
        self.rarity = 1 << self.rng.below(RAREST);
        if self.is_uniform { self.uniform.begin(number) } else { self.ordered.begin(number) }
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.order.see(view.tasks, view.running);
        let decision =
            if self.is_uniform { self.uniform.choose(view) } else { self.ordered.choose(view) };
        let decision = self.bounded(view, decision);
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

/// A search within a bound by what depends on what that is checked at its end by itself, in the one process
/// that runs it. Only then does it claim anything.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checked {
    search: Bounded,
    classes: Classes,
    /// The walks that check it, how many were begun, and how many are to be.
    check: Option<(Walk, u64, u64)>,
    /// Whether one ended in a class that the search had not seen.
    refuted: bool,
}

impl Checked {
    /// A search for executions with so many preemptions at most.
    #[must_use]
    pub fn new(bound: u32) -> Checked {
        Checked {
            search: Bounded::new(bound),
            classes: Classes::default(),
            check: None,
            refuted: false,
        }
    }

    fn current(&mut self) -> &mut dyn Strategy {
        match &mut self.check {
            Some((walk, _, _)) => walk,
            None => &mut self.search,
        }
    }
}

impl Strategy for Checked {
    fn begin(&mut self, number: u64) -> bool {
        if self.check.is_none() {
            if self.search.begin(number) {
                return true;
            }
            let Coverage::Complete { bound } = self.search.coverage() else { return false };
            self.check = Some((Walk::within(bound), 0, self.classes.walks()));
        }
        let Some((walk, begun, most)) = &mut self.check else { return false };
        if self.refuted || begun == most {
            return false;
        }
        *begun += 1;
        walk.begin(*begun)
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        self.current().choose(view)
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.current().choose_data(of)
    }

    fn left(&mut self, tasks: &[Next]) {
        self.current().left(tasks);
    }

    fn end(&mut self, outcome: Outcome) {
        self.current().end(outcome);
        let class = self.current().class();
        match &self.check {
            Some(_) => self.refuted |= class.is_some_and(|class| !self.classes.contain(&[class])),
            None => self.classes.add(1, class.as_slice()),
        }
    }

    fn again(&mut self) {
        self.current().again();
    }

    fn expected(&self) -> Option<u32> {
        self.check.is_none().then(|| self.search.expected()).flatten()
    }

    fn fell_short(&self) -> bool {
        self.check.is_none() && self.search.fell_short()
    }

    fn detailed(&self) -> bool {
        true
    }

    fn looks(&self) -> bool {
        match &self.check {
            Some((walk, _, _)) => walk.looks(),
            None => self.search.looks(),
        }
    }

    fn part(&self) -> &'static str {
        self.search.part()
    }

    fn doubt(&mut self) {
        self.search.doubt();
    }

    fn coverage(&self) -> Coverage {
        match self.check {
            Some((_, begun, most)) if begun == most && !self.refuted => self.search.coverage(),
            _ => Coverage::Open,
        }
    }
}

/// The classes in which a search's executions ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Classes {
    seen: Map<u64, ()>,
    executions: u64,
    /// Only classes are remembered whose numbers end in so many zeros.
    zeros: u32,
    most: usize,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes::remembering(REMEMBERED)
    }
}

impl Classes {
    /// None yet, of which so many will be remembered.
    fn remembering(most: usize) -> Classes {
        Classes { seen: Map::default(), executions: 0, zeros: 0, most }
    }

    /// So many executions ended in these.
    pub fn add(&mut self, executions: u64, classes: &[u64]) {
        self.executions += executions;
        for &class in classes {
            if self.counts(class) {
                self.seen.insert(class, ());
            }
            while self.seen.len() > self.most {
                self.zeros += 1;
                let mask = self.mask();
                self.seen.retain(|class, ()| class & mask == 0);
            }
        }
    }

    fn mask(&self) -> u64 {
        (1 << self.zeros) - 1
    }

    /// Whether a class would be remembered.
    fn counts(&self, class: u64) -> bool {
        class & self.mask() == 0
    }

    /// How many walks are to check that this is all.
    #[must_use]
    pub fn walks(&self) -> u64 {
        self.executions.clamp(LEAST, MOST) << self.zeros
    }

    /// Whether each of these was seen, as far as it would be remembered.
    #[must_use]
    pub fn contain(&self, classes: &[u64]) -> bool {
        classes.iter().all(|&class| !self.counts(class) || self.seen.contains_key(&class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{programs, runs};

    /// A search that is not told of what.
    struct Blind {
        search: Checked,
        hidden: bool,
    }

    impl Strategy for Blind {
        fn begin(&mut self, number: u64) -> bool {
            self.search.begin(number)
        }

        fn choose(&mut self, view: &View<'_>) -> Decision {
            let mut tasks = view.tasks.to_vec();
            if self.hidden {
                tasks.iter_mut().for_each(|next| next.object = 0);
            }
            self.search.choose(&View { tasks: &tasks, ..*view })
        }

        fn choose_data(&mut self, of: u32) -> u32 {
            self.search.choose_data(of)
        }

        fn end(&mut self, outcome: Outcome) {
            self.search.end(outcome);
        }

        fn detailed(&self) -> bool {
            true
        }

        fn coverage(&self) -> Coverage {
            self.search.coverage()
        }
    }

    /// However few of its classes are remembered, enough walks end in those.
    #[test]
    fn a_search_of_more_than_can_be_remembered_is_checked_all_the_same() {
        let all: Vec<u64> = (0..20_000).map(|at| Rng::new(at, 1).next()).collect();
        let (seen, unseen) = all.split_at(10_000);
        for most in [100, 1_000, 9_999, 10_000, 20_000] {
            let mut classes = Classes::remembering(most);
            seen.chunks(700).for_each(|some| classes.add(some.len() as u64, some));
            assert!(classes.seen.len() <= most && classes.seen.len() * 3 > most.min(10_000));
            assert!(classes.contain(seen), "what was seen is not missed");
            let walks = classes.walks() as usize;
            assert_eq!(walks, (MOST as usize) << classes.zeros);
            // As many as there are to find it with, where one in a hundred is in a class of its own.
            let found = (0..walks).filter(|at| {
                let class = if at % 100 == 0 { unseen[at / 100] } else { seen[at % 10_000] };
                !classes.contain(&[class])
            });
            assert!(found.count() >= 1, "{most} remembered, {walks} walks");
        }
    }

    #[test]
    fn a_search_that_does_not_see_what_depends_on_what_claims_nothing() {
        for bound in 0..3 {
            for hidden in [false, true] {
                let mut search = Blind { search: Checked::new(bound), hidden };
                let program = programs::lastzero(4);
                let ran = runs(&program, &mut search).count();
                assert!(ran as u64 > 2 * LEAST, "walks followed: {ran}");
                let expected = match hidden {
                    true => Coverage::Open,
                    false => Coverage::Complete { bound: Some(bound) },
                };
                assert_eq!(search.coverage(), expected, "within {bound}");
            }
        }
    }
}
