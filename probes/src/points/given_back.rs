//! Memory that is given back: for whoever uses it without an order, as if it was written.

use super::{Access, POINTS, arrive, is_in_company, is_point, learned, look, settle_write};
use crate::interpose::{interpose, site};
use crate::real::real;
use crate::world::on_fiber;
use std::ffi::{c_int, c_void};
use traces::Operation;

/// A block of memory is about to be given back.
#[inline]
pub(crate) fn freed(address: u64, size: u64, site: u64) {
    if is_in_company() {
        settle_write();
        give_back(address, size, site);
    }
}

fn give_back(address: u64, size: u64, site: u64) {
    // Nobody touched a word of a page that is not known.
    let end = address.saturating_add(size);
    let mut at = address;
    while let Some(page) = POINTS.shadow.next_known(at, end) {
        let start = at.max(page);
        at = (page + 4096).min(end);
        let proven = POINTS.certain.get();
        let part =
            Access { address: start, size: at - start, writes: true, atomic: false, proven, site };
        // The C library may hold locks of its own where it gives back what it made.
        if is_point(&part) && !learned::is_in_libc(site) {
            arrive(&part, Operation::Write);
        }
        look(&part);
    }
}

interpose! {
    // Who makes the system call by itself is not seen here: its memory is new to whoever has it next.
    fn munmap(address: *mut c_void, size: usize) -> c_int {
        if on_fiber() && (address as u64).is_multiple_of(4096) {
            freed(address as u64, (size as u64).next_multiple_of(4096), site());
        }
        real!(munmap(address, size) as fn(*mut c_void, usize) -> c_int)
    }
}
