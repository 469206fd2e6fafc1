//! The parent of the program's process.
//!
//! Where each execution runs in a copy of the process, the copy's parent is the process that was copied,
//! whose number is also the thread id of main. The program sees the parent of that process.

use crate::sys::raw;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::Relaxed;

/// The parent when the runtime took control.
static FIRST: AtomicI64 = AtomicI64::new(0);
/// The parent that the program sees in a copy; 0 in a process that is none.
static SHOWN: AtomicI64 = AtomicI64::new(0);

fn parent() -> i64 {
    // SAFETY: `getppid` takes no arguments and touches no memory.
    unsafe { raw::call!(libc::SYS_getppid) }
}

/// The runtime takes control of this process.
pub(crate) fn begin() {
    FIRST.store(parent(), Relaxed);
}

/// This process is a copy of the process `copied` for an execution, and ends with that.
pub(crate) fn is_copy_of(copied: i64) {
    raw::die_with_parent(copied);
    SHOWN.store(FIRST.load(Relaxed), Relaxed);
}

/// The parent that the program sees.
pub(crate) fn of_program() -> i64 {
    match SHOWN.load(Relaxed) {
        0 => parent(),
        shown => shown,
    }
}
