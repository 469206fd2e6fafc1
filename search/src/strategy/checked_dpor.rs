//! Random walks that check the coverage that a reduction claims.
//!
//! Partial order reduction and state caches depend on a correct notion of dependence. Two memory
//! accesses that are not scheduling points are invisible to it, and a search that relied on it
//! alone could report a faulty program as free of failures. So after a search claims to be
//! complete, random walks follow. Each of them must end in an equivalence class that the search has
//! seen. If one does not, the search missed something, and claims nothing.

use crate::reduction::events::{Map, Order};
use crate::rng::Rng;
use crate::strategy::bounded_dpor::BoundedDpor;
use crate::strategy::pct::Pct;
use crate::strategy::random::Random;
use crate::{
    Coverage, Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable, Strategy,
    View,
};
use serde::{Deserialize, Serialize};

/// The fewest and the most walks; in between, there are as many walks as the search had executions.
const LEAST: u64 = 20;
const MOST: u64 = 500;
/// With a bound, a walk makes one in 2^k of the preemptions that a uniform walk would make; k is drawn
/// below this.
const RAREST: u32 = 12;
/// The most classes that are stored. A larger search stores every second, fourth, ... class, chosen
/// by hash, and runs twice, four times, ... as many walks, of which only those count whose class
/// would be stored.
const REMEMBERED: usize = 1_000_000;

/// A random walk that knows the class in which it ended. Every third walk is uniform; the others
/// use random priorities, which execute all of one task before all of another with probability one
/// half. (A uniform walk almost never does, so it would miss what a task meets after another has
/// finished.)
///
/// A walk that checks a bounded search makes no more preemptions than the bound: of the preemptions
/// of a uniform walk, later ones are dropped with higher probability.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CheckingWalk {
    uniform: Random,
    ordered: Pct,
    is_uniform: bool,
    seed: u64,
    bound: Option<u32>,
    /// With a bound: the number of preemptions that this execution may still make.
    left: u32,
    /// With a bound: a walk makes one in `rarity` of the preemptions that a uniform walk would
    /// make.
    rarity: u32,
    rng: Rng,
    #[serde(skip)]
    order: Order,
    cut: bool,
}

impl CheckingWalk {
    /// Walks with this seed.
    #[must_use]
    pub fn new(seed: u64) -> CheckingWalk {
        CheckingWalk {
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

    /// Walks that check a search with this bound on preemptions.
    #[must_use]
    pub fn within(bound: Option<u32>) -> CheckingWalk {
        CheckingWalk { bound, ..CheckingWalk::new(0x6865_6464_6c65) }
    }

    /// The decision, without preemptions beyond the bound.
    fn bounded(&mut self, view: &View<'_>, wanted: Decision) -> Decision {
        let Decision::Task(task) = &wanted else { return wanted };
        if self.bound.is_none() || !view.preempts(*task) {
            return wanted;
        }
        if self.left == 0 || self.is_uniform && self.rng.below(self.rarity) != 0 {
            // An expiry preempts tasks that could run, even where the running task is blocked or has ended.
            return Decision::Task(view.default_task());
        }
        self.left -= 1;
        wanted
    }
}

impl Strategy for CheckingWalk {
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

    fn active_part(&self) -> &'static str {
        "check"
    }
}

impl PrefixReplay for CheckingWalk {}

impl Shareable for CheckingWalk {}

impl Reduction for CheckingWalk {
    fn needs_pending(&self) -> bool {
        true
    }

    fn equivalence_class(&self) -> Option<u64> {
        (!self.cut).then(|| self.order.hash())
    }
}

/// Bounded partial order reduction for one worker; when the search ends, random walks check it
/// before it claims coverage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CheckedDpor {
    search: BoundedDpor,
    classes: Classes,
    /// The walks that check the search, the number of walks begun, and the number of walks to run.
    check: Option<(CheckingWalk, u64, u64)>,
    /// Whether a walk ended in a class that the search had not seen.
    refuted: bool,
}

impl CheckedDpor {
    /// A search of the executions with at most `bound` preemptions.
    #[must_use]
    pub fn new(bound: u32) -> CheckedDpor {
        CheckedDpor {
            search: BoundedDpor::new(bound),
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

impl Strategy for CheckedDpor {
    fn begin(&mut self, number: u64) -> bool {
        if self.check.is_none() {
            if self.search.begin(number) {
                return true;
            }
            let Coverage::Complete { bound } = self.search.coverage() else { return false };
            self.check = Some((CheckingWalk::within(bound), 0, self.classes.walks()));
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

    fn end(&mut self, outcome: Outcome) {
        self.current().end(outcome);
        let class = self.current().equivalence_class();
        match &self.check {
            Some(_) => self.refuted |= class.is_some_and(|class| !self.classes.contain(&[class])),
            None => self.classes.add(1, class.as_slice()),
        }
    }

    fn active_part(&self) -> &'static str {
        self.search.active_part()
    }

    fn coverage(&self) -> Coverage {
        match self.check {
            Some((_, begun, most)) if begun == most && !self.refuted => self.search.coverage(),
            _ => Coverage::Open,
        }
    }
}

impl PrefixReplay for CheckedDpor {
    fn restart(&mut self) {
        self.current().restart();
    }

    fn expected_digest(&self) -> Option<u32> {
        self.check.is_none().then(|| self.search.expected_digest()).flatten()
    }

    fn failed_to_repeat(&self) -> bool {
        self.check.is_none() && self.search.failed_to_repeat()
    }
}

impl Shareable for CheckedDpor {}

impl Reduction for CheckedDpor {
    fn pending_at_end(&mut self, tasks: &[PendingOperation]) {
        self.current().pending_at_end(tasks);
    }

    fn needs_pending(&self) -> bool {
        true
    }

    fn needs_pending_now(&self) -> bool {
        match &self.check {
            Some((walk, _, _)) => walk.needs_pending_now(),
            None => self.search.needs_pending_now(),
        }
    }

    fn invalidate_coverage(&mut self) {
        self.search.invalidate_coverage();
    }
}

/// The equivalence classes in which the executions of a search ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Classes {
    seen: Map<u64, ()>,
    executions: u64,
    /// Only classes whose numbers end in this many zero bits are stored.
    zeros: u32,
    most: usize,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes::remembering(REMEMBERED)
    }
}

impl Classes {
    /// An empty set that stores at most `most` classes.
    fn remembering(most: usize) -> Classes {
        Classes { seen: Map::default(), executions: 0, zeros: 0, most }
    }

    /// Adds the classes in which `executions` executions ended.
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

    /// Whether a class would be stored.
    fn counts(&self, class: u64) -> bool {
        class & self.mask() == 0
    }

    /// The number of walks that are needed to check that the set is complete.
    #[must_use]
    pub fn walks(&self) -> u64 {
        self.executions.clamp(LEAST, MOST) << self.zeros
    }

    /// Whether each of these classes was seen, among those that would be stored.
    #[must_use]
    pub fn contain(&self, classes: &[u64]) -> bool {
        classes.iter().all(|&class| !self.counts(class) || self.seen.contains_key(&class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{programs, runs};
    use traces::{Operation, TaskId};

    /// The walk chose the running task, which had ended, and the search could not continue.
    #[test]
    fn a_walk_without_preemptions_chooses_an_enabled_task_where_a_deadline_is_due() {
        let view = View {
            step: 118,
            running: Some(TaskId(2)),
            yielded: false,
            site: 0,
            enabled: &[TaskId(1), TaskId(3)],
            operations: &[Operation::Sleep, Operation::Yield],
            digest: 0,
            expiries: &[TaskId(1)],
            gave_way: false,
            tasks: &[],
        };
        let mut walk = CheckingWalk::within(Some(0));
        let decision = walk.bounded(&view, Decision::Task(TaskId(1)));
        assert_eq!(decision, Decision::Task(TaskId(3)));
        let decision = walk.bounded(&view, Decision::Task(TaskId(3)));
        assert_eq!(decision, Decision::Task(TaskId(3)));
    }

    /// A search from which some accesses are hidden.
    struct Blind {
        search: CheckedDpor,
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

        fn coverage(&self) -> Coverage {
            self.search.coverage()
        }
    }

    impl PrefixReplay for Blind {}

    impl Reduction for Blind {
        fn needs_pending(&self) -> bool {
            true
        }
    }

    /// If only a fraction of the classes is stored, enough walks end in one of them.
    #[test]
    fn a_search_with_more_classes_than_can_be_stored_is_checked() {
        let all: Vec<u64> = (0..20_000).map(|at| Rng::new(at, 1).next()).collect();
        let (seen, unseen) = all.split_at(10_000);
        for most in [100, 1_000, 9_999, 10_000, 20_000] {
            let mut classes = Classes::remembering(most);
            seen.chunks(700).for_each(|some| classes.add(some.len() as u64, some));
            assert!(classes.seen.len() <= most && classes.seen.len() * 3 > most.min(10_000));
            assert!(classes.contain(seen), "every class that was seen counts as seen");
            let walks = classes.walks() as usize;
            assert_eq!(walks, (MOST as usize) << classes.zeros);
            // Enough to find a missed class that contains one execution in a hundred.
            let found = (0..walks).filter(|at| {
                let class = if at % 100 == 0 { unseen[at / 100] } else { seen[at % 10_000] };
                !classes.contain(&[class])
            });
            assert!(found.count() >= 1, "{most} remembered, {walks} walks");
        }
    }

    #[test]
    fn a_search_with_hidden_dependences_claims_no_coverage() {
        for bound in 0..3 {
            for hidden in [false, true] {
                let mut search = Blind { search: CheckedDpor::new(bound), hidden };
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
