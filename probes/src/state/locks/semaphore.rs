//! The state of semaphores, in the program's bytes.

use std::cell::Cell;

/// The value: the low half of glibc's 64-bit word. glibc's own `sem_init` is used, and sets it.
#[inline]
pub(crate) fn word<'a>(semaphore: u64) -> &'a Cell<u32> {
    // SAFETY: callers pass an address that the program gave as a semaphore; if it is not mapped,
    // the access faults as it would in the C library. It is accessed as a cell by one kernel
    // thread, so several references to it may exist.
    unsafe { &*(semaphore as *const Cell<u32>) }
}

/// The semaphore's value.
#[inline]
pub(crate) fn value(semaphore: u64) -> u32 {
    word(semaphore).get()
}
