//! The state of mutexes of Rust's standard library: one word, in the program's bytes.

use std::cell::Cell;

/// The word of a mutex that no task holds.
pub(crate) const FREE: u32 = 0;
/// The word of a mutex that a task holds, and that no task waits for in the kernel: where the runtime takes
/// mutexes, tasks wait at their gates.
pub(crate) const HELD: u32 = 1;

pub(crate) fn word<'a>(mutex: u64) -> &'a Cell<u32> {
    // SAFETY: callers pass the address of a word that the program accesses in the same step; if it is not
    // mapped, the access faults as the program's own would. It is accessed as a cell by one kernel thread, so
    // several references to it may exist.
    unsafe { &*(mutex as *const Cell<u32>) }
}

/// Whether no task holds the mutex.
#[inline]
pub(crate) fn is_free(mutex: u64) -> bool {
    word(mutex).get() == FREE
}
