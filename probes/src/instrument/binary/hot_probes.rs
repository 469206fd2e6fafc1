//! Removal of probes that are reached so often that they slow the program down. They stay removed
//! until the execution ends.

use crate::detect::access::POINTS;
use crate::detect::access::note_gap;
use crate::detect::learned_points;
use crate::instrument::binary::placement::put_back;
use crate::instrument::binary::{PROBES, Patch, Probe, are_there, image};
use crate::schedule::stall;
use crate::state::root::root;
use crate::state::world::world;
use crate::sys::raw;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::InstrumentationGap;

/// After this many hits of all probes in one execution, those that were reached most often are
/// removed, and again after each [`FURTHER`] hits. An execution of a compressor has hundreds of
/// millions of accesses, and observing one takes a hundred times as long as the access.
const BUDGET: u64 = 1 << 22;
const FURTHER: u64 = 1 << 20;
/// The same for the executions of a program whose learning phase had such an execution: since not all
/// accesses are observed anyway, more executions are worth more than more accesses in each.
const SAMPLED_BUDGET: u64 = 1 << 16;
const SAMPLED_FURTHER: u64 = 1 << 14;
/// Of the probes, those are removed that were reached this often in the execution.
const FREQUENT: u32 = 1_000;
const SAMPLED_FREQUENT: u32 = 64;
/// After this many hits in one step, a breakpoint is removed.
const TIRES_AFTER: u32 = 5_000;
/// After this many hits of breakpoints in one execution, all probes are removed.
pub(super) const ALL_TIRE_AFTER: u64 = 1_000_000;

impl Probe {
    /// Counts a hit of a breakpoint; false, without counting it, if there were too many.
    pub(super) fn is_bearable(&mut self) -> bool {
        let step = u64::from(POINTS.shadow.generation()) << 40 | world().step.get();
        if self.step != step {
            self.step = step;
            self.hits = 0;
        }
        let stops = PROBES.stops.get();
        if self.hits >= TIRES_AFTER || stops >= ALL_TIRE_AFTER {
            return false;
        }
        self.hits += 1;
        PROBES.stops.set(stops + 1);
        true
    }
}

impl Probe {
    /// Counts that a task reached the probe.
    #[inline]
    pub(super) fn count_run(&mut self) {
        let generation = POINTS.shadow.generation();
        if self.generation != generation {
            (self.generation, self.runs) = (generation, 0);
        }
        self.runs = self.runs.saturating_add(1);
    }

    /// Whether the probe was reached often in this execution.
    fn is_too_frequent(&self, frequent: u32) -> bool {
        self.generation == POINTS.shadow.generation() && self.runs >= frequent
    }

    /// Whether it may be removed. A known conflict is a scheduling point, which a replay has too, and
    /// an atomic operation orders other accesses.
    fn may_be_sampled(&self) -> bool {
        !self.known && !self.atomic
    }
}

/// Probes were reached `hits` times in this execution: if these are too many, removes those that
/// were reached most often. The next execution has them again, so that the first accesses of each
/// site are observed in every execution. This is the idea of Marino, Musuvathi and Narayanasamy,
/// "LiteRace" (2009), that code which runs often is sampled; here by counts, so that equal executions
/// observe the same.
pub(super) fn check(hits: u64) {
    let (budget, further, frequent) = match learned_points::is_sampled() {
        true => (SAMPLED_BUDGET, SAMPLED_FURTHER, SAMPLED_FREQUENT),
        false => (BUDGET, FURTHER, FREQUENT),
    };
    // With `--points all` every access is a step.
    let must_observe_all = POINTS.all.get() || learned_points::has_lock_polls();
    if hits < budget || !hits.is_multiple_of(further) || must_observe_all {
        return;
    }
    let root = root();
    if root.is_learning() {
        root.learned.borrow().find_sampled();
    }
    // From here on not every write is observed.
    stall::stop_finding_polls();
    let probes = PROBES.probes.all();
    remove(|patch| {
        let first = probes.partition_point(|probe| probe.address < patch.address);
        let end = patch.address + u64::from(patch.len);
        let here = probes[first..].iter().take_while(|probe| probe.address < end);
        let mut here = here.filter(|probe| probe.copy != 0);
        here.clone().any(|probe| probe.is_too_frequent(frequent)) && here.all(Probe::may_be_sampled)
    });
}

/// Removes probes until the execution ends, and reports that.
pub(super) fn remove(which: impl Fn(&Patch) -> bool) {
    let executions = &crate::sys::channel::header().instrumentation.probes_removed;
    if !PROBES.removed.get() {
        executions.store(executions.load(Relaxed) + 1, Relaxed);
    }
    take_out(which);
}

fn take_out(which: impl Fn(&Patch) -> bool) {
    PROBES.removed.set(true);
    // The copies of moved instructions stay: a task may be executing one.
    PROBES.modules().for_each(|module| _ = module.with_text(|| put_back(module, &which)));
}

/// Removes all probes until the execution ends. Called when a task panics: what it does to print
/// the message is not the program's own work.
pub(crate) fn remove_all() {
    if are_there() {
        take_out(|_| true);
    }
}

/// The program is about to write these bytes, or to change their protection. Returns whether they
/// are its own code, whose probes are then removed.
pub(crate) fn about_to_change(start: u64, len: u64) -> bool {
    let overlaps = |(low, high)| start < high && low < start.saturating_add(len);
    let is_code = are_there() && PROBES.modules().any(|module| overlaps(module.text()));
    if is_code {
        note_gap(InstrumentationGap::Changed);
        take_out(|_| true);
    }
    is_code
}

/// Whether a descriptor is of a file that is not a system library.
pub(crate) fn is_own_file(descriptor: i32) -> bool {
    let mut name = *b"/proc/self/fd/..........\0";
    let mut digits = descriptor.max(0) as u32;
    for digit in name[14..24].iter_mut().rev() {
        *digit = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    // The name has no leading zeros.
    let zeros = name[14..23].iter().take_while(|&&digit| digit == b'0').count();
    name.copy_within(14 + zeros.., 14);
    let mut path = [0u8; 256];
    // SAFETY: the name ends in a zero byte, and the buffer has the given length.
    let len =
        unsafe { raw::call!(libc::SYS_readlink, name.as_ptr(), path.as_mut_ptr(), path.len()) };
    let path = &path[..len.clamp(0, 256) as usize];
    image::is_observed_file(path)
}
