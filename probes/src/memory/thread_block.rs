//! Thread control blocks. The C library allocates them, so that everything thread-local works.

use crate::fiber::switch;
use crate::sys::real::{find, lazy, real};
use std::cell::Cell;
use std::ffi::{CStr, c_int};

/// Offsets in the C library's control blocks. They come from what it exports for debuggers, not
/// from its headers.
struct Layout {
    tid: Cell<usize>,
    /// The links of the list of all threads.
    list: Cell<usize>,
    /// The innermost handler of the thread's old list of cleanup handlers; 0 if it was not found.
    cleanup: Cell<usize>,
    /// The address of the head of that list; 0 if it is not known.
    all: Cell<usize>,
}
// SAFETY: a `Cell` hands out no references; it is written once, before any fiber exists.
unsafe impl Sync for Layout {}
static LAYOUT: Layout =
    Layout { tid: Cell::new(0), list: Cell::new(0), cleanup: Cell::new(0), all: Cell::new(0) };

/// Offsets that are part of the ABI (compilers emit them).
const SELF: [usize; 2] = [0, 16];
const MULTIPLE_THREADS: usize = 24;
const GUARDS: [usize; 2] = [0x28, 0x30];

lazy! {
    static ALLOCATE = c"_dl_allocate_tls", None;
    static DEALLOCATE = c"_dl_deallocate_tls", None;
}

/// Determines the offsets; an error names what is missing.
pub(crate) fn learn() -> Result<(), String> {
    let descriptor = |name: &CStr| {
        let found = find(name, None).cast::<[u32; 3]>();
        if found.is_null() {
            return Err(format!("glibc does not export {}", name.to_string_lossy()));
        }
        // SAFETY: the symbol is an array of three words: bits, elements, offset (the interface of
        // nptl_db).
        Ok(unsafe { (*found)[2] as usize })
    };
    LAYOUT.tid.set(descriptor(c"_thread_db_pthread_tid")?);
    LAYOUT.list.set(descriptor(c"_thread_db_pthread_list")?);
    LAYOUT.cleanup.set(cleanup_offset().unwrap_or(0));
    // Not all versions have it, and few programs need it.
    let loader = find(c"_rtld_global", None) as usize;
    if let (Ok(offset), true) = (descriptor(c"_thread_db_rtld_global__dl_stack_used"), loader != 0)
    {
        LAYOUT.all.set(loader + offset);
    }
    Ok(())
}

/// A handler in a thread's old list of cleanup handlers, which programs that were built for
/// LinuxThreads and the C library's streams use (`struct _pthread_cleanup_buffer`).
#[repr(C)]
pub(crate) struct CleanupHandler {
    function: Option<extern "C-unwind" fn(u64)>,
    argument: u64,
    kind: i32,
    outer: u64,
}

/// The offset of the word that changes where the C library registers a handler.
fn cleanup_offset() -> Option<usize> {
    let len = find(c"_thread_db_sizeof_pthread", None).cast::<u32>();
    if len.is_null() {
        return None;
    }
    let mut handler = CleanupHandler { function: None, argument: 0, kind: 0, outer: 0 };
    let at = &raw mut handler;
    // SAFETY: the symbol is the length of the running thread's block, which is read word by word. The
    // functions link the handler, a local, into the thread's list and remove it again; 0 means that
    // it is not called.
    unsafe {
        real!(_pthread_cleanup_push(at, 0u64, 0u64) as fn(*mut CleanupHandler, u64, u64) -> ());
        let words = std::slice::from_raw_parts(
            switch::thread_pointer() as *const u64,
            *len as usize / size_of::<u64>(),
        );
        let found = words.iter().position(|&word| word == at as u64);
        real!(_pthread_cleanup_pop(at, 0) as fn(*mut CleanupHandler, c_int) -> ());
        found.map(|index| index * size_of::<u64>())
    }
}

/// The innermost handler of the running thread's old list; 0 if there is none.
pub(crate) fn cleanup_handler() -> u64 {
    match LAYOUT.cleanup.get() {
        0 => 0,
        // SAFETY: the thread pointer is a valid block; the offset is that library's own.
        offset => unsafe { *((switch::thread_pointer() as usize + offset) as *const u64) },
    }
}

/// Removes the innermost handler from the running thread's old list, and calls it.
///
/// # Safety
/// The list is not empty, and the frame of the handler's owner has not been reused.
pub(crate) unsafe fn run_cleanup_handler() {
    let offset = LAYOUT.cleanup.get();
    // SAFETY: the thread pointer is a valid block, whose word at the offset points to a handler (the
    // caller's contract).
    unsafe {
        let innermost = (switch::thread_pointer() as usize + offset) as *mut u64;
        let CleanupHandler { function, argument, outer, .. } =
            std::ptr::read(*innermost as *const CleanupHandler);
        *innermost = outer;
        if let Some(function) = function {
            function(argument);
        }
    }
}

/// The thread id in a block.
pub(crate) fn tid(block: u64) -> i32 {
    // SAFETY: callers pass a block of the C library's; the offset is from that library.
    unsafe { *((block as usize + LAYOUT.tid.get()) as *const i32) }
}

/// The address of the thread id in a block.
pub(crate) fn tid_address(block: u64) -> u64 {
    block + LAYOUT.tid.get() as u64
}

/// Makes the running thread's block the only one of its list, unless it is in the C library's. In a copy of
/// the process the C library moves it to another list.
pub(crate) fn link_own() {
    let links = (switch::thread_pointer() as usize + LAYOUT.list.get()) as *mut [u64; 2];
    // SAFETY: the thread pointer is a valid block; the offset is from the C library.
    unsafe {
        if *links == [0, 0] {
            *links = [links as u64; 2];
        }
    }
}

/// The head of the C library's list of threads whose stacks are its own; none if it is not exported.
fn all_threads() -> Option<*mut [u64; 2]> {
    let offset = LAYOUT.all.get();
    (offset != 0).then_some(offset as *mut [u64; 2])
}

/// Links a block into the C library's list of all threads, unless it is in a list.
pub(crate) fn link(block: u64) {
    let Some(head) = all_threads() else { return };
    let links = (block as usize + LAYOUT.list.get()) as *mut [u64; 2];
    // SAFETY: callers pass a valid block; the offsets are the C library's. The list is circular: the
    // first word is the next entry, the second the one before. Its lock guards it against other kernel
    // threads, of which there are none.
    unsafe {
        if *links == [0, 0] {
            let next = (*head)[0];
            *links = [next, head as u64];
            (*(next as *mut [u64; 2]))[1] = links as u64;
            (*head)[0] = links as u64;
        }
    }
}

/// Removes a block from the C library's list of all threads.
fn unlink(block: u64) {
    let links = (block as usize + LAYOUT.list.get()) as *mut [u64; 2];
    // SAFETY: as in `link`.
    unsafe {
        let [next, before] = std::mem::take(&mut *links);
        if next != 0 && before != 0 {
            (*(next as *mut [u64; 2]))[1] = before;
            (*(before as *mut [u64; 2]))[0] = next;
        }
    }
}

/// Removes all blocks from the C library's list of all threads. What walks it for other reasons than to
/// initialise their variables expects kernel threads.
pub(crate) fn unlink_all() {
    let Some(head) = all_threads() else { return };
    // SAFETY: as in `link`; each entry is in a block, at the same offset.
    unsafe {
        let mut next = (*head)[0];
        while next != head as u64 && next != 0 {
            let entry = next;
            next = (*(entry as *const [u64; 2]))[0];
            unlink(entry - LAYOUT.list.get() as u64);
        }
    }
}

/// Allocates a block with fresh thread-local variables, and the running thread's guards.
pub(crate) fn allocate(tid: i32) -> Option<u64> {
    // SAFETY: the function's type since glibc 2.0; null asks it to allocate the block.
    let block = crate::memory::arena::for_runtime(|| unsafe {
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
    let mine = switch::thread_pointer();
    // SAFETY: both are blocks of the C library's, the new one unused; the offsets are ABI.
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

/// Sets the thread id of a block.
pub(crate) fn set_tid(block: u64, tid: i32) {
    // SAFETY: callers pass a block of the C library's; the offset is from that library.
    unsafe { *((block as usize + LAYOUT.tid.get()) as *mut i32) = tid }
}

/// Frees a block.
pub(crate) fn free(block: u64) {
    unlink(block);
    // The creation of a thread frees blocks after it has taken a stack: no other task may run there.
    // SAFETY: callers pass a block from `allocate` of a task that has ended, so it is no thread
    // pointer any more. The argument `true` says that the block itself is to be freed.
    crate::memory::arena::for_runtime(|| unsafe {
        let deallocate: extern "C" fn(*mut u8, bool) = std::mem::transmute(DEALLOCATE.get());
        deallocate(block as *mut u8, true);
    });
}

/// Sets the guard that functions of the running thread store on their stacks.
pub(crate) fn set_stack_guard(guard: u64) {
    // SAFETY: the thread pointer is a valid block; the offset is ABI.
    unsafe { *((switch::thread_pointer() as usize + GUARDS[0]) as *mut u64) = guard }
}

/// The pointer guard, with which the C library mangles addresses in jump buffers.
pub(crate) fn pointer_guard() -> u64 {
    // SAFETY: the thread pointer is a valid block; the offset is ABI.
    unsafe { *((switch::thread_pointer() as usize + GUARDS[1]) as *const u64) }
}
