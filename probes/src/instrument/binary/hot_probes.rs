//! Removal of probes that are reached so often that they slow the program down. They stay removed
//! until the execution ends. There are three limits:
//!
//! | limit | what is removed |
//! | --- | --- |
//! | `STEP_LIMIT`: hits of a breakpoint in one step | this breakpoint |
//! | `STOP_LIMIT`: hits of all breakpoints in one execution | all probes |
//! | `Limit`: hits of all probes in one execution | the probes that were reached most often |

use crate::detect::access::POINTS;
use crate::detect::access::note_gap;
use crate::detect::learned_points;
use crate::instrument::binary::placement::{patch_at, put_back, put_back_where, write_again};
use crate::instrument::binary::probe::{PROBES, Patch, Probe, are_any};
use crate::instrument::binary::removal::{Removal, probes_in};
use crate::instrument::binary::{calls, image, paths, spin_reads, targets};
use crate::schedule::busy_loops::BUSY_FOR;
use crate::schedule::stall;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::world::world;
use crate::sys::channel::header;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;

/// The limit on hits of a breakpoint in one step.
const STEP_LIMIT: u32 = 5_000;
/// The limit on hits of all breakpoints in one execution.
const STOP_LIMIT: u64 = 1_000_000;

/// After this many hits while main is the only task, all probes are removed until it creates another:
/// what a single task does happens before everything that later tasks do.
const MOST_ALONE: u64 = 1 << 16;

/// Counts a hit while the running task is alone. Whether all probes are to be removed until it is not.
#[inline]
pub(super) fn is_too_frequent_alone() -> bool {
    let hits = PROBES.hits_alone.get() + 1;
    PROBES.hits_alone.set(hits);
    hits == MOST_ALONE && world().created.get() == 1
}

/// Removes all probes until main creates another task, except those at calls with lasting effects.
pub(super) fn remove_while_alone() {
    if PROBES.removal.get() == Removal::None {
        remove(Removal::ButLasting);
        PROBES.absent_alone.set(true);
    }
}

/// Main is about to create another task: writes the probes again that were removed because it was
/// alone.
pub(crate) fn second_task() {
    if PROBES.absent_alone.replace(false) {
        PROBES.version.set(PROBES.version.get() + 1);
        write_again();
        PROBES.removal.set(Removal::None);
    }
}

/// The limit on hits of all probes in one execution.
#[derive(Clone, Copy)]
struct Limit {
    /// After this many hits, the probes that were reached most often are removed.
    hits: u64,
    /// After each so many further hits, probes are removed again.
    further: u64,
    /// The probes are removed that were reached this often in the execution.
    frequent: u32,
}

impl Limit {
    /// An execution of a compressor has hundreds of millions of accesses, and observing one takes a
    /// hundred times as long as the access.
    const USUAL: Limit = Limit { hits: 1 << 22, further: 1 << 20, frequent: 1_000 };
    /// For a program whose learning phase had an execution beyond the usual limit: since not all
    /// accesses are observed anyway, more executions are worth more than more accesses in each. Also for
    /// one execution outside of a search, and for the first round of learning, so that the first execution takes
    /// not much longer than one that observes nothing. The next round observes all.
    const SAMPLED: Limit = Limit { hits: 1 << 16, further: 1 << 14, frequent: 64 };
}

/// A probe that is reached this often in one execution is among those that may be removed.
const FREQUENT: u32 = Limit::SAMPLED.frequent;
const _: () = assert!(FREQUENT <= Limit::USUAL.frequent, "each limit finds its probes");

/// No probe is known to have been reached often in the execution with this number.
fn forget_frequent(execution: u32) {
    PROBES.frequent_in.set(execution);
    // SAFETY: slices of the list are used only in `remove_frequent`, which is not running.
    unsafe { PROBES.frequent.clear() };
}

/// The state of probes in the middle of an execution.
pub(crate) struct Saved {
    hits: u64,
    hits_alone: u64,
    stops: u64,
    removal: Removal,
    absent_alone: bool,
    version: u64,
    /// The probes that were reached, and how often.
    runs: Vec<(u64, u32)>,
    targets: targets::Saved,
    reported: Vec<usize>,
}

/// The state in the running execution.
pub(crate) fn save() -> Saved {
    let now = POINTS.shadow.generation();
    let reached = PROBES.all().filter(|probe| probe.counts.generation.get() == now);
    let runs = |probe: &Probe| (PROBES.probes.number_of(probe) as u64, probe.counts.runs.get());
    Saved {
        hits: PROBES.hits.get(),
        hits_alone: PROBES.hits_alone.get(),
        stops: PROBES.stops.get(),
        removal: PROBES.removal.get(),
        absent_alone: PROBES.absent_alone.get(),
        version: PROBES.version.get(),
        runs: reached.map(runs).collect(),
        targets: targets::save(),
        reported: calls::reported(),
    }
}

/// Whether the probes that are there are those of the saved state.
pub(crate) fn are_those(saved: &Saved) -> bool {
    PROBES.version.get() == saved.version
}

/// An execution is about to begin that continues where `saved` was the state: it begins with the probes
/// [that are there](are_those).
pub(crate) fn keep() {
    PROBES.removal.set(Removal::None);
}

/// An execution that has begun continues where `saved` was the state.
pub(crate) fn restore(saved: &Saved) {
    spin_reads::forget();
    PROBES.hits.set(saved.hits);
    PROBES.hits_alone.set(saved.hits_alone);
    PROBES.stops.set(saved.stops);
    PROBES.removal.set(saved.removal);
    PROBES.absent_alone.set(saved.absent_alone);
    targets::restore(&saved.targets);
    calls::restore(&saved.reported);
    let now = POINTS.shadow.generation();
    forget_frequent(now);
    for &(at, runs) in &saved.runs {
        // SAFETY: a task reached the probe, by its copy or by a breakpoint that was installed with one.
        let counts = unsafe { &PROBES.probe(at).counts };
        counts.generation.set(now);
        counts.runs.set(runs);
        if runs >= FREQUENT {
            PROBES.frequent.push(at as u32);
        }
    }
}

/// How often a probe was reached.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// The hits in the step with the number `step`, if the probe is a breakpoint.
    hits: Cell<u32>,
    step: Cell<u64>,
    /// The hits in the execution with the number `generation`
    /// ([`Shadow::generation`](crate::detect::shadow::Shadow::generation)).
    runs: Cell<u32>,
    generation: Cell<u32>,
}

/// Counts a hit of a probe. If it is a breakpoint that exceeds a limit, removes it, or all probes.
pub(super) fn count_hit(probe: &Probe) {
    if probe.breakpoint.get() && !probe.is_bearable() {
        if PROBES.stops.get() >= STOP_LIMIT {
            remove_reported(Removal::ButPredicates);
        } else {
            let own = patch_at(probe.address).filter(|patch| !patch.predicate);
            report_removal();
            remove_some(own.as_slice());
        }
    }
    PROBES.hits.set(PROBES.hits.get() + 1);
    probe.count_run();
}

impl Probe {
    /// Counts a hit of a breakpoint; false, without counting it, if it exceeds a limit.
    pub(super) fn is_bearable(&self) -> bool {
        let counts = &self.counts;
        let step = u64::from(POINTS.shadow.generation()) << 40 | world().step.get();
        if counts.step.replace(step) != step {
            counts.hits.set(0);
        }
        let (hits, stops) = (counts.hits.get(), PROBES.stops.get());
        if hits >= STEP_LIMIT || stops >= STOP_LIMIT {
            return false;
        }
        counts.hits.set(hits + 1);
        PROBES.stops.set(stops + 1);
        true
    }

    /// Counts that a task reached the probe.
    #[inline]
    pub(super) fn count_run(&self) {
        let Counts { runs, generation, .. } = &self.counts;
        let now = POINTS.shadow.generation();
        if generation.replace(now) != now {
            runs.set(0);
        }
        runs.set(runs.get().saturating_add(1));
        if runs.get() == FREQUENT {
            self.note_frequent(now);
        }
    }

    /// Notes that the probe was reached often in the execution with this number. To find these among all probes takes
    /// long in a large program.
    #[cold]
    fn note_frequent(&self, execution: u32) {
        if PROBES.frequent_in.get() != execution {
            forget_frequent(execution);
        }
        PROBES.frequent.push(PROBES.probes.number_of(self) as u32);
    }

    /// Whether the probe was reached often in this execution.
    fn is_too_frequent(&self, frequent: u32) -> bool {
        let Counts { runs, generation, .. } = &self.counts;
        generation.get() == POINTS.shadow.generation() && runs.get() >= frequent
    }

    /// Whether it may be removed. A known conflict is a scheduling point, which a replay has too, and
    /// an atomic operation orders other accesses.
    fn may_be_sampled(&self) -> bool {
        !self.known.get() && !self.atomic && !self.is_always_needed()
    }
}

/// A probe was reached: if probes were reached too many times in this execution, removes those that were reached most often. The next execution has them again, so that the first accesses of each
/// site are observed in every execution. This is the idea of Marino, Musuvathi and Narayanasamy,
/// "LiteRace" (2009), that code which runs often is sampled; here by counts, so that equal executions
/// observe the same.
pub(super) fn remove_frequent(reached: &Probe) {
    let (root, hits) = (root(), PROBES.hits.get());
    end_beginning(hits);
    // A single execution that only observes is to take not much longer than one that does not.
    let samples = learned_points::is_sampled() || root.observes.get();
    let is_first = !samples && root.is_first_round();
    let limit = if samples || is_first { Limit::SAMPLED } else { Limit::USUAL };
    // With `--points all` every access is a step.
    let must_observe_all = POINTS.all.get() || learned_points::has_lock_polls();
    if hits < limit.hits || !hits.is_multiple_of(limit.further) || must_observe_all {
        return;
    }
    // From here on not every write is observed.
    stall::stop_finding_polls();
    if is_first {
        return observe_part(limit, reached);
    }
    report_removal();
    if root.is_learning() {
        root.learned.borrow().find_sampled();
    }
    remove_reached(limit, |_| true);
}

/// How often tasks that seem to compute yield before the site of the running task is no exception, and how often
/// probes are reached before.
const YIELDS: u32 = 2;
const MOST_HITS: u64 = 1 << 18;

/// Removes the probes of the first round of learning that were reached often. A spin loop needs one of its reads:
/// without that, the watchdog's time would decide how long it spins. So the sites stay at which tasks in spin
/// loops are parked, the one at which the running task is, unless it was given the time to show that it spins, and
/// those of conflicts at few words, at which other tasks may spin later.
fn observe_part(limit: Limit, reached: &Probe) {
    let (root, world) = (root(), world());
    root.observe_part();
    let mut needed = root.learned.borrow().waiting_sites();
    needed.extend(world.alive().map(|task| world.tasks[usize::from(task)].loop_access.get().0));
    let waiting = &POINTS.waiting;
    let may_spin = waiting.found_busy.get() <= BUSY_FOR && waiting.yields.get() < YIELDS;
    // A task that calls the same function without end is found by the watchdog.
    if may_spin && PROBES.hits.get() < MOST_HITS {
        needed.insert(reached.behind);
    }
    remove_reached(limit, |one| !needed.contains(&one.behind));
}

/// Removes the probes that are meant and were reached as often as the limit says.
fn remove_reached(limit: Limit, is_meant: impl Fn(&Probe) -> bool) {
    // SAFETY: a task reached each of them, by its copy or by a breakpoint that was installed with one.
    let reached = PROBES.frequent.all().iter().map(|&at| unsafe { PROBES.probe(at.into()) });
    let patches = reached
        .filter(|probe| probe.is_too_frequent(limit.frequent))
        .filter_map(|probe| patch_at(probe.address))
        .filter(|patch| probes_in(patch).all(|one| one.may_be_sampled() && is_meant(one)));
    remove_some(&patches.collect::<Vec<_>>());
}

/// After this many hits, and then after each so many, a round of learning may end.
const ROUND: u64 = 1 << 18;

/// Where a search explores the beginnings of executions only, a round of learning that found new conflicts
/// ends after many accesses. These conflicts are scheduling points in the next round, and their probes
/// stay: without them, a task that waits in a loop is seen by the watchdog only.
fn end_beginning(hits: u64) {
    let root = root();
    if root.beginning > 0
        && hits.is_multiple_of(ROUND)
        && root.is_learning()
        && root.learned.borrow().has_found()
    {
        root.learned.borrow().find_long();
        outcome::end_here(End::Cut);
    }
}

/// Removes probes until the execution ends, and reports that.
pub(super) fn remove_reported(removal: Removal) {
    report_removal();
    remove(removal);
}

/// Removes the probes in these changed ranges of text until the execution ends.
fn remove_some(patches: &[&Patch]) {
    note_removal(Removal::Frequent);
    put_back(patches);
}

fn report_removal() {
    if PROBES.removal.get() == Removal::None {
        header().instrumentation.probes_removed.fetch_add(1, Relaxed);
    }
}

fn note_removal(removal: Removal) {
    PROBES.version.set(PROBES.version.get() + 1);
    PROBES.removal.set(PROBES.removal.get().max(removal));
    PROBES.absent_alone.set(false);
}

/// Removes probes until the execution ends, also those of functions that the program executes later.
fn remove(removal: Removal) {
    note_removal(removal);
    // The copies of moved instructions stay: a task may be executing one.
    put_back_where(|patch| removal.includes(patch));
}

/// This process is a copy that the program made: removes all probes from it.
pub(crate) fn remove_from_copy() {
    if are_any() {
        remove_with_all_pages();
    }
}

/// Removes all probes, and opens all pages of the program's text.
fn remove_with_all_pages() {
    remove(Removal::All);
    PROBES.modules().for_each(|module| _ = module.pages.set_closing(false));
}

/// The program is about to write these bytes, or to change their protection. Returns whether they
/// are its own code, whose probes are then removed.
pub(crate) fn about_to_change(start: u64, len: u64) -> bool {
    let overlaps = |(low, high)| start < high && low < start.saturating_add(len);
    let is_code = are_any() && PROBES.modules().any(|module| overlaps(module.text()));
    if is_code {
        note_gap(InstrumentationGap::Changed);
        remove_with_all_pages();
    }
    is_code
}

/// Whether a descriptor is of a file that is not a system library.
pub(crate) fn is_own_file(descriptor: i32) -> bool {
    let mut path = [0; 256];
    image::is_observed_file(paths::of_descriptor(descriptor, &mut path))
}
