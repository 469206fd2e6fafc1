//! Which accesses are monitored, and by which kind of instrumentation.

use crate::detect::access::{
    self, POINTS, fresh, new_stretch, note_gap, settle_write, stepped, update_monitoring,
};
use crate::detect::{delayed_stores, learned_points, race};
use crate::instrument::binary;
use crate::instrument::binary::probe::Wanted;
use crate::instrument::compiled;
use crate::memory::{runtime_heap, shared_views};
use crate::schedule::predicates;
use crate::state::root::root;
use traces::points::{Granularity, InstrumentationGap};

/// Maps the memory for monitoring accesses and decides how they are observed. Called before the
/// snapshot, so that this memory is no part of it.
pub(crate) fn prepare(points: Granularity) {
    if points == Granularity::Api || POINTS.ready.get() {
        return;
    }
    POINTS.all.set(points == Granularity::All);
    let mapped = POINTS.shadow.map()
        && POINTS.clocks.map()
        && runtime_heap::in_private(learned_points::map)
        && race::map()
        && delayed_stores::map();
    if !runtime_heap::in_private(shared_views::prepare) {
        note_gap(InstrumentationGap::Crowded);
    }
    // Compiler-instrumented code needs no probes.
    let instrumented = compiled::is_present();
    if instrumented {
        runtime_heap::in_private(binary::imports::take_imports);
    }
    let mixed = instrumented && binary::is_mixed();
    let observes = !instrumented || mixed;
    let has_sites = predicates::have_sites();
    let probed = (observes || has_sites) && runtime_heap::in_private(|| binary::prepare(observes));
    // In a replay, only known sites are probed.
    if mixed && !probed && !root().repeats() {
        note_gap(InstrumentationGap::Mixed);
    }
    POINTS.mixed.set(mixed);
    POINTS.certain.set(instrumented && !mixed);
    POINTS.probed.set(binary::are_there());
    // The points of a recording may all be calls of the kernel from the C library, where no probes are.
    let repeats_points = root().repeats() && !root().learned.borrow().known().is_empty();
    POINTS.ready.set(mapped && (instrumented || probed || repeats_points));
}

/// Ranges of memory that belong to the runtime.
pub(crate) fn ranges() -> Vec<(u64, u64)> {
    if !POINTS.ready.get() {
        return Vec::new();
    }
    let mut ranges = Vec::new();
    ranges.extend(POINTS.shadow.ranges());
    ranges.extend(POINTS.clocks.ranges());
    ranges.extend(learned_points::ranges());
    ranges.extend(race::ranges());
    ranges.extend(delayed_stores::ranges());
    if binary::are_any() {
        ranges.extend(binary::ranges());
    }
    // Whole pages: what remains of a mapping around these ranges counts as the program's.
    ranges.iter_mut().for_each(|(_, end)| *end = end.next_multiple_of(4096));
    ranges
}

/// Adopts what was learned, and installs the probes for the next execution. Whether accesses are
/// monitored in it.
pub(crate) fn refresh() -> bool {
    if !POINTS.ready.get() {
        return false;
    }
    let root = root();
    let known = learned_points::refresh(&POINTS.shadow);
    if learned_points::is_full() {
        note_gap(InstrumentationGap::Crowded);
    }
    // An exhaustive search must see what it reaches on paths that the learning phase did not take;
    // a random walk favours speed.
    let thorough =
        root.learns && (root.is_checking() || !root.strategy.borrow().rest().is_memoryless());
    let thorough = thorough && !learned_points::is_brief() || root.learns && brief_sample();
    // Replays monitor the accesses of code that the compiler instrumented.
    POINTS.only_observed.set(root.observes.get() && !access::are_compiled());
    POINTS.notes_shared.set(root.notes_shared());
    POINTS.stops_at_shared.set(root.alternates());
    let learning = root.is_learning() || root.observes.get() || POINTS.all.get();
    // A loop that looks under a lock is recognised only if every write is seen.
    let thorough = thorough || learned_points::has_lock_polls();
    // A replay sees the same accesses of compiler-instrumented code, but fewer of probed code.
    POINTS.picky.set(!learning && (POINTS.mixed.get() || thorough && binary::are_there()));
    // Compiler-instrumented code does not distinguish accesses to stacks.
    let stacks = root.stacks_touched.get() || POINTS.mixed.get();
    let wanted = match (learning || thorough, stacks) {
        (false, _) => Wanted::Learned,
        (true, false) => Wanted::All,
        (true, true) => Wanted::WithStacks,
    };
    binary::refresh(wanted, known);
    !binary::are_there() || POINTS.mixed.get() || wanted != Wanted::Learned || known > 0
}

/// Whether the execution is one of the few that observe all accesses after a brief learning phase.
fn brief_sample() -> bool {
    learned_points::is_brief() && root().is_sampling()
}

/// A hash of the code of the program's own libraries that were loaded when the program began.
pub(crate) fn libraries() -> u64 {
    binary::libraries()
}

/// How many times the execution reached probes, in a program that has them.
pub(crate) fn probes_met() -> Option<u64> {
    binary::are_there().then(binary::hits)
}

/// The program makes a system call. Code that it generates, modifies or loads is not monitored.
pub(crate) fn note_call(number: i64, args: [u64; 6]) {
    if !POINTS.ready.get() {
        return;
    }
    if matches!(number, libc::SYS_munmap | libc::SYS_mremap) {
        // A pending write to that memory cannot be read any more, and what is mapped there next is
        // new.
        settle_write();
        fresh(args[0], args[1]);
    }
    if !matches!(number, libc::SYS_mmap | libc::SYS_mprotect) {
        return;
    }
    let changes = number == libc::SYS_mprotect && binary::about_to_change(args[0], args[1]);
    if changes || args[2] as i32 & libc::PROT_EXEC == 0 {
        return;
    }
    let is_file = number == libc::SYS_mmap && args[3] as i32 & libc::MAP_ANONYMOUS == 0;
    if !is_file {
        note_gap(InstrumentationGap::Generated);
    } else if binary::is_own_file(args[4] as i32) {
        note_gap(InstrumentationGap::Loaded);
    }
}

/// An execution begins.
pub(crate) fn begin() {
    if !refresh() {
        return;
    }
    if shared_views::begin() {
        POINTS.shadow.views_changed();
    }
    let anew = POINTS.clocks.begin();
    POINTS.shadow.begin(anew);
    race::begin();
    delayed_stores::begin();
    POINTS.written.set((0, 0));
    access::forget_condition_writer();
    POINTS.waiting.begin();
    let is_plain = !POINTS.all.get() && !race::is_watching();
    POINTS.plainly.set(is_plain && !POINTS.notes_shared.get() && !POINTS.stops_at_shared.get());
    stepped();
    update_monitoring();
    new_stretch();
}
