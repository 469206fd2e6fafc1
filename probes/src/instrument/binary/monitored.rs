//! Accesses of instrumented code as steps and as order.

use crate::detect::access::{Access, POINTS, done, is_point, look, me, new_stretch};
use crate::detect::heap_words;
use crate::schedule::access_points::{arrive, visit};
use crate::schedule::busy_loops::no_step;
use traces::Operation;

/// An access that is no atomic read-modify-write.
pub(super) fn plain(access: &Access) {
    visit(*access);
    synchronise(access.address, access.size, !access.writes, access.writes, false);
}

/// An atomic read-modify-write. `counts`: whether it counts for the detection of waiting.
pub(super) fn update(access: &Access, counts: bool) {
    let is_point = is_point(access);
    if is_point {
        arrive(access, Operation::Update);
    } else {
        // A loop that waits for a lock may try to acquire it again and again.
        no_step(access, counts);
    }
    look(access);
    synchronise(access.address, access.size, true, true, true);
    if is_point {
        done(access);
    }
}

/// From here on, accesses to these bytes order.
pub(super) fn orders(address: u64, size: u64) {
    if let Some(cell) = POINTS.shadow.word(address) {
        cell.synchronise(mask(address, size), &POINTS.clocks);
    }
}

/// The bytes of an access in its word, as bits.
fn mask(address: u64, size: u64) -> u8 {
    (((1u32 << size.min(8)) - 1) << (address & 7)) as u8
}

/// Updates the vector clocks for an access that orders: an atomic read-modify-write, and any access
/// to bytes where such an access was made, or to words with conflicts. The other bytes of the word
/// are other variables.
pub(super) fn synchronise(address: u64, size: u64, reads: bool, writes: bool, atomic: bool) {
    let Some(cell) = POINTS.shadow.word(address) else { return };
    let mask = mask(address, size);
    if atomic {
        cell.synchronise(mask, &POINTS.clocks);
    }
    if cell.synchronises(&POINTS.clocks) & mask == 0 && !heap_words::is_hot(cell, address & !7) {
        return;
    }
    if reads {
        POINTS.clocks.acquire(me(), address);
    }
    if writes {
        POINTS.clocks.release(me(), address);
    }
    new_stretch();
}
