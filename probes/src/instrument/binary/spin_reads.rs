//! The reads of a loop that counts them ([`crate::instrument::binary::bounded_spin`]): only the first one is a
//! step.

use crate::instrument::binary::bounded_spin::BoundedSpin;
use crate::state::world::world;
use std::cell::Cell;

/// After so many reads, one is a step again: a loop whose bound is so large that it never reaches it must not
/// keep all other tasks from running.
const MOST: u32 = 4096;

/// The last read in such a loop.
struct LastRead {
    task: Cell<u16>,
    probe: Cell<u64>,
    /// The number of steps at that time.
    step: Cell<u64>,
    /// How many reads there were since the last step.
    count: Cell<u32>,
    registers: Cell<[u64; 16]>,
}
// SAFETY: the controlled process has one kernel thread, and a `Cell` hands out no references.
unsafe impl Sync for LastRead {}

static LAST: LastRead = LastRead {
    task: Cell::new(0),
    probe: Cell::new(u64::MAX),
    step: Cell::new(0),
    count: Cell::new(0),
    registers: Cell::new([0; 16]),
};

/// An execution begins, or continues where it was saved.
pub(super) fn forget() {
    LAST.probe.set(u64::MAX);
}

/// The running task reads in such a loop, at this probe and with these registers.
pub(super) fn note(probe: u64, registers: &[u64; 16]) {
    LAST.count.set(0);
    set(probe, registers);
}

fn set(probe: u64, registers: &[u64; 16]) {
    let world = world();
    LAST.task.set(world.current.get());
    LAST.probe.set(probe);
    LAST.step.set(world.step.get());
    LAST.registers.set(*registers);
}

/// Whether the running task is about to repeat the read of a loop that it made last, and no task has made a
/// step since.
pub(super) fn is_repeated(probe: u64, spin: &BoundedSpin, registers: &[u64; 16]) -> bool {
    if LAST.probe.get() != probe {
        return false;
    }
    let world = world();
    let count = LAST.count.get() + 1;
    let is_repeated = count < MOST
        && LAST.task.get() == world.current.get()
        && LAST.step.get() == world.step.get()
        && spin.leads(&LAST.registers.get(), registers);
    if is_repeated {
        LAST.count.set(count);
        set(probe, registers);
    }
    is_repeated
}
