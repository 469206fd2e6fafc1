//! Spin loops without scheduling points: a task that waits for another in such a loop must yield to
//! it.
//!
//! Detection counts accesses, not time, so that it gives the same result in every execution.

use crate::detect::access::{self, Access, POINTS, me, suspect};
use crate::detect::waiting::{PATIENCE, WAITED_FOR, Waiting, is_on_own_stack};
use crate::schedule::gates::enabled;
use crate::schedule::scheduler::point;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::task::Gate;
use crate::state::upcalls;
use crate::state::world::world;
use crate::sys::channel::header;
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;

/// How many accesses of a suspected task are inspected.
const LOOKED_AT: u32 = 256;
/// After this many inspections that found a task busy, without a step, it yields nevertheless: it
/// may count its iterations in memory that no other task uses.
pub(crate) const BUSY_FOR: u32 = 64;
/// How many inspections in a row find the same words where an execution that only observes ends.
const REPETITIONS: u32 = 16;
/// How many times per execution a busy task yields for that reason.
const MOST_YIELDS: u32 = 8;

/// Whether the running task, which is busy, is to yield: it has been busy for long, and another
/// task may have to end its loop. It does not if no other task is enabled, and only a few
/// times: a loop that never ends must still be reported.
fn must_yield(waiting: &Waiting) -> bool {
    waiting.found_busy.set(waiting.found_busy.get() + 1);
    if !waiting.found_busy.get().is_multiple_of(BUSY_FOR) || waiting.yields.get() == MOST_YIELDS {
        return false;
    }
    let world = world();
    let mut others = world.alive().filter(|&number| usize::from(number) != me());
    let is_free = others.any(|number| enabled(world, &world.tasks[usize::from(number)]));
    waiting.yields.set(waiting.yields.get() + u32::from(is_free));
    is_free
}

/// The process ends. A task that is still in such a loop waits for what no task does: a search that observes
/// only known conflicts must see the access as well, or the loop would keep all other tasks from running.
pub(crate) fn process_ends() {
    if !POINTS.probed.get() || !access::take_part() {
        return;
    }
    let world = world();
    for number in world.alive() {
        let (site, word) = world.tasks[usize::from(number)].loop_access.get();
        if site != 0 {
            access::expect_point(word, site);
        }
    }
}

/// A task is in such a loop in an execution that only observes, whose replays do not see the loop. If it
/// reads the same words for long, the execution says nothing and ends, unless it has an effect that a second
/// one would find.
fn look_away(waiting: &Waiting) {
    // Once probes were removed, a task that computes may seem to wait.
    let sees_all = header().instrumentation.probes_removed.load(Relaxed) == 0;
    let words = waiting.read_words.get();
    let (before, count) = waiting.repeated.get();
    let count = if before == words { count + 1 } else { 0 };
    waiting.repeated.set((words, count));
    let waits = sees_all && !waiting.busy.get();
    if waits && count == REPETITIONS && !upcalls::get().has_left_state() {
        header().needs_points.store(1, Relaxed);
        outcome::end_here(End::Cut);
    }
    let inspects_again = waits && count < REPETITIONS;
    begin_accesses(waiting, inspects_again);
}

/// Begins the next accesses of a task without a step. `inspected`: whether they are to show that it waits.
fn begin_accesses(waiting: &Waiting, inspected: bool) {
    suspect(inspected);
    waiting.busy.set(false);
    waiting.read_words.set([0; WAITED_FOR]);
    POINTS.budget.set(if inspected { LOOKED_AT } else { PATIENCE });
}

/// An access that is no step. `counts`: whether it counts for the detection of waiting.
pub(crate) fn no_step(access: &Access, counts: bool) {
    // The state of a task in a spin loop with steps does not include what it writes elsewhere.
    if POINTS.watched.get() && !is_on_own_stack(access) {
        if access.writes {
            crate::schedule::stall::record_write(access.address, access.size);
        } else {
            crate::schedule::stall::record_read(access.address, access.size);
        }
    }
    if counts {
        watch_for_waiting(access);
    }
}

/// A loop that reads the same values without a scheduling point, until another task writes, would
/// never end: it yields here. So does a loop that does other things as well, after many more
/// accesses, and any other code that takes that long.
fn watch_for_waiting(access: &Access) {
    let waiting = &POINTS.waiting;
    if POINTS.suspect.get() {
        waiting.inspect(access);
    }
    if POINTS.budget.get() != 0 && POINTS.budget.get() <= PATIENCE {
        return;
    }
    let was_suspect = POINTS.suspect.get();
    if was_suspect && (!waiting.busy.get() || must_yield(waiting)) {
        if waiting.busy.get() {
            // Its state may differ from the last time.
            crate::schedule::stall::makes_progress();
        }
        if access::are_only_observed() {
            return look_away(waiting);
        }
        let task = world().task();
        task.loop_access.set((access.site, access.address & !7));
        point(Operation::Yield, 0, access.site, Gate::Open);
        return task.loop_access.set((0, 0));
    }
    begin_accesses(waiting, !was_suspect);
}
