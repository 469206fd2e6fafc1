//! The learning phase: some executions before the search determine which memory accesses conflict;
//! the search itself adds to that.

use crate::detect::access::{self, note_gap};
use crate::executions::outbox;
use crate::instrument::monitoring;
use crate::instrument::{binary, compiled};
use crate::state::root::{Learning, Opening, Portion, Root, Round, root};
use crate::steps::record;
use crate::sys::channel::header;
#[cfg(doc)]
use search::share::frontier::Work;
use search::strategy::alternate::Alternate;
use search::strategy::directed::Directed;
use search::strategy::random::Random;
use search::strategy::registry::directed_first;
use search::{AnyStrategy, Outcome, Prefixed, Reduction, Strategy};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::points::{Granularity, InstrumentationGap, Learned, LearningResult, ModuleAddress};
use traces::wire::FoundFailure;

/// Learning ends after this many rounds in a row without new conflicts, or after this many in all.
/// If rounds cost next to nothing there are more of them: two threads that seldom overlap may need
/// them.
const QUIET: u64 = 3;
const QUIET_AND_CHEAP: u64 = 24;
const MOST: u64 = 96;
/// A round is one execution of the learning phase. It is cheap if its tasks reached probes at most
/// this many times.
const CHEAP: u64 = 10_000;
/// After a failure that is [postponed](Root::postpone), at most this many rounds follow.
const POSTPONED: u64 = 12;
/// After this many accesses in all rounds, one round without new conflicts ends learning; after ten
/// times as many it ends in any case.
const MUCH: u64 = 100_000_000;
/// In a program with much code and rounds that are not cheap, the most rounds and the most accesses
/// in all of them: learning continues in executions of the search ([`Root::is_sampling`]).
const MOST_BRIEF: u64 = 6;
const MUCH_BRIEF: u64 = 1 << 22;
/// The executions before the first round that observe no accesses, and the most steps of all of them.
const OPENING: u64 = 16;
const OPENING_STEPS: u64 = 1 << 18;
/// A program has much code if this many bytes of it would have to be decoded.
const MUCH_CODE: u64 = 5 << 19;
/// The seed of the random walks. Any constant would do.
const SEED: u64 = 0x1ea2_2ed5;

/// Prepares monitoring and, if needed, the learning phase in this process.
pub(crate) fn prepare() {
    let root = root();
    if root.observes.get() {
        return observe();
    }
    // A single execution of an uninstrumented program runs without monitoring, unless the points
    // are given.
    let known = !root.learned.borrow().known().is_empty()
        || root.points == Granularity::All
        || !root.predicates.is_empty();
    if !(compiled::is_present() || root.learns || known) {
        return;
    }
    let learns = root.learns && root.pioneer && root.points == Granularity::Racy;
    let begins = learns
        && root.learning.borrow().is_none()
        && root.next.get() == 1
        && header().learning.load(Relaxed) == 0;
    if root.opening.get() == Opening::Unknown {
        let opens = begins
            && root.predicates.is_empty()
            && !compiled::is_present()
            && binary::code_len() >= MUCH_CODE;
        let is_known = root.earlier_learning.borrow().is_some();
        root.opening.set(match opens {
            true if is_known => Opening::Over,
            true => Opening::Running,
            false => Opening::None,
        });
    }
    if root.opening.get() == Opening::Running {
        if begins {
            begin();
        }
        return;
    }
    monitoring::prepare(root.points);
    if root.predicates.iter().any(|one| !one.roles.is_empty()) && !binary::are_any() {
        access::note_gap(InstrumentationGap::Sites);
    }
    if access::are_ready() && begins {
        begin();
    } else if !access::are_ready() {
        // There is nothing to observe, and the first executions are all that there is to learn from.
        let ended = root.learning.take();
        if let Some(learning) = ended {
            root.strategy.set(learning.search);
            root.strategy_replaced();
        }
    }
}

/// Prepares an execution that observes all accesses. The points of an earlier learning phase are
/// adopted, if they are places in the same libraries.
fn observe() {
    let root = root();
    let earlier = root.earlier_learning.take();
    if let Some(earlier) = earlier.filter(|one| one.libraries == monitoring::libraries()) {
        root.observes.set(false);
        root.learned.borrow().take_over(earlier.learned.clone());
        root.stacks_touched.set(earlier.stacks);
        outbox::learned(earlier, true);
    } else if !compiled::is_present() && binary::code_len() >= MUCH_CODE {
        // To decode much code takes longer than most executions.
        root.observes.set(false);
        return note_gap(InstrumentationGap::Large);
    }
    monitoring::prepare(root.points);
}

/// Begins the learning phase.
fn begin() {
    let root = root();
    let search = root.strategy.replace(unprefixed(Round::Random));
    root.strategy_replaced();
    root.learning.set(Some(Learning {
        rounds: 0,
        is_partial: false,
        opened: 0,
        steps: 0,
        quiet: 0,
        // A search from a prefix has other failures, and predicates lead a search elsewhere.
        directed: match root.prefix.is_empty() && root.predicates.is_empty() {
            true => directed_first(&root.plan),
            false => 0,
        },
        round: Round::Random,
        alternated: false,
        postponed: None,
        met: 0,
        first: 0,
        search,
    }));
}

/// The strategy of such a round, from its start.
fn unprefixed(round: Round) -> Prefixed {
    let strategy = match round {
        Round::Random => Random::new(SEED).into(),
        Round::Alternate => Alternate::new().into(),
        Round::Directed => Directed::new().into(),
    };
    Prefixed::new(Vec::new(), strategy)
}

/// Identifies the first round: its choices, its accesses, the conflicts, and the code of the
/// program's libraries. Another program or other input gives another number.
fn first(steps: u64, learned: &Learned) -> u64 {
    let mut hasher = DefaultHasher::new();
    (steps, record::fingerprint(), monitoring::probes_met(), monitoring::libraries())
        .hash(&mut hasher);
    for spot in learned.sites.iter().chain(&learned.words) {
        (spot.module, spot.offset).hash(&mut hasher);
    }
    hasher.finish()
}

impl Root {
    /// Updates what depends on the strategy, after that was replaced.
    pub(crate) fn strategy_replaced(&self) {
        let strategy = self.strategy.borrow();
        self.detailed.set(strategy.needs_pending());
        self.frames.set(strategy.needs_caller_sites());
    }

    /// Whether the current executions are the learning phase's.
    pub(crate) fn is_learning(&self) -> bool {
        self.learning.borrow().is_some()
    }

    /// Whether the current execution notes which words tasks share, for a round by `alternate`.
    pub(crate) fn notes_shared(&self) -> bool {
        let alternates = |learning: &Learning| learning.directed > 0;
        self.is_first_round() && self.learning.borrow().as_ref().is_some_and(alternates)
    }

    /// Reports a failure later, at the end of the learning phase or after a dozen rounds, unless one of them
    /// shows a failure with the points of all executions, which is easier to understand.
    pub(crate) fn postpone(&self, found: FoundFailure) {
        if let Some(learning) = &mut *self.learning.borrow() {
            learning.postponed.get_or_insert((found, learning.rounds));
        }
    }

    /// Whether the current execution is a round by `alternate`.
    pub(crate) fn alternates(&self) -> bool {
        let alternates = |learning: &Learning| learning.round == Round::Alternate;
        self.learning.borrow().as_ref().is_some_and(alternates)
    }

    /// Whether the first round of the learning phase is being run. It observes fewer accesses than later
    /// ones. The beginnings of long executions need no such limit.
    pub(crate) fn is_first_round(&self) -> bool {
        let is_first = |learning: &Learning| learning.rounds == 0;
        self.beginning == 0 && self.learning.borrow().as_ref().is_some_and(is_first)
    }

    /// The first round does not observe all accesses.
    pub(crate) fn observe_part(&self) {
        if let Some(learning) = &mut *self.learning.borrow() {
            learning.is_partial = true;
        }
    }

    /// The number of the execution for its strategy.
    pub(crate) fn number(&self) -> u64 {
        self.learning.borrow().as_ref().map_or(self.next.get(), |learning| {
            match self.opening.get() {
                Opening::Running => learning.opened + 1,
                _ => learning.rounds + 1,
            }
        })
    }

    /// The number of the execution in its part of the search; 0 outside of one.
    pub(crate) fn search_number(&self) -> u64 {
        self.portion.borrow().as_ref().map_or(0, Portion::number)
    }

    /// Whether the executions observe no accesses yet, because to prepare that takes long.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening.get() == Opening::Running
    }

    /// Ends the learning phase because one of its executions failed.
    pub(crate) fn fail_early(&self) {
        self.failed_early.set(true);
    }

    /// Whether the current execution of the search observes all accesses of a program whose learning
    /// phase was [`brief`](ModuleAddress::BRIEF). These executions are rare, so that those before them
    /// are lost rarely if they show new points.
    pub(crate) fn is_sampling(&self) -> bool {
        const FIRST: u64 = 16;
        let number = self.search_number();
        number >= FIRST && number.is_power_of_two() && number.trailing_zeros().is_multiple_of(2)
    }

    /// A round of learning ended. `spun`: a task spun without end, or all waited for another process
    /// in vain, so that the next round would, too.
    pub(crate) fn settle_learning(&self, steps: u64, spun: bool) {
        self.strategy.borrow().end(Outcome::Passed);
        self.beats.set(self.beats.get() + steps + 1);
        // The search finds these again, on its own schedules.
        self.beside.borrow().clear();
        self.raced.borrow().clear();
        header().learning.store(header().learning.load(Relaxed) + 1, Release);
        if self.is_opening() {
            return self.settle_opening(steps, spun);
        }
        // A task accessed another task's stack. The round is repeated, with these accesses monitored:
        // memory reset repeats it as well, after the comparison with a fork, and every reset must learn
        // the same.
        let seen = self.stacks_seen.replace(self.stacks_touched.get());
        if seen != self.stacks_touched.get() && !self.is_out_of_executions() {
            if self.alternates() {
                self.strategy.set(unprefixed(Round::Alternate));
            }
            return;
        }
        if self.stacks_touched.get() {
            self.learned.borrow().know_stacks();
        }
        let grew = self.learned.borrow().settle().0;
        let mut current = self.learning.borrow();
        let Some(learning) = &mut *current else { return };
        if learning.rounds == 0 {
            learning.first = first(steps, self.learned.borrow().known());
        }
        learning.rounds += 1;
        let is_partial = std::mem::take(&mut learning.is_partial);
        learning.quiet = match grew || is_partial {
            true => 0,
            false => learning.quiet + u64::from(learning.round == Round::Random),
        };
        let met = monitoring::probes_met();
        learning.met += met.unwrap_or(0);
        // The controller asks for a pause when it has no more time.
        let is_overdue = learning
            .postponed
            .as_ref()
            .is_some_and(|(_, round)| self.stop_at_first && learning.rounds > round + POSTPONED);
        let ends = learning.met >= 10 * MUCH
            || is_overdue
            || header().pause.load(Acquire) != 0
            || self.ends_incomplete();
        let has_beginnings = self.learned.borrow().known().words.contains(&ModuleAddress::LONG);
        let is_long = (self.has_opening() || has_beginnings)
            && learning.met > learning.rounds * CHEAP
            && (learning.met >= MUCH_BRIEF || learning.rounds >= MOST_BRIEF);
        let enough = match met {
            // More rounds would not find more.
            _ if spun || access::is_crowded() || learning.met >= MUCH => 1,
            Some(0..=CHEAP) => QUIET_AND_CHEAP,
            _ => QUIET,
        };
        // A program with a single task has no conflicts; and an earlier learning phase that began
        // the same way need not be repeated.
        let alone = crate::state::world::world().created.get() <= 1;
        let instrumentation = &header().instrumentation;
        let before =
            self.earlier_learning.borrow().take_if(|earlier| earlier.first == learning.first);
        self.earlier_learning.set(None);
        let known = before.is_some();
        if let Some(earlier) = before {
            // Each further round would do the same as before, too.
            self.learned.borrow().take_over(earlier.learned);
            self.stacks_touched.set(self.stacks_touched.get() | earlier.stacks);
            let raise = |to: &AtomicU64, least: u64| to.store(to.load(Relaxed).max(least), Relaxed);
            raise(&instrumentation.probes_removed, earlier.probes_removed);
            raise(&instrumentation.probes, earlier.probes.0);
            raise(&instrumentation.jumps, earlier.probes.1);
            instrumentation.unseen.fetch_or(earlier.unseen, Relaxed);
            learning.rounds = earlier.executions;
        } else if learning.quiet < enough && (!alone || is_partial) && !ends {
            if learning.rounds < MOST && !is_long {
                return self.next_round(learning, grew, enough == QUIET_AND_CHEAP);
            }
            // Executions that observe only the first accesses of each site are short.
            if is_long && !self.learned.borrow().known().words.contains(&ModuleAddress::SAMPLED) {
                // The search continues to learn, in few of its executions.
                self.learned.borrow().end_briefly();
                note_gap(InstrumentationGap::Brief);
            }
        }
        if is_partial && !known {
            instrumentation.probes_removed.fetch_add(1, Relaxed);
        }
        if has_beginnings && !known {
            // What executions do later was not observed.
            self.learned.borrow().end_briefly();
            note_gap(InstrumentationGap::Brief);
        }
        // The phase did not show the failure again without the additional steps.
        if let Some((found, _)) = learning.postponed.take()
            && !self.failed_early.get()
        {
            if self.stop_at_first {
                self.fail_early();
            }
            outbox::postponed(FoundFailure { unsettled: false, ..found });
        }
        let result = LearningResult {
            first: learning.first,
            libraries: monitoring::libraries(),
            learned: self.learned.borrow().known().clone(),
            stacks: self.stacks_touched.get(),
            executions: learning.rounds,
            // What happened outside says nothing about later searches.
            unseen: instrumentation.unseen.load(Relaxed) & !(InstrumentationGap::Outside as u64),
            probes_removed: instrumentation.probes_removed.load(Relaxed),
            probes: (instrumentation.probes.load(Relaxed), instrumentation.jumps.load(Relaxed)),
        };
        if !self.failed_early.get() && (known || !self.is_out_of_executions()) {
            outbox::learned(result, known);
        }
        if let Some(learning) = current.take() {
            self.strategy.set(learning.search);
            self.strategy_replaced();
        }
    }

    /// Chooses the strategy of the next round: random walks; `alternate` after the first one, which showed what
    /// tasks share; and, once a random walk found nothing new, `alternate` and `directed`. `directed` begins again
    /// where the points grew at which it chooses.
    fn next_round(&self, learning: &mut Learning, grew: bool, is_cheap: bool) {
        learning.alternated = learning.round == Round::Alternate || learning.alternated && !grew;
        let next = match learning.round {
            Round::Directed if grew => Round::Directed,
            Round::Directed => {
                learning.directed -= 1;
                // A strategy says that it has nothing left when it is asked for another execution.
                let mut copy = self.strategy.cloned();
                if learning.directed > 0 && copy.begin(learning.rounds + 1) {
                    return;
                }
                learning.directed = 0;
                Round::Random
            }
            _ if !is_cheap || learning.directed == 0 => Round::Random,
            Round::Random if learning.rounds == 1 => Round::Alternate,
            Round::Alternate if grew && learning.postponed.is_none() => Round::Alternate,
            _ if learning.quiet == 0 => Round::Random,
            _ if learning.alternated => Round::Directed,
            _ => Round::Alternate,
        };
        if (next, learning.round) == (Round::Random, Round::Random) {
            return;
        }
        learning.round = next;
        self.strategy.set(unprefixed(next));
        self.strategy_replaced();
    }

    /// Whether the learning phase has run as many executions as it may.
    fn is_out_of_executions(&self) -> bool {
        header().learning.load(Relaxed) >= self.last
    }

    /// Whether the learning phase ends although its points are not complete.
    fn ends_incomplete(&self) -> bool {
        self.failed_early.get() || self.is_out_of_executions()
    }

    /// Whether the first executions observed no accesses.
    pub(crate) fn has_opening(&self) -> bool {
        matches!(self.opening.get(), Opening::Running | Opening::Over)
    }

    /// An execution that observed no accesses ended.
    fn settle_opening(&self, steps: u64, spun: bool) {
        let mut current = self.learning.borrow();
        let Some(learning) = &mut *current else { return };
        learning.opened += 1;
        learning.steps += steps;
        let alone = crate::state::world::world().created.get() <= 1;
        let pauses = header().pause.load(Acquire) != 0;
        let fails = self.failed_early.get();
        // One execution of the phase is to observe accesses.
        let remaining = self.last.saturating_sub(header().learning.load(Relaxed));
        if learning.opened < OPENING
            && learning.steps < OPENING_STEPS
            && remaining > 1
            && !(fails || spun || alone || pauses)
        {
            return;
        }
        self.opening.set(Opening::Over);
        if (fails || remaining == 0)
            && let Some(learning) = current.take()
        {
            if !fails {
                self.learned.borrow().end_briefly();
                note_gap(InstrumentationGap::Brief);
            }
            // The phase ends without another execution.
            self.strategy.set(learning.search);
            self.strategy_replaced();
        } else {
            self.must_prepare.set(true);
        }
    }

    /// Adopts the conflicts that an execution of the search showed. A search that builds on earlier
    /// executions is restarted with the new points, since those executions did not have them.
    /// `regular`: the execution did not fail, and ran to its end. Only after such an execution can
    /// the new points wait ([`Work::settles_after`]).
    pub(crate) fn settle_points(&self, regular: bool) {
        if !self.learns {
            return self.learned.borrow().drop_found();
        }
        // Other processes that run executions of the search have to know.
        if self.stacks_touched.get() {
            self.learned.borrow().find_stacks();
        }
        let waits = self
            .portion
            .borrow()
            .as_ref()
            .is_some_and(|portion| portion.ran < portion.work.settles_after);
        if regular && waits && !self.learned.borrow().must_settle() {
            return self.learned.borrow().put_off();
        }
        self.adopt_points();
    }

    /// Puts the conflicts that were found into effect.
    pub(crate) fn adopt_points(&self) {
        let (grew, sites) = self.learned.borrow().settle();
        let fresh = &header().instrumentation.fresh;
        fresh.store(fresh.load(Relaxed) + sites, Relaxed);
        if !grew {
            // Nothing new.
        } else if let Some(portion) = &mut *self.portion.borrow() {
            // The other workers must get the new points before the search continues.
            portion.grew = true;
        } else if !self.strategy.borrow().rest().is_memoryless() {
            let restarted = Prefixed::new(self.prefix.clone(), AnyStrategy::new(self.plan.clone()));
            self.strategy.set(restarted);
        }
    }
}
