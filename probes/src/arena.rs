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

mod family;
mod leaks;
mod misuse;
mod names;

pub(crate) use family::for_runtime;
pub(crate) use misuse::{check_all, freed_block, poison_of, watch};
pub(crate) use names::range as names_range;

use crate::channel;
use crate::raw;
use crate::world::{on_fiber, world};
use misuse::{Step, check_end, check_poison, fill, note, twice, use_after_free};
use std::cell::Cell;
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
    ordinal: u32,
    /// Which task allocated it, and the how-manieth of its kind that was.
    maker: u32,
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
    ordinal: u64,
    free: [u64; CLASSES],
    /// Headers of freed blocks that are kept, a ring; 0 for none.
    kept: [u64; KEEP],
    kept_at: usize,
}

const FIRST: u64 = (ARENA_ADDRESS + 4096) as u64;

/// What the program may do with the arena.
struct Rules {
    /// Where it ends for the program: what would go beyond is refused, as when the system has no
    /// more memory.
    end: Cell<u64>,
    /// How many blocks were allocated before main.
    before_main: Cell<u64>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Rules {}
static RULES: Rules =
    Rules { end: Cell::new((ARENA_ADDRESS + SIZE) as u64), before_main: Cell::new(0) };

/// Main begins; the program may have so many bytes.
pub(crate) fn begin(bytes: u64) {
    let end = FIRST.saturating_add(bytes).min((ARENA_ADDRESS + SIZE) as u64);
    // What constructors have already stays theirs.
    RULES.end.set(end.max(next()));
    RULES.before_main.set(arena().ordinal);
}

/// Blocks with an ordinal below this were allocated before main.
fn before_main() -> u64 {
    RULES.before_main.get()
}

/// Whether the arena was mapped: in a static, since that goes back with everything else.
static READY: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Where the next new block comes. Not in the arena, so that a program that spoils its heap does not
/// make the runtime believe it.
static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(FIRST);

/// Where the part of the arena ends that is in use.
#[inline]
fn next() -> u64 {
    NEXT.load(std::sync::atomic::Ordering::Relaxed)
}

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
        if !names::map() {
            channel::fail("no address space for the program's heap: is RLIMIT_AS set?");
        }
        READY.store(true, Relaxed);
    }
    // SAFETY: mapped, used by the one kernel thread, and every caller is done with it before the
    // next.
    unsafe { &mut *(ARENA_ADDRESS as *mut Arena) }
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
    (ARENA_ADDRESS as u64, next())
}

/// Says how far the arena is in use, after it was put back.
pub(crate) fn set_used(end: u64) {
    NEXT.store(end, std::sync::atomic::Ordering::Relaxed);
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
            let (start, end) = (next(), next() + extent as u64);
            if end > RULES.end.get() {
                return std::ptr::null_mut();
            }
            set_used(end);
            names::cut_off(start, end);
            start as *mut Header
        };
        let block = (header as usize + HEADER).next_multiple_of(align);
        header.write(Header {
            extent: extent as u64,
            size: size as u64,
            ordinal: arena.ordinal as u32,
            maker: maker(site),
            site,
            next: 0,
            state: USED,
            distance: (block - header as usize) as u32,
        });
        *((block - 4) as *mut u32) = (block - header as usize) as u32;
        ((block + size) as *mut u64).write_unaligned(END);
        note(Step::Allocated, arena.ordinal);
        arena.ordinal += 1;
        crate::points::fresh(block as u64, size as u64);
        block as *mut u8
    }
}

/// The header of a block that the program has, if it is one.
unsafe fn header_of<'a>(block: *mut u8) -> Option<&'a mut Header> {
    let address = block as u64;
    if !(FIRST + HEADER as u64..next()).contains(&address) || !address.is_multiple_of(16) {
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
        // Another task may run before, and give it back itself.
        if let Some(Header { state: USED, size, .. }) = header_of(block) {
            crate::points::freed(block as u64, *size, site);
        }
        match header_of(block) {
            Some(header) if header.state == USED => {
                check_end(header, block as u64, site);
                note(Step::Freed, header.ordinal.into());
                if header.extent > LARGEST_KEPT {
                    make_free(header);
                    return;
                }
                fill(header);
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
            Some(header) => twice(header, site),
            // What the loader allocated for itself before this library was there.
            None if !on_fiber() => {}
            None => misuse::invalid("a pointer was freed that is no block of the heap", site),
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

/// The headers of all blocks, one after the other.
///
/// They follow each other from the first on. Where one was overwritten, what comes after it means
/// nothing; the walk ends at the arena's end all the same.
fn headers() -> impl Iterator<Item = &'static Header> {
    headers_from(FIRST)
}

fn headers_from(mut at: u64) -> impl Iterator<Item = &'static Header> {
    let end = next();
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        // SAFETY: within the part that is in use.
        let header = unsafe { &*(at as *const Header) };
        // What was overwritten may say anything.
        at += header.extent.clamp(16, end - at + 16).next_multiple_of(16);
        Some(header)
    })
}

/// The block that an address lies in.
pub(crate) fn find(address: u64) -> Option<Block> {
    let header = containing(address)?;
    // A larger alignment shows by the distance before the pointer, which only those blocks need that
    // are larger than they had to be.
    Some(Block {
        address: &raw const *header as u64 + HEADER as u64,
        ordinal: header.ordinal.into(),
        size: header.size,
        site: header.site,
    })
}

fn containing(address: u64) -> Option<&'static Header> {
    names::containing(address, next())
}

/// Numbers that stand for the block that an address lies in and for the place within: the same
/// whatever other tasks allocate before.
pub(crate) fn name(address: u64) -> Option<([u64; 2], u64)> {
    let header = containing(address)?;
    let offset = address - &raw const *header as u64;
    Some(([u64::from(header.maker), header.site], offset))
}

/// Whose block is allocated now, in the upper bits, and which of those that the task allocated: counted
/// apart for a number of places, since what a library allocates for all is allocated by whoever comes
/// first.
fn maker(site: u64) -> u32 {
    let world = world();
    let counts = &world.task().allocated;
    let mut now = counts.get();
    let slot = (site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as usize;
    now[slot] = now[slot].wrapping_add(1);
    counts.set(now);
    u32::from(world.current.get()) << 20 | now[slot] & 0xf_ffff
}
