//! The state of spin locks, in the program's bytes.

use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// The words of a free lock and of a locked one.
struct Words(Cell<Option<(i32, i32)>>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Words {}
static WORDS: Words = Words(Cell::new(None));

pub(crate) fn words() -> (i32, i32) {
    if let Some(known) = WORDS.0.get() {
        return known;
    }
    let mut word = -77;
    let at = (&raw mut word).cast::<c_void>();
    real!(pthread_spin_init(at, 0) as fn(*mut c_void, c_int) -> c_int);
    // SAFETY: points to the local above.
    let free = unsafe { at.cast::<i32>().read_volatile() };
    real!(pthread_spin_lock(at) as fn(*mut c_void) -> c_int);
    // SAFETY: as above.
    let held = unsafe { at.cast::<i32>().read_volatile() };
    WORDS.0.set(Some((free, held)));
    (free, held)
}

pub(crate) fn word<'a>(lock: u64) -> &'a Cell<i32> {
    // SAFETY: callers pass an address that the program gave as a spin lock; if it is not mapped,
    // the access faults as it would in the C library. It is accessed as a cell by one kernel
    // thread, so several references to it may exist.
    unsafe { &*(lock as *const Cell<i32>) }
}

/// Whether no task holds the lock.
pub(crate) fn is_free(lock: u64) -> bool {
    word(lock).get() == words().0
}
