//! The heap of a copy that the program made of its process (`fork`): new blocks are the C library's, and
//! those of the arena are never released. The copy may have several kernel threads, for which the arena is
//! not made.

use crate::memory::arena::header_of;
use crate::sys::copies::is_copy;
use crate::sys::real::real;

/// A block of the C library's in a copy; null in the controlled process, which has used up its heap.
pub(super) fn allocate(size: usize, align: usize) -> *mut u8 {
    if !is_copy() {
        return std::ptr::null_mut();
    }
    real!(memalign(align, size) as fn(usize, usize) -> *mut u8)
}

/// Releases a block in a copy.
pub(super) fn free(block: *mut u8) {
    if header_of(block).is_none() {
        real!(free(block) as fn(*mut u8) -> ());
    }
}

/// Changes the size of a block in a copy.
pub(super) fn resize(block: *mut u8, size: usize) -> *mut u8 {
    let Some(header) = header_of(block) else {
        return real!(realloc(block, size) as fn(*mut u8, usize) -> *mut u8);
    };
    let new = allocate(size, 16);
    if !new.is_null() {
        // SAFETY: the old block has as many bytes as its header says, the new one `size`, and they are
        // separate.
        unsafe {
            std::ptr::copy_nonoverlapping(block, new, size.min(header.size.get() as usize));
        }
    }
    new
}

/// The size of a block of the C library's.
pub(super) fn size(block: *mut u8) -> usize {
    real!(malloc_usable_size(block) as fn(*mut u8) -> usize)
}
