//! Helpers that several models use.

/// Reads an object that the program names. If it is not mapped, the calling task faults here, as it
/// would in the C library, and not the scheduler, which later reads the objects of all parked
/// tasks.
#[inline]
pub(crate) fn touch(object: u64) {
    // SAFETY: the program passed the address as an object; a fault here is the program's crash.
    unsafe { (object as *const u32).read_volatile() };
}
