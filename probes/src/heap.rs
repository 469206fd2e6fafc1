//! The runtime's own heap: a part of the shared memory, at the same address in every process.
//!
//! What the manager keeps here (strategies, what was seen) outlives a fork that ends, a memory that
//! is put back, and even an exec. Only one process at a time runs a manager, so nothing is locked.

use crate::channel;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::Relaxed;

/// Blocks are powers of two from 16 bytes on, with a list of free ones for each size.
pub(crate) struct RuntimeHeap;

const CLASSES: usize = 44;
/// The free lists stand at the start of the heap region.
const LISTS: usize = 64 * 8;
/// What is asked for before the channel is attached comes from here and is never returned.
const EARLY: usize = 64 * 1024;

struct Early(UnsafeCell<([u8; EARLY], usize)>);
// SAFETY: used by the one thread there is while libraries are initialised.
unsafe impl Sync for Early {}
static EARLY_HEAP: Early = Early(UnsafeCell::new(([0; EARLY], 0)));

fn class(layout: Layout) -> usize {
    let size = layout.size().max(layout.align()).max(16).next_power_of_two();
    size.trailing_zeros() as usize
}

unsafe fn early(layout: Layout) -> *mut u8 {
    // SAFETY: single-threaded, see `Early`.
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

// SAFETY: blocks are disjoint and aligned to their own size, which is at least the alignment asked
// for (the region is page-aligned; larger alignments are not asked for).
unsafe impl GlobalAlloc for RuntimeHeap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !channel::attached() {
            // SAFETY: before the channel there is one thread.
            return unsafe { early(layout) };
        }
        let header = channel::header();
        let base = channel::address(header.heap);
        let class = class(layout);
        if class >= CLASSES {
            return std::ptr::null_mut();
        }
        // SAFETY: the lists lie at the region's start; a list's entries are free blocks whose first
        // word is the next one.
        unsafe {
            let list = (base as *mut u64).add(class);
            if *list != 0 {
                let block = *list as *mut u64;
                *list = *block;
                return block.cast();
            }
        }
        let size = 1u64 << class;
        // Large blocks are page-aligned, small ones aligned to their size up to a page.
        let used = header.heap_used.load(Relaxed).max(LISTS as u64);
        let at = used.next_multiple_of(size.min(4096));
        if at + size > header.heap.len {
            channel::fail(
                "the runtime's own memory is used up, in which a search keeps something of every step; \
                 --strategy random keeps nothing, --max-steps N ends executions earlier",
            );
        }
        header.heap_used.store(at + size, Relaxed);
        (base as u64 + at) as *mut u8
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !channel::attached() || (block as usize) < channel::address(channel::header().heap) {
            return;
        }
        let base = channel::address(channel::header().heap);
        // SAFETY: the block came from `alloc` with this layout and is nobody's any more.
        unsafe {
            let list = (base as *mut u64).add(class(layout));
            *block.cast::<u64>() = *list;
            *list = block as u64;
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's contract.
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
