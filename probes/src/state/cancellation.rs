//! The cancellation state of a task: a request, and whether it may act on it. What acts on a request
//! is [`crate::primitives::cancel`].

use crate::state::task::{Gate, Task};
use crate::state::world::world;

/// The bits of [`Task::cancel`].
pub(crate) const REQUESTED: u8 = 1;

pub(crate) const DISABLED: u8 = 2;

pub(crate) const ASYNCHRONOUS: u8 = 4;

/// The task is ending: a request must not interrupt its cleanup.
pub(crate) const ENDING: u8 = 8;

/// The task is parked at a cancellation point.
pub(crate) const AT_POINT: u8 = 16;

/// Whether all of these bits are set.
pub(crate) fn has(task: &Task, bits: u8) -> bool {
    task.cancel.get() & bits == bits
}

/// Sets or clears bits.
pub(crate) fn set(task: &Task, bits: u8, to: bool) {
    let others = task.cancel.get() & !bits;
    task.cancel.set(if to { others | bits } else { others });
}

/// Whether the running task has a cancellation request to act on.
#[inline]
pub(crate) fn is_due() -> bool {
    is_due_for(world().task())
}

/// Whether a task has a cancellation request to act on.
#[inline]
pub(crate) fn is_due_for(task: &Task) -> bool {
    task.cancel.get() & (REQUESTED | DISABLED | ENDING) == REQUESTED
}

/// Whether cancellation is disabled for a task.
pub(crate) fn is_disabled(task: &Task) -> bool {
    task.cancel.get() & (DISABLED | ENDING) != 0
}

/// Whether a task is at a cancellation point.
pub(crate) fn is_at_point(task: &Task) -> bool {
    has(task, AT_POINT)
}

/// From here on the running task cannot be cancelled.
pub(crate) fn ends() {
    set(world().task(), ENDING, true);
}

/// The gate of a task that is to be cancelled.
pub(crate) fn opened(gate: Gate) -> Gate {
    match gate {
        // A wait on a condition variable must reacquire the mutex, however it ends.
        Gate::WokenMutexFree(mutex) | Gate::TimedMutexFree(mutex) => Gate::TimedMutexFree(mutex),
        _ => Gate::Open,
    }
}

/// Makes cancellation of the running task deferred; returns the previous type.
pub(crate) fn defer() -> i32 {
    let task = world().task();
    let before = has(task, ASYNCHRONOUS);
    set(task, ASYNCHRONOUS, false);
    i32::from(before)
}
