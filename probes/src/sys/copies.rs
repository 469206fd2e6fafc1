//! Copies of the process that the program makes (`fork`). They run beside the program, without control.
//!
//! In a copy every interposer calls the C library's function, and nothing uses the shared memory.

use crate::sys::channel;
use crate::sys::raw;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static COPY: AtomicBool = AtomicBool::new(false);

/// Whether this process is a copy that the program made.
#[inline]
pub(crate) fn is_copy() -> bool {
    COPY.load(Relaxed)
}

/// The most bytes of the C library's code that are changed in one place.
const LEN: usize = 14;

/// The code of the C library that the runtime changed: its address, and the original bytes.
struct Changed(Cell<(u64, [u8; LEN])>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Changed {}
static CHANGED: Changed = Changed(Cell::new((0, [0; LEN])));

/// The code at this address is about to be changed.
pub(crate) fn about_to_change(address: u64) {
    // SAFETY: the caller passes the address of a function that is longer.
    let bytes = unsafe { (address as *const [u8; LEN]).read_unaligned() };
    CHANGED.0.set((address, bytes));
}

/// This process is a copy: the C library's own functions are called from here on.
pub(crate) fn begin() {
    COPY.store(true, Relaxed);
    channel::detach();
    let (address, bytes) = CHANGED.0.get();
    if address == 0 {
        return;
    }
    let start = address & !4095;
    let len = (address + LEN as u64).next_multiple_of(4096) - start;
    let protect = |prot: i32| {
        // SAFETY: the pages contain code of the C library, which this thread, the only one, does not
        // execute while they are not executable: the call is made by the runtime itself.
        unsafe { raw::call!(libc::SYS_mprotect, start, len, prot) == 0 }
    };
    if protect(libc::PROT_READ | libc::PROT_WRITE) {
        for (at, byte) in bytes.into_iter().enumerate() {
            // SAFETY: these are the function's own bytes, its page is writable, and nothing executes it.
            unsafe { (address as *mut u8).add(at).write_volatile(byte) };
        }
        protect(libc::PROT_READ | libc::PROT_EXEC);
    }
}
