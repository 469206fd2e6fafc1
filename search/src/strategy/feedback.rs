//! Greybox fuzzing of schedules: a schedule that showed a new combination of reads-from pairs
//! (which write a read sees) is mutated further.
//!
//! Wolff, Shi, Duck, Mathur and Roychoudhury, "Greybox Fuzzing for Concurrency Testing" (ASPLOS
//! 2024). A schedule is described by constraints: this site reads, or does not read, what that site
//! wrote. A mutation adds, removes or negates one constraint. An execution satisfies its
//! constraints as far as it can, and otherwise uses partial order sampling. Differences:
//!
//! * Pairs are of operations of any kind, not only of memory accesses: a lock operation "reads" the
//!   release before it, and a wait the signal that woke it. So the strategy works on programs
//!   without memory access points.
//! * The schedule to mutate is the rarer of two that are drawn at random, by how often its
//!   combination was met; the paper uses a power schedule.
//! * Constraints may use all pairs of sites that touched the same object, whether the pair was
//!   observed or not.

use crate::reduction::events::{Access, Event, Map, mix};
use crate::rng::Rng;
use crate::strategy::descriptor::Descriptor;
use crate::strategy::pos::Pos;
use crate::{
    Decision, Outcome, PendingOperation, PrefixReplay, Reduction, Shareable, Sharing, Strategy,
    View,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use traces::{Operation, TaskId};

/// The descriptor of the strategy.
pub const DESCRIPTOR: Descriptor =
    Descriptor::new("feedback", "variations of schedules that showed something new");

/// The most constraints of a schedule.
const CONSTRAINTS: usize = 6;
/// The most schedules that are saved for mutation.
const KEPT: usize = 300;
/// The most combinations of pairs that are distinguished.
const COMBINATIONS: usize = 4_096;
/// The most sites at one object.
const PLACES: usize = 64;
/// The most objects.
const OBJECTS: usize = 1_024;

/// The site of the last write and the site of the read after it. The first is 0 if nothing was written
/// before.
type Pair = (u64, u64);

/// A constraint: a pair that should or should not be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Constraint {
    pair: Pair,
    wanted: bool,
}

/// A schedule that showed a new combination.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SavedSchedule {
    constraints: Vec<Constraint>,
    combination: u64,
}

/// The sites that write an object, and those that read it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ObjectSites {
    writes: BTreeSet<u64>,
    reads: BTreeSet<u64>,
}

/// The search. See the module documentation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Feedback {
    seed: u64,
    rng: Rng,
    beneath: Pos,
    saved: Vec<SavedSchedule>,
    /// How often each combination was observed.
    met: BTreeMap<u64, u32>,
    objects: BTreeMap<u64, ObjectSites>,
    /// All pairs that constraints can use.
    pairs: Vec<Pair>,
    /// The constraints of the current execution.
    constraints: Vec<Constraint>,
    /// The pairs that the current execution has shown.
    #[serde(skip)]
    observed: BTreeSet<Pair>,
    /// The site that wrote each object last.
    #[serde(skip)]
    last: Map<u64, u64>,
    /// Whether new sites were seen, so that `pairs` has to be recomputed.
    grew: bool,
}

impl Feedback {
    /// A search with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Feedback {
        Feedback {
            seed,
            rng: Rng::new(seed, 0),
            beneath: Pos::new(mix(seed)),
            saved: vec![SavedSchedule { constraints: Vec::new(), combination: 0 }],
            met: BTreeMap::new(),
            objects: BTreeMap::new(),
            pairs: Vec::new(),
            constraints: Vec::new(),
            observed: BTreeSet::new(),
            last: Map::default(),
            grew: false,
        }
    }

    /// Records that a site writes or reads an object.
    fn place(&mut self, object: u64, site: u64, writes: bool) {
        if self.objects.len() >= OBJECTS && !self.objects.contains_key(&object) {
            return;
        }
        let places = self.objects.entry(object).or_default();
        let places = if writes { &mut places.writes } else { &mut places.reads };
        if places.len() < PLACES {
            self.grew |= places.insert(site);
        }
    }

    /// Computes the pairs that constraints can use.
    fn pair_up(&mut self) {
        if !std::mem::take(&mut self.grew) {
            return;
        }
        let mut pairs = BTreeSet::new();
        for places in self.objects.values() {
            for &read in &places.reads {
                pairs.insert((0, read));
                pairs.extend(places.writes.iter().map(|&write| (write, read)));
            }
        }
        self.pairs = pairs.into_iter().collect();
    }

    fn draw(&mut self, below: usize) -> usize {
        self.rng.below(below as u32) as usize
    }

    /// Draws a schedule to mutate, and mutates its constraints.
    fn choose_constraints(&mut self) {
        let times = |search: &Feedback, at: usize| {
            search.met.get(&search.saved[at].combination).copied().unwrap_or(0)
        };
        let (one, other) = (self.draw(self.saved.len()), self.draw(self.saved.len()));
        let rarer = if times(self, one) <= times(self, other) { one } else { other };
        self.constraints.clone_from(&self.saved[rarer].constraints);
        if self.pairs.is_empty() {
            return;
        }
        match self.draw(4) {
            0 if !self.constraints.is_empty() => {
                let at = self.draw(self.constraints.len());
                self.constraints.remove(at);
            }
            1 if !self.constraints.is_empty() => {
                let at = self.draw(self.constraints.len());
                self.constraints[at].wanted ^= true;
            }
            _ if self.constraints.len() < CONSTRAINTS => {
                let at = self.draw(self.pairs.len());
                let wanted = self.draw(4) > 0;
                self.constraints.push(Constraint { pair: self.pairs[at], wanted });
            }
            _ => {}
        }
    }

    /// Whether the task's pending operation would violate a constraint.
    fn violates_constraint(&self, next: &PendingOperation) -> bool {
        let event = Event::new(next, 0);
        let site = event.statement();
        let open = self.constraints.iter().filter(|wish| !self.observed.contains(&wish.pair));
        let mut open = open.map(|&Constraint { pair: (from, to), wanted }| (from, to, wanted));
        event.accesses().iter().any(|&(object, access)| {
            let last = self.last.get(&object).copied().unwrap_or(0);
            open.clone().any(|(from, to, wanted)| {
                let reads = reads(&event, access) && to == site && (from == last) != wanted;
                let waits_for_it = || {
                    let places = self.objects.get(&object);
                    places.is_some_and(|places| places.reads.contains(&to))
                };
                let overwrites = wanted && writes(access) && from == last && to != site;
                reads || (overwrites && waits_for_it())
            })
        }) && open.next().is_some()
    }
}

/// Whether later operations on the object can read from this one.
fn writes(access: Access) -> bool {
    access != Access::Read
}

/// Whether the operation observes which operation came before it.
fn reads(event: &Event, access: Access) -> bool {
    !matches!(event.operation, Operation::Write | Operation::Create)
        && !matches!(access, Access::Unlock | Access::Unshare)
}

impl Strategy for Feedback {
    fn begin(&mut self, number: u64) -> bool {
        self.rng = Rng::new(self.seed, number);
        self.observed.clear();
        self.last.clear();
        self.choose_constraints();
        self.beneath.begin(number)
    }

    fn choose(&mut self, view: &View<'_>) -> Decision {
        let enabled = view.enabled;
        let good: Vec<TaskId> = enabled
            .iter()
            .filter(|&&task| view.next(task).is_none_or(|next| !self.violates_constraint(next)))
            .copied()
            .collect();
        let enabled = if good.is_empty() { enabled } else { &good };
        let decision = self.beneath.choose(&View { enabled, ..*view });
        if let Decision::Task(task) = decision
            && let Some(next) = view.next(task)
        {
            let event = Event::new(next, 0);
            let site = event.statement();
            for &(object, access) in event.accesses() {
                if reads(&event, access) {
                    let last = self.last.get(&object).copied().unwrap_or(0);
                    self.observed.insert((last, site));
                    self.place(object, site, false);
                }
                if writes(access) {
                    self.last.insert(object, site);
                    self.place(object, site, true);
                }
            }
        }
        decision
    }

    fn choose_data(&mut self, of: u32) -> u32 {
        self.rng.below(of)
    }

    fn end(&mut self, outcome: Outcome) {
        self.beneath.end(outcome);
        let pair = |&(from, to): &Pair| mix(mix(from) ^ to);
        let combination = self.observed.iter().map(pair).fold(0, u64::wrapping_add);
        let room = self.met.len() < COMBINATIONS;
        match self.met.get_mut(&combination) {
            Some(times) => *times = times.saturating_add(1),
            None if room => {
                self.met.insert(combination, 1);
                if self.saved.len() < KEPT {
                    self.saved
                        .push(SavedSchedule { constraints: self.constraints.clone(), combination });
                }
            }
            None => {}
        }
        self.pair_up();
    }

    fn active_part(&self) -> &'static str {
        "feedback"
    }
}

impl PrefixReplay for Feedback {}

impl Shareable for Feedback {
    const SHARING: Sharing = Sharing::ByNumber;

    fn merge(&mut self, other: &Feedback) {
        for kept in &other.saved {
            if self.saved.len() < KEPT && !self.met.contains_key(&kept.combination) {
                self.saved.push(kept.clone());
            }
        }
        for (&combination, &times) in &other.met {
            if self.met.len() < COMBINATIONS || self.met.contains_key(&combination) {
                let ours = self.met.entry(combination).or_default();
                *ours = (*ours).max(times);
            }
        }
        for (&object, places) in &other.objects {
            for &site in &places.writes {
                self.place(object, site, true);
            }
            for &site in &places.reads {
                self.place(object, site, false);
            }
        }
        self.pair_up();
    }
}

impl Reduction for Feedback {
    fn needs_pending(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Ending, Program, programs, runs};

    fn median(program: &Program, make: impl Fn(u64) -> Feedback) -> usize {
        let fails = |ending| matches!(ending, Ok(Ending::Assertion | Ending::Deadlock));
        let mut found: Vec<usize> = (0..9)
            .map(|seed| {
                let mut search = make(seed);
                let mut all = runs(program, &mut search).take(5_000);
                all.position(|run| fails(run.ending)).unwrap_or(usize::MAX)
            })
            .collect();
        found.sort_unstable();
        found[4]
    }

    /// Random walks need thousands of executions if nine tasks run the same code; pairs of sites
    /// are the same for all tasks.
    #[test]
    fn many_equal_tasks_make_failures_no_harder_to_find() {
        for setters in [2, 4, 9, 19] {
            let found = median(&programs::reorder(setters), Feedback::new);
            assert!(found < 20, "{setters}: {found}");
        }
    }

    #[test]
    fn failures_are_found() {
        for (name, program, most) in [
            ("lost update", programs::lost_update(2), 20),
            ("opposite locks", programs::opposite(), 20),
            ("twostage", programs::twostage(1), 60),
        ] {
            let found = median(&program, Feedback::new);
            assert!(found < most, "{name}: {found}");
        }
    }

    #[test]
    fn results_of_other_workers_are_merged() {
        let program = programs::reorder(2);
        let mut search = Feedback::new(1);
        assert_eq!(runs(&program, &mut search).take(50).count(), 50);
        let mut other = Feedback::new(1);
        other.merge(&search);
        assert_eq!(other.pairs, search.pairs);
        assert!(other.saved.len() > 1);
    }
}
