//! Thread control blocks: real ones, made by the C library, so that everything thread-local works.

use crate::fiber;
use crate::real::{Lazy, find};
use std::cell::Cell;
use std::ffi::CStr;

/// What is known of the C library's blocks. Offsets come from what it exports for debuggers, not
/// from its headers.
struct Layout {
    tid: Cell<usize>,
}
// SAFETY: written once, before any fiber exists.
unsafe impl Sync for Layout {}
static LAYOUT: Layout = Layout { tid: Cell::new(0) };

/// Offsets that are part of the ABI (compilers emit them).
const SELF: [usize; 2] = [0, 16];
const MULTIPLE_THREADS: usize = 24;
const GUARDS: [usize; 2] = [0x28, 0x30];

static ALLOCATE: Lazy = Lazy::new(c"_dl_allocate_tls", None);
static DEALLOCATE: Lazy = Lazy::new(c"_dl_deallocate_tls", None);

/// Finds out what is needed; an error names what is missing.
pub(crate) fn learn() -> Result<(), String> {
    let descriptor = |name: &CStr| {
        let found = find(name, None).cast::<[u32; 3]>();
        if found.is_null() {
            return Err(format!("glibc does not export {}", name.to_string_lossy()));
        }
        // SAFETY: three words: bits, elements, offset (nptl_db's interface).
        Ok(unsafe { (*found)[2] as usize })
    };
    LAYOUT.tid.set(descriptor(c"_thread_db_pthread_tid")?);
    Ok(())
}

/// The thread id that a block holds.
pub(crate) fn tid(block: u64) -> i32 {
    // SAFETY: a block of the C library's.
    unsafe { *((block as usize + LAYOUT.tid.get()) as *const i32) }
}

/// A new block like the running thread's, with fresh thread-local variables.
pub(crate) fn allocate(tid: i32) -> Option<u64> {
    // SAFETY: the function's type since glibc 2.0; null asks it to allocate.
    let block = crate::arena::for_runtime(|| unsafe {
        let allocate: extern "C" fn(*mut u8) -> *mut u8 = std::mem::transmute(ALLOCATE.get());
        allocate(std::ptr::null_mut()) as u64
    });
    if block == 0 {
        return None;
    }
    set_up(block, tid);
    Some(block)
}

fn set_up(block: u64, tid: i32) {
    let mine = fiber::thread_pointer();
    // SAFETY: both are blocks of the C library's; the offsets are its ABI.
    unsafe {
        for offset in SELF {
            *((block as usize + offset) as *mut u64) = block;
        }
        *((block as usize + MULTIPLE_THREADS) as *mut i32) = 1;
        for offset in GUARDS {
            *((block as usize + offset) as *mut u64) = *((mine as usize + offset) as *const u64);
        }
        *((block as usize + LAYOUT.tid.get()) as *mut i32) = tid;
    }
}

/// Gives a block made by [`allocate`] another thread id.
pub(crate) fn set_tid(block: u64, tid: i32) {
    // SAFETY: as in `set_up`.
    unsafe { *((block as usize + LAYOUT.tid.get()) as *mut i32) = tid }
}

/// Gives a block back.
pub(crate) fn free(block: u64) {
    // SAFETY: nobody runs on it any more; true says that the block itself was allocated.
    unsafe {
        let deallocate: extern "C" fn(*mut u8, bool) = std::mem::transmute(DEALLOCATE.get());
        deallocate(block as *mut u8, true);
    }
}

/// The pointer guard, with which the C library hides addresses in jump buffers.
pub(crate) fn pointer_guard() -> u64 {
    // SAFETY: the offset is ABI.
    unsafe { *((fiber::thread_pointer() as usize + GUARDS[1]) as *const u64) }
}
