//! Which block an address lies in, and a name for it that does not depend on what other tasks
//! allocated before.
//!
//! Blocks lie one after the other, each with its extent in front. For each granule of the arena a byte
//! says where the first header in it stands, so that a block is found in a few steps. The bytes are
//! the runtime's own and need not be put back: what they say of memory that is in use is written
//! whenever a block is cut off the rest, and blocks are never joined or cut again.

use super::{FIRST, Header, SIZE};
use crate::raw;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::ARENA_ADDRESS;

/// Headers are multiples of 16, so a byte tells them apart within a granule.
const GRANULE: u64 = 512;
const LEN: usize = SIZE / GRANULE as usize;

/// The bytes' address.
static FIRSTS: AtomicU64 = AtomicU64::new(0);

/// Makes room; whether there is any.
pub(super) fn map() -> bool {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let Some(at) = raw::map(0, LEN, prot, libc::MAP_NORESERVE) else { return false };
    FIRSTS.store(at as u64, Relaxed);
    true
}

/// Memory that is the runtime's own.
pub(crate) fn range() -> (u64, u64) {
    let at = FIRSTS.load(Relaxed);
    (at, at + LEN as u64)
}

fn granule(address: u64) -> usize {
    ((address - ARENA_ADDRESS as u64) / GRANULE) as usize
}

fn firsts() -> &'static mut [u8] {
    // SAFETY: mapped with the arena, so long; there is one kernel thread, and no caller keeps it.
    unsafe { std::slice::from_raw_parts_mut(FIRSTS.load(Relaxed) as *mut u8, LEN) }
}

/// A block was cut off the part of the arena that nobody had used.
#[inline]
pub(super) fn cut_off(start: u64, end: u64) {
    let (firsts, at) = (firsts(), granule(start));
    let within = start % GRANULE;
    // What the block before left here is right, unless it ended with the granule before.
    if within == 0 || firsts[at] == 0 {
        firsts[at] = (within / 16) as u8 + 1;
    }
    firsts[at + 1..=granule(end - 1)].fill(0);
}

/// The block that an address below `end` lies in.
pub(super) fn containing(address: u64, end: u64) -> Option<&'static Header> {
    if !(FIRST..end).contains(&address) {
        return None;
    }
    let firsts = firsts();
    let header = |granule: usize| {
        let byte = u64::from(firsts[granule]).checked_sub(1)?;
        Some(ARENA_ADDRESS as u64 + granule as u64 * GRANULE + byte * 16)
    };
    let from = (0..=granule(address)).rev().filter_map(header).find(|&at| at <= address);
    super::headers_from(from?).find(|found| {
        let start = std::ptr::from_ref(*found) as u64;
        (start..start + found.extent).contains(&address)
    })
}
