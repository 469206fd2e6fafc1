//! Finds the block that contains an address, by which it gets an identity that does not depend on
//! earlier allocations of other tasks.
//!
//! Blocks follow one another, each with its extent in front. For each granule of the arena, a byte
//! holds the position of the first header in it, so that a block is found in a few steps. The bytes
//! are the runtime's and need no reset: those for memory in use are written whenever a new block is
//! added, and blocks are never joined or split.

use crate::memory::arena::{FIRST, Header, SIZE};
use crate::sys::raw;
use std::cell::Cell;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::ARENA_ADDRESS;

/// Headers are at multiples of 16, so a byte can hold their position within a granule.
const GRANULE: u64 = 512;
const LEN: usize = SIZE / GRANULE as usize;

/// The address of the bytes.
static FIRSTS: AtomicU64 = AtomicU64::new(0);

/// Maps the bytes; false if there is no memory.
pub(super) fn map() -> bool {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let Some(at) = raw::map(0, LEN, prot, libc::MAP_NORESERVE) else { return false };
    FIRSTS.store(at as u64, Relaxed);
    true
}

/// The memory range of the runtime.
pub(crate) fn range() -> (u64, u64) {
    let at = FIRSTS.load(Relaxed);
    (at, at + LEN as u64)
}

fn granule(address: u64) -> usize {
    ((address - ARENA_ADDRESS as u64) / GRANULE) as usize
}

fn firsts() -> &'static [Cell<u8>] {
    // SAFETY: the bytes are mapped together with the arena, with this length, and never unmapped.
    // They are accessed as cells by one kernel thread.
    unsafe { std::slice::from_raw_parts(FIRSTS.load(Relaxed) as *const Cell<u8>, LEN) }
}

/// A new block was added at the end of the used part.
#[inline]
pub(super) fn cut_off(start: u64, end: u64) {
    let (firsts, at) = (firsts(), granule(start));
    let within = start % GRANULE;
    // The entry of the block before is right, unless that block ended with the previous granule.
    if within == 0 || firsts[at].get() == 0 {
        firsts[at].set((within / 16) as u8 + 1);
    }
    firsts[at + 1..=granule(end - 1)].iter().for_each(|first| first.set(0));
}

/// The block that contains an address below `end`.
pub(super) fn containing(address: u64, end: u64) -> Option<&'static Header> {
    if !(FIRST..end).contains(&address) {
        return None;
    }
    let firsts = firsts();
    let header = |granule: usize| {
        let byte = u64::from(firsts[granule].get()).checked_sub(1)?;
        Some(ARENA_ADDRESS as u64 + granule as u64 * GRANULE + byte * 16)
    };
    let from = (0..=granule(address)).rev().filter_map(header).find(|&at| at <= address);
    crate::memory::arena::headers_from(from?).find(|found| {
        let start = std::ptr::from_ref(*found) as u64;
        (start..start + found.extent).contains(&address)
    })
}
