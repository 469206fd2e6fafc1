//! The runtime's heap: a part of the shared memory, at the same address in every process.
//!
//! The manager's state in it (strategies, findings) outlives a forked child, a memory reset, and
//! even an exec. Only one process at a time runs a manager, so there are no locks.

use crate::sys::channel;
use crate::sys::raw;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::Ordering::Relaxed;

/// The allocator. Blocks are powers of two from 16 bytes on, with a list of free ones for each
/// size.
pub(crate) struct RuntimeHeap;

const CLASSES: usize = 44;
/// The size of the free lists, at the start of the heap region.
const LISTS: usize = 64 * 8;
/// The size of the memory for allocations before the channel is attached; these are never freed.
const EARLY: usize = 64 * 1024;

struct Early(UnsafeCell<([u8; EARLY], usize)>);
// SAFETY: used only before the channel is attached, while libraries are initialised and the process
// has one thread. (A process without a controller never attaches, and would allocate from here in
// all its threads, unsynchronised.)
unsafe impl Sync for Early {}
static EARLY_HEAP: Early = Early(UnsafeCell::new(([0; EARLY], 0)));

/// The address of the private part: the same in every process, so that it moves no memory of the
/// program.
const PRIVATE: usize = 0x1300_0000_0000;
/// Address space for the private part, committed by use.
const PRIVATE_LEN: u64 = 1 << 28;

/// The part of the heap that belongs to one process and ends with it: what a process computes again
/// for itself (the decoder's tables, the list of modules). In the shared part such memory would stay
/// behind at the end of each process, and a search with exec reset starts thousands.
struct Private {
    /// Whether allocations are private at the moment.
    on: Cell<bool>,
    is_mapped: Cell<bool>,
    used: Cell<u64>,
    free: [Cell<u64>; CLASSES],
}
// SAFETY: `Cell`s hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Private {}
static PRIVATE_PART: Private = Private {
    on: Cell::new(false),
    is_mapped: Cell::new(false),
    used: Cell::new(0),
    free: [const { Cell::new(0) }; CLASSES],
};

/// Runs `work`, whose allocations are private to this process: nothing in the shared state may refer
/// to them.
pub(crate) fn in_private<T>(work: impl FnOnce() -> T) -> T {
    if !PRIVATE_PART.is_mapped.get() {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        // If the private part cannot be mapped, the shared part is used.
        let mapped = raw::map(PRIVATE, PRIVATE_LEN as usize, access, flags);
        PRIVATE_PART.is_mapped.set(mapped == Some(PRIVATE));
    }
    let before = PRIVATE_PART.on.replace(PRIVATE_PART.is_mapped.get());
    let result = work();
    PRIVATE_PART.on.set(before);
    result
}

/// The address range of the private part.
pub(crate) fn private_range() -> (u64, u64) {
    let len = if PRIVATE_PART.is_mapped.get() { PRIVATE_LEN } else { 0 };
    (PRIVATE as u64, PRIVATE as u64 + len)
}

fn is_private(block: *const u8) -> bool {
    (PRIVATE..PRIVATE + PRIVATE_LEN as usize).contains(&(block as usize))
}

/// A private block; none if there is no room.
fn allocate_private(class: usize) -> Option<*mut u8> {
    let part = &PRIVATE_PART;
    if !part.on.get() {
        return None;
    }
    let block = part.free.get(class)?.get();
    if block != 0 {
        // SAFETY: a free block of this part; its first word is the next one.
        part.free[class].set(unsafe { *(block as *const u64) });
        return Some(block as *mut u8);
    }
    let size = 1u64 << class;
    let at = part.used.get().next_multiple_of(size.min(4096));
    if at + size > PRIVATE_LEN {
        return None;
    }
    part.used.set(at + size);
    Some((PRIVATE as u64 + at) as *mut u8)
}

fn class(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16).next_power_of_two();
    size.trailing_zeros() as usize
}

unsafe fn early(layout: Layout) -> *mut u8 {
    // SAFETY: see `Early`; the reference ends with this function, which calls nothing that
    // allocates.
    let (bytes, used) = unsafe { &mut *EARLY_HEAP.0.get() };
    let at = bytes.as_ptr() as usize + *used;
    let aligned = at.next_multiple_of(layout.align());
    let end = aligned - bytes.as_ptr() as usize + layout.size();
    if end > EARLY {
        return std::ptr::null_mut();
    }
    *used = end;
    aligned as *mut u8
}

// SAFETY: blocks are disjoint and aligned to their own size up to a page. That size is at least the
// requested alignment; the runtime requests none above a page.
unsafe impl GlobalAlloc for RuntimeHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !channel::attached() {
            // SAFETY: before the channel is attached there is one thread.
            return unsafe { early(layout) };
        }
        let header = channel::header();
        let base = channel::address(header.heap);
        let class = class(layout);
        if class >= CLASSES {
            return std::ptr::null_mut();
        }
        if let Some(block) = allocate_private(class) {
            return block;
        }
        // SAFETY: the lists are at the region's start, and their entries are free blocks, whose
        // first word is the next one. Only this process's one thread uses them.
        unsafe {
            let list = (base as *mut u64).add(class);
            if *list != 0 {
                let block = *list as *mut u64;
                *list = *block;
                return block.cast();
            }
        }
        let size = 1u64 << class;
        // Blocks are aligned to their size up to a page.
        let used = header.heap_used.load(Relaxed).max(LISTS as u64);
        let at = used.next_multiple_of(size.min(4096));
        if at + size > header.heap.len {
            channel::fail(
                "the runtime's own memory (1 GB) is exhausted, in which this search stores data for \
                 every step: --strategy random stores none, --max-steps N ends executions earlier",
            );
        }
        header.heap_used.store(at + size, Relaxed);
        (base as u64 + at) as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !channel::attached() {
            return;
        }
        if is_private(block) {
            let list = &PRIVATE_PART.free[class(layout)];
            // SAFETY: the caller got the block from `alloc` and no longer uses it (`dealloc`'s
            // contract); it has room for a word.
            unsafe { *block.cast::<u64>() = list.get() };
            list.set(block as u64);
            return;
        }
        if (block as usize) < channel::address(channel::header().heap) {
            return;
        }
        let base = channel::address(channel::header().heap);
        // SAFETY: the caller got the block from `alloc` with this layout and no longer uses it
        // (`dealloc`'s contract).
        unsafe {
            let list = (base as *mut u64).add(class(layout));
            *block.cast::<u64>() = *list;
            *list = block as u64;
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's contract of `realloc`; old and new block are disjoint.
        unsafe {
            let wanted = Layout::from_size_align_unchecked(size, layout.align());
            if channel::attached()
                && block as usize >= channel::address(channel::header().heap)
                && class(wanted) == class(layout)
            {
                return block;
            }
            let new = self.alloc(wanted);
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}
