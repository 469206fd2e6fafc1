//! The program's heap: deterministic, at a fixed address, in the program's own memory, so that a
//! reset restores it.
//!
//! Blocks of a few size classes follow one another, each behind a header with its size, and when
//! and where it was allocated.
//!
//! Misuse is detected by two means. A marker word behind each block is checked when the block is
//! freed or resized, and at the end of an execution (writes past the end). A freed block is filled
//! with a pattern and quarantined for a while before it is reused: a write after the release is
//! found then or at the end, and a pointer read from it is invalid. Reuse is last in, first out. Where
//! accesses are observed, any access to a freed block is a failure.

mod allocation_stacks;
pub(crate) mod block_index;
mod copies;
mod freed_blocks;
pub(crate) mod interposers;
pub(crate) mod leaks;
pub(crate) mod misuse;

pub(crate) use crate::memory::arena::allocation_stacks::range as stacks_range;
pub(crate) use crate::memory::arena::block_index::range as names_range;
pub(crate) use crate::memory::arena::freed_blocks::{
    each_freed, freed_around, freed_object, holds,
};
pub(crate) use crate::memory::arena::interposers::for_runtime;
pub(crate) use crate::memory::arena::misuse::{check_all, freed_block, poison_of, watch};

use crate::memory::arena::misuse::{
    Step, check_end, check_poison, fill, note, twice, use_after_free,
};
use crate::state::upcalls;
use crate::state::world::{on_fiber, world};
use crate::sys::channel;
use crate::sys::copies::is_copy;
use crate::sys::raw;
use std::cell::Cell;
use traces::wire::{ARENA_ADDRESS, BLOCK_CALLERS};

/// Address space; memory is committed when it is used.
const SIZE: usize = 1 << 38;
const HEADER: usize = size_of::<Header>();
/// The number of size classes.
pub(crate) const CLASSES: usize = 160;
const USED: u32 = 0x5eed_b10c;
const FREE: u32 = 0xf4ee_b10c;
const QUARANTINED: u32 = 0xce97_b10c;
/// The marker word behind a block.
const END: u64 = 0xe0d0_f810_c4ab_1e55;
const END_LEN: usize = size_of::<u64>();
/// The size of the quarantine: how many freed blocks are held before the first of them is reused.
const QUARANTINE_LEN: usize = 64;
/// Larger blocks are reused at once.
const LARGEST_QUARANTINED: u64 = 1 << 16;

/// The header in front of each block.
#[repr(C)]
struct Header {
    /// The distance from this header to the next.
    extent: u64,
    /// The requested size.
    size: Cell<u64>,
    /// The number of earlier allocations.
    ordinal: u32,
    /// The task that allocated it, and the number of this allocation among the task's of its kind.
    maker: u32,
    /// The code location of the allocation.
    site: u64,
    /// The next free block of the class; while quarantined, the site where it was freed.
    next: Cell<u64>,
    /// [`USED`], [`QUARANTINED`] or [`FREE`].
    state: Cell<u32>,
    /// From the header to the program's pointer. The word right before that pointer holds it, too,
    /// so that the header of a block with a large alignment can be found.
    distance: u32,
}

/// The state at the start of the arena.
#[repr(C)]
struct Arena {
    ordinal: Cell<u64>,
    free: [Cell<u64>; CLASSES],
    /// Headers of quarantined blocks, a ring; 0 for none.
    quarantine: [Cell<u64>; QUARANTINE_LEN],
    quarantine_next: Cell<usize>,
    /// For each of them, the task that freed it.
    quarantine_by: [Cell<u16>; QUARANTINE_LEN],
    /// How many blocks came back in this execution.
    returned: Cell<u32>,
}

const FIRST: u64 = (ARENA_ADDRESS + 4096) as u64;

/// Limits of the program's use of the arena.
struct Rules {
    /// The arena's end for the program. An allocation beyond it fails, as if the system had no more
    /// memory.
    end: Cell<u64>,
    /// How many blocks were allocated before main.
    before_main: Cell<u64>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Rules {}
static RULES: Rules =
    Rules { end: Cell::new((ARENA_ADDRESS + SIZE) as u64), before_main: Cell::new(0) };

/// Main begins; the program may use this many bytes.
pub(crate) fn begin(bytes: u64) {
    let end = FIRST.saturating_add(bytes).min((ARENA_ADDRESS + SIZE) as u64);
    // Memory that constructors allocated before stays theirs.
    RULES.end.set(end.max(next()));
    RULES.before_main.set(arena().ordinal.get());
}

/// This process is a copy that the program made, which may have several kernel threads: new blocks are
/// the C library's.
pub(crate) fn leave() {
    RULES.end.set(0);
    arena().free.iter().for_each(|list| list.set(0));
}

/// Blocks with an ordinal below this were allocated before main.
fn before_main() -> u64 {
    RULES.before_main.get()
}

/// Whether the arena is mapped. A static, so that it is false in a new process, which has no arena
/// yet.
static READY: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// The address of the next new block. It is not in the arena, so that a program that corrupts its
/// heap cannot mislead the runtime.
static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(FIRST);

/// The end of the used part of the arena.
#[inline]
fn next() -> u64 {
    NEXT.load(std::sync::atomic::Ordering::Relaxed)
}

const NO_SPACE: &str =
    "no address space for the program's heap: is its address space limited (ulimit -v)?";

fn arena() -> &'static Arena {
    use std::sync::atomic::Ordering::Relaxed;
    if !READY.load(Relaxed) {
        let flags = libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mut size = SIZE;
        while raw::map(ARENA_ADDRESS, size, prot, flags) != Some(ARENA_ADDRESS) {
            size /= 2;
            if size < 1 << 24 {
                channel::fail(NO_SPACE);
            }
        }
        if !block_index::map() {
            channel::fail(NO_SPACE);
        }
        READY.store(true, Relaxed);
    }
    // SAFETY: the arena is mapped, and its first page holds an `Arena`, for which zeros are valid.
    // Its fields are cells, and one kernel thread accesses them.
    unsafe { &*(ARENA_ADDRESS as *const Arena) }
}

/// The size class of a block: multiples of 16 up to 1 KB, then four per doubling.
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

/// The used part, from the arena's start.
pub(crate) fn used() -> (u64, u64) {
    (ARENA_ADDRESS as u64, next())
}

/// Sets the end of the used part, after a reset.
pub(crate) fn set_used(end: u64) {
    NEXT.store(end, std::sync::atomic::Ordering::Relaxed);
}

/// The arena's address space.
pub(crate) fn whole() -> (u64, u64) {
    (ARENA_ADDRESS as u64, (ARENA_ADDRESS + SIZE) as u64)
}

/// Allocates a block of `size` bytes, aligned to `align`; null if there is no more memory.
pub(crate) fn allocate(size: usize, align: usize, site: u64) -> *mut u8 {
    let align = align.max(16);
    let slack = if align > 16 { align } else { 0 };
    let Some(need) = size.checked_add(HEADER + slack + END_LEN).filter(|&need| need < SIZE / 2)
    else {
        return std::ptr::null_mut();
    };
    let (class, extent) = class(need);
    let arena = arena();
    // SAFETY: a free block of this class has the class's extent, and a new one starts at the end of
    // all others, within the mapping. The extent covers header, alignment, block and marker word.
    // Nothing else refers to either kind of block. (A program that corrupted the list of free
    // blocks makes this fault or corrupt its own heap further.)
    unsafe {
        let header = if let Some(header) = returning(arena, class, slack, site) {
            std::ptr::from_ref(header).cast_mut()
        } else if class < CLASSES && arena.free[class].get() != 0 {
            let header = arena.free[class].get() as *mut Header;
            arena.free[class].set((*header).next.get());
            header
        } else {
            let (start, end) = (next(), next() + extent as u64);
            if end > RULES.end.get() {
                return copies::allocate(size, align);
            }
            set_used(end);
            block_index::cut_off(start, end);
            start as *mut Header
        };
        let block = (header as usize + HEADER).next_multiple_of(align);
        header.write(Header {
            extent: extent as u64,
            size: Cell::new(size as u64),
            ordinal: arena.ordinal.get() as u32,
            maker: maker(site),
            site,
            next: Cell::new(0),
            state: Cell::new(USED),
            distance: (block - header as usize) as u32,
        });
        *((block - 4) as *mut u32) = (block - header as usize) as u32;
        ((block + size) as *mut u64).write_unaligned(END);
        note(Step::Allocated, arena.ordinal.get());
        arena.ordinal.set(arena.ordinal.get() + 1);
        upcalls::get().memory_allocated(block as u64, size as u64);
        allocation_stacks::note((*header).ordinal.into());
        block as *mut u8
    }
}

/// The header of the program's block at this address, if it is one.
fn header_of(block: *mut u8) -> Option<&'static Header> {
    let address = block as u64;
    if !(FIRST + HEADER as u64..next()).contains(&address) || !address.is_multiple_of(16) {
        return None;
    }
    // SAFETY: the address is in the used part of the arena and aligned. The computed header is in
    // it, too, since the distance is at most the one from the arena's first block. A header is plain
    // data, valid with any bytes. What changes while the block exists is in cells, and one kernel
    // thread accesses them.
    unsafe {
        let distance = u64::from(*((address - 4) as *const u32));
        if distance < HEADER as u64 || distance > address - FIRST {
            return None;
        }
        let header = &*((address - distance) as *const Header);
        matches!(header.state.get(), USED | QUARANTINED | FREE).then_some(header)
    }
}

/// Frees a block.
pub(crate) fn free(block: *mut u8) {
    free_at(block, 0);
}

fn free_at(block: *mut u8, site: u64) {
    if block.is_null() {
        return;
    }
    if is_copy() {
        return copies::free(block);
    }
    // Another task may run at this point, and free the block itself.
    if let Some(header) = header_of(block).filter(|header| header.state.get() == USED) {
        upcalls::get().memory_released(block as u64, header.size.get(), site);
    }
    // SAFETY: `header_of` accepts only addresses in the used part whose header has a valid state, and
    // the quarantine has only addresses of such headers.
    unsafe {
        match header_of(block) {
            Some(header) if header.state.get() == USED => {
                check_end(header, block as u64, site);
                note(Step::Freed, header.ordinal.into());
                if header.extent > LARGEST_QUARANTINED {
                    make_free(header);
                    return;
                }
                fill(header);
                header.state.set(QUARANTINED);
                header.next.set(site);
                let arena = arena();
                let at = arena.quarantine_next.get() % QUARANTINE_LEN;
                arena.quarantine_next.set(at + 1);
                arena.quarantine_by[at].set(world().current.get());
                let oldest = arena.quarantine[at].replace(std::ptr::from_ref(header) as u64);
                if oldest != 0 {
                    let oldest = &*(oldest as *const Header);
                    check_poison(oldest);
                    make_free(oldest);
                }
            }
            Some(header) => twice(header, site),
            // Memory that the loader allocated before this library was loaded.
            None if !on_fiber() => {}
            None => misuse::invalid("a pointer was freed that is not a heap block", site),
        }
    }
}

/// A freed block that the running task allocates again, out of quarantine: the last one of its class that it freed.
/// None if a fresh block is to be used.
fn returning(arena: &Arena, class: usize, slack: usize, site: u64) -> Option<&'static Header> {
    let may = slack == 0 && site != 0 && class < CLASSES && on_fiber();
    if !may || !upcalls::get().may_come_back(class) {
        return None;
    }
    let me = world().current.get();
    let next = arena.quarantine_next.get();
    let latest = (1..=QUARANTINE_LEN).map(|back| (next + QUARANTINE_LEN - back) % QUARANTINE_LEN);
    let held = latest.filter(|&at| arena.quarantine_by[at].get() == me);
    // SAFETY: the quarantine has only addresses of headers, or 0.
    let headers = held.filter_map(|at| unsafe {
        (arena.quarantine[at].get() as *const Header).as_ref().map(|header| (at, header))
    });
    let (at, header) =
        headers.into_iter().find(|(_, header)| self::class(header.extent as usize).0 == class)?;
    if !upcalls::get().comes_back(arena.returned.get()) {
        return None;
    }
    arena.returned.set(arena.returned.get() + 1);
    arena.quarantine[at].set(0);
    // SAFETY: the block is in quarantine, so that it is filled with the pattern.
    unsafe { check_poison(header) };
    Some(header)
}

/// The size class of the freed block at this address, if it is one that may come back. The address may have marks in
/// its lowest bits.
#[inline]
pub(crate) fn freed_class(address: u64) -> Option<usize> {
    let header = header_of((address & !15) as *mut u8)?;
    let (class, _) = class(header.extent as usize);
    (header.state.get() == QUARANTINED && class < CLASSES).then_some(class)
}

/// Puts a block on the list of free blocks.
///
/// # Safety
/// The block is not in use, in quarantine or on the list.
unsafe fn make_free(header: &Header) {
    header.state.set(FREE);
    let (class, _) = class(header.extent as usize);
    if class < CLASSES {
        let arena = arena();
        header.next.set(arena.free[class].get());
        arena.free[class].set(std::ptr::from_ref(header) as u64);
    }
}

/// A block, for reports.
pub(crate) struct Block {
    pub(crate) address: u64,
    pub(crate) ordinal: u64,
    pub(crate) size: u64,
    pub(crate) site: u64,
}

/// The headers of all blocks, in order of address. If one was overwritten the rest is meaningless,
/// but the walk ends at the arena's end in any case.
fn headers() -> impl Iterator<Item = &'static Header> {
    headers_from(FIRST)
}

fn headers_from(mut at: u64) -> impl Iterator<Item = &'static Header> {
    let end = next();
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        // SAFETY: the address is below the end of the used part, and headers are plain data, valid
        // with any bytes. `allocate`, which writes whole headers, does not run while a caller
        // iterates.
        let header = unsafe { &*(at as *const Header) };
        // An overwritten header may contain any extent.
        at += header.extent.clamp(16, end - at + 16).next_multiple_of(16);
        Some(header)
    })
}

/// The block that contains an address.
pub(crate) fn find(address: u64) -> Option<Block> {
    let header = containing(address)?;
    // An alignment above 16 adds a distance between header and pointer; the size class covers it.
    Some(Block {
        address: &raw const *header as u64 + HEADER as u64,
        ordinal: header.ordinal.into(),
        size: header.size.get(),
        site: header.site,
    })
}

/// Notes the stacks of allocations from now on, for [`callers`].
pub(crate) fn note_stacks() {
    allocation_stacks::begin(arena().ordinal.get());
}

/// The return addresses on the stack when a block was allocated, 0 where there are none.
pub(crate) fn callers(block: &Block) -> [u64; BLOCK_CALLERS] {
    allocation_stacks::of(block.ordinal)
}

fn containing(address: u64) -> Option<&'static Header> {
    block_index::containing(address, next())
}

/// What identifies a block, independent of what other tasks allocated before, and where it is.
pub(crate) struct BlockIdentity {
    /// The task that allocated it and, in the lower bits, the number of this allocation among the task's of its
    /// kind.
    pub(crate) maker: u32,
    /// The code location of the allocation.
    pub(crate) site: u64,
    /// The address from which offsets in the block are counted.
    pub(crate) origin: u64,
    /// The end of the block.
    pub(crate) end: u64,
    /// Whether it was allocated after main began.
    pub(crate) is_from_main: bool,
}

impl BlockIdentity {
    fn of(header: &Header) -> BlockIdentity {
        let start = &raw const *header as u64;
        // The header's distance to an aligned pointer depends on its address.
        let origin = start + u64::from(header.distance) - HEADER as u64;
        BlockIdentity {
            maker: header.maker,
            site: header.site,
            origin,
            end: start + header.extent,
            is_from_main: u64::from(header.ordinal) >= before_main(),
        }
    }
}

impl BlockIdentity {
    /// The task that allocated it, and the number of this allocation among the task's of its kind.
    pub(crate) fn task_and_count(&self) -> (u64, u64) {
        ((self.maker >> COUNT_BITS).into(), (self.maker & ((1 << COUNT_BITS) - 1)).into())
    }
}

/// The identity of the block that contains an address.
pub(crate) fn identity_of(address: u64) -> Option<BlockIdentity> {
    containing(address).map(BlockIdentity::of)
}

/// The identities of all blocks.
pub(crate) fn identities() -> impl Iterator<Item = BlockIdentity> {
    headers().map(BlockIdentity::of)
}

/// How many bits of [`Header::maker`] count a task's allocations.
const COUNT_BITS: u32 = 20;

/// The task that allocates, in the upper bits, and the number of this allocation among those of the
/// task. Allocations are counted separately for a few groups of sites, because what a library
/// allocates for all tasks is allocated by the one that comes first.
fn maker(site: u64) -> u32 {
    let world = world();
    let counts = &world.task().allocated;
    let mut now = counts.get();
    let slot = (site.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as usize;
    now[slot] = now[slot].wrapping_add(1);
    counts.set(now);
    u32::from(world.current.get()) << COUNT_BITS | now[slot] & ((1 << COUNT_BITS) - 1)
}
