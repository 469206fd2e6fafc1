//! The program's heap: deterministic, at a fixed address, in the program's own memory, so that a reset
//! puts it back.
//!
//! Blocks of a few size classes lie one after the other, each behind a header that says how large it
//! is, when it was allocated and from where.
//!
//! Misuse shows: behind each block stands a word that is looked at when the block is freed or resized
//! and at the end of an execution (a write past the end); a freed block is filled with a pattern and
//! kept for a while before it is used again (a write after the release is found then or at the end,
//! and a pointer read from it leads nowhere). Reuse is last in, first out.

use crate::channel;
use crate::failure::{self, End};
use crate::interpose::{interpose, site};
use crate::models::set_errno;
use crate::raw;
use crate::real::real;
use crate::world::on_fiber;
use std::ffi::{c_int, c_void};
use traces::FailureKind;
use traces::wire::ARENA_ADDRESS;

/// Address space, committed by use.
const SIZE: usize = 1 << 38;
const HEADER: usize = size_of::<Header>();
const CLASSES: usize = 160;
const USED: u32 = 0x5eed_b10c;
const FREE: u32 = 0xf4ee_b10c;
const KEPT: u32 = 0xce97_b10c;
/// What stands behind a block.
const END: u64 = 0xe0d0_f810_c4ab_1e55;
const END_LEN: usize = size_of::<u64>();
/// What a freed block is filled with: as an address it is none.
const POISON: u8 = 0xf5;
/// So much of a freed block is filled, and looked at.
const POISONED: usize = 512;
/// How many freed blocks are kept before the first of them is used again.
const KEEP: usize = 64;
/// Blocks larger than this are reused at once.
const LARGEST_KEPT: u64 = 1 << 16;

/// In front of each block.
#[repr(C)]
struct Header {
    /// From this header to the next.
    extent: u64,
    /// What was asked for.
    size: u64,
    /// How many allocations came before.
    ordinal: u64,
    /// Where it was allocated.
    site: u64,
    /// The next free block of the class; where it was freed, while it is kept.
    next: u64,
    /// [`USED`], [`KEPT`] or [`FREE`].
    state: u32,
    /// From the header to the pointer that the program has. Stands right before that pointer, too,
    /// so that a block with a large alignment finds its header.
    distance: u32,
}

/// At the arena's start.
#[repr(C)]
struct Arena {
    next: u64,
    ordinal: u64,
    free: [u64; CLASSES],
    /// Headers of freed blocks that are kept, a ring; 0 for none.
    kept: [u64; KEEP],
    kept_at: usize,
}

const FIRST: u64 = (ARENA_ADDRESS + 4096) as u64;

/// Whether the arena was mapped: in a static, since that goes back with everything else.
static READY: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// How far the arena was ever used: the same as its own `next`, kept in the runtime's memory.
static HIGH: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(FIRST);

fn arena() -> &'static mut Arena {
    use std::sync::atomic::Ordering::Relaxed;
    if !READY.load(Relaxed) {
        let flags = libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mut size = SIZE;
        while raw::map(ARENA_ADDRESS, size, prot, flags) != Some(ARENA_ADDRESS) {
            size /= 2;
            if size < 1 << 24 {
                channel::fail("no address space for the program's heap: is RLIMIT_AS set?");
            }
        }
        READY.store(true, Relaxed);
    }
    // SAFETY: mapped, used by the one kernel thread, and every caller is done with it before the
    // next.
    let arena = unsafe { &mut *(ARENA_ADDRESS as *mut Arena) };
    if arena.next == 0 {
        arena.next = FIRST;
    }
    arena
}

/// Extents: multiples of 16 up to 1 KB, then four to a doubling.
fn class(need: usize) -> (usize, usize) {
    if need <= 1024 {
        let index = need.div_ceil(16);
        return (index, index * 16);
    }
    let doubling = (need - 1).ilog2() as usize; // at least 10
    let quarter = 1usize << (doubling - 2);
    let steps = (need - (1 << doubling)).div_ceil(quarter);
    (64 + (doubling - 10) * 4 + steps, (1 << doubling) + steps * quarter)
}

/// The part that is in use, from the arena's start.
pub(crate) fn used() -> (u64, u64) {
    // A program that spoils its heap must not make a reset believe it.
    (ARENA_ADDRESS as u64, HIGH.load(std::sync::atomic::Ordering::Relaxed))
}

/// Says how far the arena is in use, after it was put back.
pub(crate) fn set_used(end: u64) {
    HIGH.store(end, std::sync::atomic::Ordering::Relaxed);
}

/// All of the address space that may be used.
pub(crate) fn whole() -> (u64, u64) {
    (ARENA_ADDRESS as u64, (ARENA_ADDRESS + SIZE) as u64)
}

/// A block of `size` bytes, aligned to `align`; null if there is no more.
pub(crate) fn allocate(size: usize, align: usize, site: u64) -> *mut u8 {
    let align = align.max(16);
    let slack = if align > 16 { align } else { 0 };
    let Some(need) = size.checked_add(HEADER + slack + END_LEN).filter(|&need| need < SIZE / 2)
    else {
        return std::ptr::null_mut();
    };
    let (class, extent) = class(need);
    let arena = arena();
    // SAFETY: free blocks of a class are of that extent; new ones lie beyond all others.
    unsafe {
        let header = if class < CLASSES && arena.free[class] != 0 {
            let header = arena.free[class] as *mut Header;
            arena.free[class] = (*header).next;
            header
        } else {
            if arena.next + extent as u64 > (ARENA_ADDRESS + SIZE) as u64 {
                return std::ptr::null_mut();
            }
            let header = arena.next as *mut Header;
            arena.next += extent as u64;
            HIGH.store(arena.next, std::sync::atomic::Ordering::Relaxed);
            header
        };
        let block = (header as usize + HEADER).next_multiple_of(align);
        header.write(Header {
            extent: extent as u64,
            size: size as u64,
            ordinal: arena.ordinal,
            site,
            next: 0,
            state: USED,
            distance: (block - header as usize) as u32,
        });
        *((block - 4) as *mut u32) = (block - header as usize) as u32;
        ((block + size) as *mut u64).write_unaligned(END);
        arena.ordinal += 1;
        crate::points::fresh(block as u64, size as u64);
        block as *mut u8
    }
}

/// The header of a block that the program has, if it is one.
unsafe fn header_of<'a>(block: *mut u8) -> Option<&'a mut Header> {
    let address = block as u64;
    if !(FIRST + HEADER as u64..arena().next).contains(&address) || !address.is_multiple_of(16) {
        return None;
    }
    // SAFETY: within the part of the arena that is in use.
    unsafe {
        let distance = u64::from(*((address - 4) as *const u32));
        if distance < HEADER as u64 || distance > address - FIRST {
            return None;
        }
        let header = &mut *((address - distance) as *mut Header);
        matches!(header.state, USED | KEPT | FREE).then_some(header)
    }
}

fn misuse(what: &str, site: u64, places: Vec<(String, u64)>) -> ! {
    end(FailureKind::DoubleFree, what.to_owned(), site, places)
}

fn end(kind: FailureKind, what: String, site: u64, places: Vec<(String, u64)>) -> ! {
    if !on_fiber() {
        channel::fail(&format!("the program's heap was misused before main: {what}"));
    }
    let mut found = failure::found(kind, site, what);
    let sites: Vec<u64> = places.iter().map(|(_, site)| *site).chain([site]).collect();
    found.key = failure::key(kind, &sites);
    found.places = places;
    failure::end_here(End::Failed(Box::new(found)))
}

fn allocated(header: &Header) -> (String, u64) {
    (format!("the block of {} bytes was allocated", header.size), header.site)
}

/// The pointer that the program has or had to a block.
fn block_of(header: &Header) -> u64 {
    &raw const *header as u64 + u64::from(header.distance)
}

/// Ends the execution if something was written past a block.
unsafe fn check_end(header: &Header, block: u64, site: u64) {
    // SAFETY: room for the word was allocated.
    let word = unsafe { ((block + header.size) as *const u64).read_unaligned() };
    if word != END {
        let what =
            format!("something was written past the end of a block of {} bytes", header.size);
        let site = if site == 0 { header.site } else { site };
        end(FailureKind::Overflow, what, site, vec![allocated(header)]);
    }
}

/// Ends the execution if a block that is kept was written to after it was freed.
unsafe fn check_poison(header: &Header) {
    // SAFETY: within the block.
    let written = unsafe {
        let block = block_of(header);
        let len = (header.size as usize).min(POISONED);
        let bytes = std::slice::from_raw_parts(block as *const u8, len);
        bytes.iter().position(|&byte| byte != POISON)
    };
    if let Some(offset) = written {
        let what = format!(
            "a block of {} bytes was written to after it was freed, at offset {offset}",
            header.size
        );
        let places = vec![allocated(header), ("it was freed".to_owned(), header.next)];
        end(FailureKind::UseAfterFree, what, header.next, places);
    }
}

/// Looks at every block at the end of an execution, and ends it as failed where one was misused.
pub(crate) fn check_all() {
    /// With more blocks than this, the end of an execution is not the moment to look at each.
    const MOST: usize = 20_000;
    let arena = arena();
    for &kept in arena.kept.iter().filter(|&&kept| kept != 0) {
        // SAFETY: headers of blocks of this arena.
        unsafe { check_poison(&*(kept as *const Header)) };
    }
    let mut at = FIRST;
    for _ in 0..MOST {
        if at >= arena.next {
            return;
        }
        // SAFETY: headers follow each other from the first on; where one was overwritten, the block
        // before it shows that first.
        unsafe {
            let header = &*(at as *const Header);
            if header.state == USED {
                check_end(header, block_of(header), 0);
            }
            at += header.extent.max(16);
        }
    }
}

/// Whether a value can only come from freed memory.
pub(crate) fn is_poison(value: u64) -> bool {
    // A field of an object that a poisoned pointer names lies some way behind it.
    value.wrapping_sub(u64::from_ne_bytes([POISON; 8])) < 1 << 20
}

/// Gives a block back.
pub(crate) fn free(block: *mut u8) {
    free_at(block, 0);
}

fn free_at(block: *mut u8, site: u64) {
    if block.is_null() {
        return;
    }
    // SAFETY: checked as far as can be.
    unsafe {
        match header_of(block) {
            Some(header) if header.state == USED => {
                check_end(header, block as u64, site);
                if header.extent > LARGEST_KEPT {
                    make_free(header);
                    return;
                }
                std::ptr::write_bytes(block, POISON, (header.size as usize).min(POISONED));
                header.state = KEPT;
                header.next = site;
                let arena = arena();
                let at = arena.kept_at % KEEP;
                arena.kept_at = at + 1;
                let oldest = std::mem::replace(&mut arena.kept[at], &raw mut *header as u64);
                if oldest != 0 {
                    let oldest = &mut *(oldest as *mut Header);
                    check_poison(oldest);
                    make_free(oldest);
                }
            }
            Some(header) if header.state == KEPT => {
                let before = ("it was freed before".to_owned(), header.next);
                misuse("a block was freed twice", site, vec![allocated(header), before]);
            }
            Some(header) => misuse("a block was freed twice", site, vec![allocated(header)]),
            // What the loader allocated for itself before this library was there.
            None if !on_fiber() => {}
            None => misuse("a pointer was freed that is no block of the heap", site, Vec::new()),
        }
    }
}

/// Lets a block be used again.
unsafe fn make_free(header: &mut Header) {
    header.state = FREE;
    let (class, _) = class(header.extent as usize);
    if class < CLASSES {
        let arena = arena();
        header.next = arena.free[class];
        arena.free[class] = &raw mut *header as u64;
    }
}

/// A block as a report describes it.
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) ordinal: u64,
    pub(crate) size: u64,
    pub(crate) site: u64,
}

/// The block that an address lies in.
pub(crate) fn find(address: u64) -> Option<Block> {
    let arena = arena();
    if !(FIRST..arena.next).contains(&address) {
        return None;
    }
    let mut at = FIRST;
    while at < arena.next {
        // SAFETY: headers follow each other from the first on.
        let header = unsafe { &*(at as *const Header) };
        if (at..at + header.extent).contains(&address) {
            let start = at + HEADER as u64;
            // SAFETY: as above; a larger alignment shows by the distance before the pointer, which
            // only those blocks need that are larger than they had to be.
            return Some(Block {
                address: start,
                ordinal: header.ordinal,
                size: header.size,
                site: header.site,
            });
        }
        at += header.extent.max(16);
    }
    None
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
    // SAFETY: the program's block; both blocks hold what is copied.
    unsafe {
        let (old, room) = match header_of(block) {
            Some(header) if header.state == USED => {
                check_end(header, block as u64, site);
                let end = &raw const *header as u64 + header.extent;
                (header.size as usize, (end - block as u64) as usize - END_LEN)
            }
            Some(header) => {
                let mut places = vec![allocated(header)];
                if header.state == KEPT {
                    places.push(("it was freed".to_owned(), header.next));
                }
                let what = "a block was resized after it was freed".to_owned();
                self::end(FailureKind::UseAfterFree, what, site, places)
            }
            None => misuse("a pointer was resized that is no block of the heap", site, Vec::new()),
        };
        if size <= room && size * 2 >= room {
            if let Some(header) = header_of(block) {
                header.size = size as u64;
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

/// `operator new`: where there is no more, the library's own does what C++ says (a handler, then an
/// exception).
fn new(size: usize, align: usize, site: u64) -> *mut u8 {
    let block = allocate(size.max(1), align, site);
    if !block.is_null() {
        return block;
    }
    // The function that this one stands in front of.
    match align {
        16 => real!(_Znwm(size) as fn(usize) -> *mut u8),
        _ => real!(_ZnwmSt11align_val_t(size, align) as fn(usize, usize) -> *mut u8),
    }
}

fn zeroed(count: usize, size: usize, site: u64) -> *mut u8 {
    let Some(total) = count.checked_mul(size) else { return or_enomem(std::ptr::null_mut()) };
    let fresh = arena().next;
    let block = or_enomem(allocate(total, 16, site));
    if !block.is_null() && (block as u64) < fresh {
        // SAFETY: the new block; beyond `fresh` the memory was never used and is zero.
        unsafe { std::ptr::write_bytes(block, 0, total) };
    }
    block
}

interpose! {
    fn malloc(size: usize) -> *mut u8 {
        or_enomem(allocate(size, 16, site()))
    }

    fn free(block: *mut u8) -> () {
        free_at(block, site());
    }

    fn calloc(count: usize, size: usize) -> *mut u8 {
        zeroed(count, size, site())
    }

    fn realloc(block: *mut u8, size: usize) -> *mut u8 {
        resize(block, size, site())
    }

    fn reallocarray(block: *mut u8, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(total) => resize(block, total, site()),
            None => or_enomem(std::ptr::null_mut()),
        }
    }

    fn memalign(align: usize, size: usize) -> *mut u8 {
        or_enomem(allocate(size, align.next_power_of_two(), site()))
    }

    fn aligned_alloc(align: usize, size: usize) -> *mut u8 {
        if !align.is_power_of_two() {
            set_errno(libc::EINVAL);
            return std::ptr::null_mut();
        }
        or_enomem(allocate(size, align, site()))
    }

    fn posix_memalign(to: *mut *mut u8, align: usize, size: usize) -> c_int {
        if !align.is_power_of_two() || align < size_of::<*mut c_void>() {
            return libc::EINVAL;
        }
        let block = allocate(size, align, site());
        if block.is_null() {
            return libc::ENOMEM;
        }
        // SAFETY: the program's word.
        unsafe { to.write(block) };
        0
    }

    fn valloc(size: usize) -> *mut u8 {
        or_enomem(allocate(size, 4096, site()))
    }

    fn pvalloc(size: usize) -> *mut u8 {
        or_enomem(allocate(size.next_multiple_of(4096), 4096, site()))
    }

    fn malloc_usable_size(block: *mut u8) -> usize {
        // SAFETY: the program's block, or null.
        unsafe {
            if block.is_null() { 0 } else { header_of(block).map_or(0, |h| h.size as usize) }
        }
    }

    // C++: the same, but called from where the program says `new` and `delete`.
    fn _Znwm(size: usize) -> *mut u8 { new(size, 16, site()) }
    fn _Znam(size: usize) -> *mut u8 { new(size, 16, site()) }
    fn _ZnwmSt11align_val_t(size: usize, align: usize) -> *mut u8 { new(size, align, site()) }
    fn _ZnamSt11align_val_t(size: usize, align: usize) -> *mut u8 { new(size, align, site()) }
    fn _ZdlPv(block: *mut u8) -> () { free_at(block, site()); }
    fn _ZdaPv(block: *mut u8) -> () { free_at(block, site()); }
    fn _ZdlPvm(block: *mut u8, _size: usize) -> () { free_at(block, site()); }
    fn _ZdaPvm(block: *mut u8, _size: usize) -> () { free_at(block, site()); }
    fn _ZdlPvSt11align_val_t(block: *mut u8, _align: usize) -> () { free_at(block, site()); }
    fn _ZdaPvSt11align_val_t(block: *mut u8, _align: usize) -> () { free_at(block, site()); }
    fn _ZdlPvmSt11align_val_t(block: *mut u8, _size: usize, _align: usize) -> () {
        free_at(block, site());
    }
    fn _ZdaPvmSt11align_val_t(block: *mut u8, _size: usize, _align: usize) -> () {
        free_at(block, site());
    }

    fn malloc_trim(_keep: usize) -> c_int { 0 }
    fn mallopt(_option: c_int, _value: c_int) -> c_int { 1 }
}
