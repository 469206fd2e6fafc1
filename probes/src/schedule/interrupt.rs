//! Tasks that keep all others from moving: a loop without a scheduling point.
//!
//! Such a loop may be correct, for example if main returns meanwhile, which ends the process. So the
//! watchdog's signal makes its task yield: the task is enabled again when no other is (the good
//! Samaritan rule of CHESS: M. Musuvathi, S. Qadeer, "Fair stateless model checking", PLDI 2008). It is
//! reported as a spin loop when it runs on with no other task enabled, or after [`TURNS`] turns.
//!
//! A task that computes is in no such loop: if the memory that tasks share changed since the last signal, it
//! continues, for [`COMPUTES`] signals. A loop over memory that continues for longer is reported.

use crate::detect::access;
use crate::schedule::gates::enabled;
use crate::schedule::memory_hash;
use crate::schedule::scheduler::point;
use crate::schedule::stall;
use crate::schedule::time::{self, Spent};
use crate::state::overdue;
use crate::state::task::Gate;
use crate::state::world::world;
use crate::sys::channel::{beat, header};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::points::InstrumentationGap;

/// After this many turns in one execution, a loop is reported.
const TURNS: u32 = 100;
/// A task that computes without a scheduling point for more signals than this counts as spinning.
const COMPUTES: u32 = 10;

/// The turns in this execution, and a hash of the memory at the last signal.
struct Turns(Cell<u32>, Cell<Option<u64>>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Turns {}
static TURNS_TAKEN: Turns = Turns(Cell::new(0), Cell::new(None));

/// An execution begins.
pub(crate) fn begin() {
    TURNS_TAKEN.0.set(0);
    TURNS_TAKEN.1.set(None);
}

/// What happens to the running task at the watchdog's signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// It yields.
    Yield,
    /// It computes, and continues.
    Continue,
    /// It spins, or computed for too long.
    Spins,
}

/// The watchdog's signal came. Called where the task cannot run on meanwhile.
pub(crate) fn due() -> Due {
    let hash = memory_hash::of_known(world());
    let before = TURNS_TAKEN.1.replace(Some(hash));
    if may_yield() {
        Due::Yield
    } else if before != Some(hash) && TURNS_TAKEN.0.get() < COMPUTES {
        count();
        beat();
        Due::Continue
    } else {
        Due::Spins
    }
}

/// Counts a signal that the execution survived.
fn count() {
    TURNS_TAKEN.0.set(TURNS_TAKEN.0.get() + 1);
    header().interrupted.store(1, Relaxed);
    access::note_gap(InstrumentationGap::Interrupted);
}

/// Whether no task has yielded in this execution because it ran for long.
pub(crate) fn is_clear() -> bool {
    TURNS_TAKEN.0.get() == 0
}

/// Whether the running task can yield: another task could run, and this was not done too often.
fn may_yield() -> bool {
    TURNS_TAKEN.0.get() < TURNS && another_can_run()
}

/// Whether another task could run.
fn another_can_run() -> bool {
    let world = world();
    let me = world.current.get();
    let mut others = world.alive().filter(|&number| number != me);
    others.any(|number| {
        let task = &world.tasks[usize::from(number)];
        task.gate() == Gate::Alone || enabled(world, task) && !stall::waits(number)
    })
}

/// The running task yields to all others.
pub(crate) fn yield_now() {
    let task = world().task();
    count();
    stall::makes_progress();
    // Where the signal came differs from execution to execution, so the step has the last step's site.
    point(Operation::Yield, 0, task.site.get(), Gate::Alone);
}

/// The running task makes one call after the other without a step: it yields, if it can.
pub(crate) fn yield_at_call(site: u64) {
    if may_yield() {
        TURNS_TAKEN.0.set(TURNS_TAKEN.0.get() + 1);
        point(Operation::Yield, 0, site, Gate::Open);
    }
}

/// The program calls a function of the runtime that is no step. A loop of such calls may wait for another
/// task, and the watchdog's signal mostly comes within the runtime.
#[inline]
pub(crate) fn call_without_step(site: u64) {
    overdue::act_if_due(site);
    if time::spend(|| false) == Spent::Yields && may_yield() {
        count();
        stall::makes_progress();
        point(Operation::Yield, 0, site, Gate::Alone);
    }
}

/// The same for a reading of a clock, whose loop may end without them.
#[inline]
pub(crate) fn clock_reading(site: u64) {
    overdue::act_if_due(site);
    match time::spend(another_can_run) {
        Spent::Continues => {}
        Spent::Yields => {
            stall::makes_progress();
            yield_at_call(site);
        }
        Spent::YieldsUntilThen => {
            stall::makes_progress();
            point(Operation::Yield, 0, site, Gate::Open);
        }
    }
}

/// The program's code was to be interrupted, but the runtime's was: the next call that checks for it
/// yields, or the next signal.
pub(crate) fn later() {
    count();
    overdue::note();
    beat();
}
