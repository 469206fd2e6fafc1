//! The heap's functions, by their C and C++ names.

use crate::memory::arena::copies;
use crate::memory::arena::{
    END, END_LEN, USED, allocate, check_end, free_at, header_of, headers, misuse, next,
    use_after_free,
};
use crate::state::overdue;
use crate::state::upcalls;
use crate::state::world::on_fiber;
use crate::sys::copies::is_copy;
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// The call site in the program, or 0 for calls that the loader makes for the runtime.
#[inline]
fn caller() -> u64 {
    site() & FOR_PROGRAM.0.get()
}

/// A function of the heap is called by this name: the same. Where signal handlers use the heap, too, one may
/// run at the beginning of the call.
#[inline]
fn called(function: &'static str) -> u64 {
    let site = caller();
    if site != 0 && on_fiber() {
        overdue::act_if_due(site);
        upcalls::get().heap_called(function, site);
    }
    site
}

/// All bits while allocations are the program's, none while they are the runtime's.
struct Mask(Cell<u64>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Mask {}
static FOR_PROGRAM: Mask = Mask(Cell::new(u64::MAX));

/// Runs `work`, in which the loader allocates and frees blocks for the runtime: no other task runs
/// meanwhile.
pub(crate) fn for_runtime<T>(work: impl FnOnce() -> T) -> T {
    FOR_PROGRAM.0.set(0);
    let result = work();
    FOR_PROGRAM.0.set(u64::MAX);
    result
}

fn or_enomem(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        set_errno(libc::ENOMEM);
    }
    block
}

fn resize(block: *mut u8, size: usize, site: u64) -> *mut u8 {
    if block.is_null() {
        return or_enomem(allocate(size, 16, site));
    }
    if size == 0 {
        free_at(block, site);
        return std::ptr::null_mut();
    }
    if is_copy() {
        return or_enomem(copies::resize(block, size));
    }
    // SAFETY: `header_of` accepted the block, so it is the program's, with at least `old` bytes;
    // the new block is separate and has room for `size`.
    unsafe {
        let (old, room) = match header_of(block) {
            Some(header) if header.state.get() == USED => {
                check_end(header, block as u64, site);
                let end = &raw const *header as u64 + header.extent;
                (header.size.get() as usize, (end - block as u64) as usize - END_LEN)
            }
            Some(header) => {
                use_after_free(header, "a block was resized after it was freed".to_owned(), site)
            }
            None => misuse::invalid("a pointer was resized that is not a heap block", site),
        };
        if size <= room && size * 2 >= room {
            if let Some(header) = header_of(block) {
                header.size.set(size as u64);
                // The added bytes may have belonged to another block, whose accesses are no conflicts with
                // those of this one.
                let grown = size.saturating_sub(old);
                crate::state::upcalls::get()
                    .memory_allocated(block as u64 + old as u64, grown as u64);
                block.add(size).cast::<u64>().write_unaligned(END);
            }
            return block;
        }
        let new = or_enomem(allocate(size, 16, site));
        if !new.is_null() {
            std::ptr::copy_nonoverlapping(block, new, old.min(size));
            free_at(block, site);
        }
        new
    }
}

/// `operator new`. If there is no more memory, the C++ library's function does what the standard
/// requires (a handler, then an exception).
fn new(size: usize, align: usize, site: u64) -> *mut u8 {
    let block = allocate(size.max(1), align, site);
    if !block.is_null() {
        return block;
    }
    // The function that this one interposes.
    match align {
        16 => real!(_Znwm(size) as fn(usize) -> *mut u8),
        _ => real!(_ZnwmSt11align_val_t(size, align) as fn(usize, usize) -> *mut u8),
    }
}

/// `operator new(std::nothrow)`: the same, but returns null instead of throwing.
fn new_or_null(size: usize, align: usize, site: u64) -> *mut u8 {
    let block = allocate(size.max(1), align, site);
    if !block.is_null() {
        return block;
    }
    match align {
        16 => real!(_ZnwmRKSt9nothrow_t(size, 0) as fn(usize, usize) -> *mut u8),
        _ => real!(_ZnwmSt11align_val_tRKSt9nothrow_t(size, align, 0)
            as fn(usize, usize, usize) -> *mut u8),
    }
}

fn usable_size(block: *mut u8) -> usize {
    match header_of(block) {
        Some(header) => header.size.get() as usize,
        None if is_copy() => copies::size(block),
        None => 0,
    }
}

/// The figures of `mallinfo`: bytes of the arena, and how many of them are used and free.
fn figures() -> [usize; 10] {
    let (mut used, mut free, mut free_blocks) = (0, 0, 0);
    for header in headers() {
        if header.state.get() == USED {
            used += header.extent as usize;
        } else {
            free += header.extent as usize;
            free_blocks += 1;
        }
    }
    [used + free, free_blocks, 0, 0, 0, 0, 0, used, free, 0]
}

fn zeroed(count: usize, size: usize, site: u64) -> *mut u8 {
    let Some(total) = count.checked_mul(size) else { return or_enomem(std::ptr::null_mut()) };
    let fresh = next();
    let block = or_enomem(allocate(total, 16, site));
    if !block.is_null() && ((block as u64) < fresh || is_copy()) {
        // SAFETY: the block was just allocated with `total` bytes. (Memory from `fresh` on was
        // never used and is zero.)
        unsafe { std::ptr::write_bytes(block, 0, total) };
    }
    block
}

interpose! {
    fn malloc(size: usize) -> *mut u8 {
        or_enomem(allocate(size, 16, called("malloc")))
    }

    fn free(block: *mut u8) -> () {
        free_at(block, called("free"));
    }

    fn calloc(count: usize, size: usize) -> *mut u8 {
        zeroed(count, size, called("calloc"))
    }

    fn realloc(block: *mut u8, size: usize) -> *mut u8 {
        resize(block, size, called("realloc"))
    }

    fn reallocarray(block: *mut u8, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(total) => resize(block, total, called("reallocarray")),
            None => or_enomem(std::ptr::null_mut()),
        }
    }

    fn memalign(align: usize, size: usize) -> *mut u8 {
        or_enomem(allocate(size, align.next_power_of_two(), called("memalign")))
    }

    fn aligned_alloc(align: usize, size: usize) -> *mut u8 {
        if !align.is_power_of_two() {
            set_errno(libc::EINVAL);
            return std::ptr::null_mut();
        }
        or_enomem(allocate(size, align, called("aligned_alloc")))
    }

    fn posix_memalign(to: *mut *mut u8, align: usize, size: usize) -> c_int {
        if !align.is_power_of_two() || align < size_of::<*mut c_void>() {
            return libc::EINVAL;
        }
        let block = allocate(size, align, called("posix_memalign"));
        if block.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: the caller of `posix_memalign` passes a valid pointer for the result.
        unsafe { to.write(block) };
        0
    }

    fn valloc(size: usize) -> *mut u8 {
        or_enomem(allocate(size, 4096, called("valloc")))
    }

    fn pvalloc(size: usize) -> *mut u8 {
        or_enomem(allocate(size.next_multiple_of(4096), 4096, called("pvalloc")))
    }

    fn malloc_usable_size(block: *mut u8) -> usize {
        // SAFETY: no other reference to the header is in use; it is only read here.
        unsafe {
            if block.is_null() { 0 } else { usable_size(block) }
        }
    }

    // C++ allocation functions: the site is that of `new` or `delete`.
    fn _Znwm(size: usize) -> *mut u8 { new(size, 16, called("operator new")) }
    fn _Znam(size: usize) -> *mut u8 { new(size, 16, called("operator new")) }
    fn _ZnwmSt11align_val_t(size: usize, align: usize) -> *mut u8 { new(size, align, called("operator new")) }
    fn _ZnamSt11align_val_t(size: usize, align: usize) -> *mut u8 { new(size, align, called("operator new")) }
    fn _ZdlPv(block: *mut u8) -> () { free_at(block, called("operator delete")); }
    fn _ZdaPv(block: *mut u8) -> () { free_at(block, called("operator delete")); }
    fn _ZdlPvm(block: *mut u8, _size: usize) -> () { free_at(block, called("operator delete")); }
    fn _ZdaPvm(block: *mut u8, _size: usize) -> () { free_at(block, called("operator delete")); }
    fn _ZdlPvSt11align_val_t(block: *mut u8, _align: usize) -> () { free_at(block, called("operator delete")); }
    fn _ZdaPvSt11align_val_t(block: *mut u8, _align: usize) -> () { free_at(block, called("operator delete")); }
    fn _ZdlPvmSt11align_val_t(block: *mut u8, _size: usize, _align: usize) -> () {
        free_at(block, called("operator delete"));
    }
    fn _ZdaPvmSt11align_val_t(block: *mut u8, _size: usize, _align: usize) -> () {
        free_at(block, called("operator delete"));
    }

    // Variants that return null if there is no more memory.
    fn _ZnwmRKSt9nothrow_t(size: usize, _tag: usize) -> *mut u8 {
        new_or_null(size, 16, called("operator new"))
    }
    fn _ZnamRKSt9nothrow_t(size: usize, _tag: usize) -> *mut u8 {
        new_or_null(size, 16, called("operator new"))
    }
    fn _ZnwmSt11align_val_tRKSt9nothrow_t(size: usize, align: usize, _tag: usize) -> *mut u8 {
        new_or_null(size, align, called("operator new"))
    }
    fn _ZnamSt11align_val_tRKSt9nothrow_t(size: usize, align: usize, _tag: usize) -> *mut u8 {
        new_or_null(size, align, called("operator new"))
    }
    fn _ZdlPvRKSt9nothrow_t(block: *mut u8, _tag: usize) -> () { free_at(block, called("operator delete")); }
    fn _ZdaPvRKSt9nothrow_t(block: *mut u8, _tag: usize) -> () { free_at(block, called("operator delete")); }
    fn _ZdlPvSt11align_val_tRKSt9nothrow_t(block: *mut u8, _align: usize, _tag: usize) -> () {
        free_at(block, called("operator delete"));
    }
    fn _ZdaPvSt11align_val_tRKSt9nothrow_t(block: *mut u8, _align: usize, _tag: usize) -> () {
        free_at(block, called("operator delete"));
    }

    // C23.
    fn free_sized(block: *mut u8, _size: usize) -> () { free_at(block, called("free_sized")); }
    fn free_aligned_sized(block: *mut u8, _align: usize, _size: usize) -> () {
        free_at(block, called("free_aligned_sized"));
    }

    // Both structures are too large for registers: the caller passes the address of the result.
    fn mallinfo2(to: *mut [usize; 10]) -> *mut [usize; 10] {
        unsafe { to.write(figures()) };
        to
    }

    fn mallinfo(to: *mut [c_int; 10]) -> *mut [c_int; 10] {
        unsafe { to.write(figures().map(|figure| figure as c_int)) };
        to
    }

    fn malloc_trim(_keep: usize) -> c_int { 0 }
    fn mallopt(_option: c_int, _value: c_int) -> c_int { 1 }
}
