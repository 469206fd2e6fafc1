//! Accesses of instrumented code as steps and as order.

use crate::detect::access::{Access, POINTS, done, is_point, look, me, new_stretch};
use crate::detect::counters;
use crate::detect::heap_words;
use crate::detect::learned_points;
use crate::detect::order;
use crate::schedule::access_points::{arrive_to_count, visit};
use crate::schedule::busy_loops::no_step;
use search::reduction::events::{self, Group};
use search::reduction::pending::Counting;

/// An access that is no atomic read-modify-write.
pub(super) fn plain(access: &Access) {
    visit(*access);
    synchronise(access.address, access.size, !access.writes, access.writes, false);
}

/// An atomic read-modify-write. `is_monitored`: whether it matters for the detection of waiting.
pub(super) fn update(access: &Access, counting: Counting, is_monitored: bool) {
    let is_point = is_point(access);
    // Whether a loop leaves a counter as it found it depends on the order of all updates.
    let may_count = access.is_of_word() && !learned_points::has_lock_polls();
    let counting = if may_count { counting } else { Counting::None };
    if is_point {
        arrive_to_count(access, counting);
    } else {
        // A loop that waits for a lock may try to acquire it again and again.
        no_step(access, is_monitored);
    }
    look(access);
    let value = counters::value(counting, access.address, access.size);
    match events::Access::of_count(counting, value).group() {
        None => synchronise(access.address, access.size, true, true, true),
        Some(group) => synchronise_count(access, group),
    }
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
        order::acquire_counts(&POINTS.clocks, cell, me(), address);
    }
    if writes {
        POINTS.clocks.release(me(), address);
    }
    new_stretch();
}

/// The same for an update that counts, and commutes with others of its group.
fn synchronise_count(access: &Access, group: Group) {
    let Some(cell) = POINTS.shadow.word(access.address) else { return };
    cell.synchronise(mask(access.address, access.size), &POINTS.clocks);
    order::count(&POINTS.clocks, cell, me(), access.address, group);
    new_stretch();
}
