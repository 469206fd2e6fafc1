//! The state of semaphores, in the program's bytes.

/// The value: the low half of glibc's 64-bit word. glibc's own `sem_init` is used, and sets it.
#[inline]
pub(crate) fn word<'a>(semaphore: u64) -> &'a mut u32 {
    // SAFETY: callers pass an address that the program gave as a semaphore; if it is not mapped,
    // the access faults as it would in the C library. Each reference is used for one load or store
    // before any other is made.
    unsafe { &mut *(semaphore as *mut u32) }
}

/// The semaphore's value.
#[inline]
pub(crate) fn value(semaphore: u64) -> u32 {
    *word(semaphore)
}
