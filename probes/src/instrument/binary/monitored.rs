//! Accesses of instrumented code as steps and as order.

use crate::detect::access::{Access, POINTS, me, new_stretch};
use crate::schedule::access_points::visit;

/// An access that is no atomic read-modify-write.
pub(super) fn plain(access: &Access) {
    visit(*access);
    synchronise(access.address, access.size, !access.writes, access.writes, false);
}

/// Updates the vector clocks for an access that orders: an atomic read-modify-write, and any access
/// to bytes where such an access was made, or to words with conflicts. The other bytes of the word
/// are other variables.
pub(super) fn synchronise(address: u64, size: u64, reads: bool, writes: bool, atomic: bool) {
    let Some(cell) = POINTS.shadow.word(address) else { return };
    let mask = (((1u32 << size.min(8)) - 1) << (address & 7)) as u8;
    if atomic {
        cell.synchronise(mask, &POINTS.clocks);
    }
    if cell.synchronises(&POINTS.clocks) & mask == 0 && !cell.hot.get() {
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
