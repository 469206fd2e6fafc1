//! Learning which accesses to memory conflict: some executions before the search, and what the search
//! itself shows.

use super::{Root, header, outbox, root};
use crate::points::{self, compiled};
use crate::record;
use search::{Any, Outcome, Prefixed, Strategy};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::points::{Granularity, Learned, Lesson};
use traces::wire::Plan;

/// Learning is over when so many rounds brought nothing new, or after so many in all. Where rounds cost
/// next to nothing there are more of them: two threads that seldom run at a time may need them.
const QUIET: u64 = 3;
const QUIET_AND_CHEAP: u64 = 24;
const MOST: u64 = 96;
/// A round is cheap if all probes together were come to no more often.
const CHEAP: u64 = 10_000;
/// Where all rounds together met so many accesses, one that brings nothing new is enough, and where they met
/// ten times as many, learning is over.
const MUCH: u64 = 100_000_000;
/// The seed of the walks that are learned from. Any would do, as long as it is the same.
const SEED: u64 = 0x1ea2_2ed5;

/// Rounds of random walks, until there is nothing new for a while.
pub(super) struct Learning {
    rounds: u64,
    quiet: u64,
    /// How many accesses all of them met.
    met: u64,
    /// Stands for what the first of them did.
    first: u64,
    /// The search that comes after it.
    search: Prefixed,
}

/// Makes ready what the job asks for in this process, where the program tells of its accesses.
pub(super) fn prepare() {
    let root = root();
    // One execution of a plain program is what it would be without any of this, unless it is said what
    // the points are.
    let known = !root.learned.known().is_empty() || root.points == Granularity::All;
    if !(compiled::is_present() || root.learns || known) {
        return;
    }
    points::prepare(root.points);
    let begins = root.learning.is_none() && root.next == 1 && header().learning.load(Relaxed) == 0;
    if points::are_ready()
        && root.learns
        && root.pioneer
        && begins
        && root.points == Granularity::Racy
    {
        let walk = Prefixed::new(Vec::new(), Any::new(Plan::Random { seed: SEED }));
        let search = std::mem::replace(&mut root.strategy, walk);
        root.heed_strategy();
        root.learning = Some(Learning { rounds: 0, quiet: 0, met: 0, first: 0, search });
    }
}

/// What tells the first execution of learning from that of another program, or on other input: its choices,
/// its accesses, what of them conflicted, and the code of the program's libraries.
fn first(steps: u64, learned: &Learned) -> u64 {
    let mut hasher = DefaultHasher::new();
    (steps, record::fingerprint(), points::probes_met(), points::libraries()).hash(&mut hasher);
    for spot in learned.sites.iter().chain(&learned.words) {
        (spot.module, spot.offset).hash(&mut hasher);
    }
    hasher.finish()
}

impl Root {
    /// Gives the strategy, which is another one now, what it looks at.
    pub(super) fn heed_strategy(&mut self) {
        self.detailed = self.strategy.detailed();
        self.frames = self.strategy.wants_frames();
    }

    /// Whether the executions that run are for learning.
    pub(crate) fn is_learning(&self) -> bool {
        self.learning.is_some()
    }

    /// The number of the execution for its strategy.
    pub(super) fn number(&self) -> u64 {
        self.learning.as_ref().map_or(self.next, |learning| learning.rounds + 1)
    }

    /// A round of learning is over.
    ///
    /// It `spun` if a task went round in a loop without end: the next would, too.
    pub(super) fn settle_learning(&mut self, steps: u64, spun: bool) {
        self.strategy.end(Outcome::Passed);
        self.beats += steps + 1;
        let stacks = std::mem::replace(&mut self.stacks_seen, self.stacks_touched);
        let grew = self.learned.settle().0 || stacks != self.stacks_touched;
        // The search meets them again, on schedules of its own.
        self.beside.clear();
        self.raced.clear();
        let Some(learning) = &mut self.learning else { return };
        if learning.rounds == 0 {
            learning.first = first(steps, self.learned.known());
        }
        learning.rounds += 1;
        learning.quiet = if grew { 0 } else { learning.quiet + 1 };
        let met = points::probes_met();
        learning.met += met.unwrap_or(0);
        // Who asks for it has no more time.
        let ends = learning.met >= 10 * MUCH || header().pause.load(Acquire) != 0;
        let enough = match met {
            // More rounds would not see more.
            _ if spun || points::is_crowded() || learning.met >= MUCH => 1,
            Some(0..=CHEAP) => QUIET_AND_CHEAP,
            _ => QUIET,
        };
        header().learning.store(header().learning.load(Relaxed) + 1, Release);
        // Alone, a task conflicts with nobody; and another search for the same would change nothing.
        let alone = crate::world::world().created.get() <= 1;
        let sight = &header().sight;
        let before = self.lesson.take_if(|lesson| lesson.first == learning.first);
        self.lesson = None;
        let known = before.is_some();
        if let Some(lesson) = before {
            // Each further round would be what it was, too.
            self.learned.take_over(lesson.learned);
            self.stacks_touched |= lesson.stacks;
            let raise = |to: &AtomicU64, least: u64| to.store(to.load(Relaxed).max(least), Relaxed);
            raise(&sight.tired, lesson.tired);
            raise(&sight.probes, lesson.probes.0);
            raise(&sight.jumps, lesson.probes.1);
            sight.unseen.fetch_or(lesson.unseen, Relaxed);
            learning.rounds = lesson.executions;
        } else if learning.quiet < enough && learning.rounds < MOST && !alone && !ends {
            return;
        }
        let lesson = Lesson {
            first: learning.first,
            learned: self.learned.known().clone(),
            stacks: self.stacks_touched,
            executions: learning.rounds,
            unseen: sight.unseen.load(Relaxed),
            tired: sight.tired.load(Relaxed),
            probes: (sight.probes.load(Relaxed), sight.jumps.load(Relaxed)),
        };
        outbox::learned(lesson, known);
        if let Some(learning) = self.learning.take() {
            self.strategy = learning.search;
            self.heed_strategy();
        }
    }

    /// Takes over what an execution of the search showed. A search that goes by what it did before
    /// begins again with the new points: what it knows was of executions without them.
    pub(super) fn settle_points(&mut self) {
        if !self.learns {
            return self.learned.drop_found();
        }
        let (grew, sites) = self.learned.settle();
        let fresh = &header().sight.fresh;
        fresh.store(fresh.load(Relaxed) + sites, Relaxed);
        if !grew {
            // Nothing new.
        } else if let Some(portion) = &mut self.portion {
            // The others have to know before anybody goes on.
            portion.grew = true;
        } else if !self.strategy.rest().is_memoryless() {
            self.strategy = Prefixed::new(self.prefix.clone(), Any::new(self.plan.clone()));
        }
    }
}
