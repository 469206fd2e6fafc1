//! Freed memory: a release counts as a write for accesses that are unordered with it.

use crate::detect::access::{Access, POINTS, is_in_company, is_point, look, settle_write};
use crate::detect::learned_points;
use crate::schedule::access_points::arrive;
use crate::state::world::on_fiber;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_void};
use traces::Operation;

/// A block of memory is about to be freed.
#[inline]
pub(crate) fn freed(address: u64, size: u64, site: u64) {
    if is_in_company() {
        settle_write();
        give_back(address, size, site);
    }
}

/// A block of the heap is about to be freed, by the runtime if `site` is 0. Accesses to it are failures
/// from now on.
#[inline]
pub(crate) fn block_freed(address: u64, size: u64, site: u64) {
    if site != 0 {
        freed(address, size, site);
    }
    if is_in_company() {
        settle_write();
        POINTS.shadow.freed(address, size);
    }
}

fn give_back(address: u64, size: u64, site: u64) {
    // No task touched a word of a page that is not known.
    let end = address.saturating_add(size);
    let mut at = address;
    while let Some(page) = POINTS.shadow.next_known(at, end) {
        let start = at.max(page);
        at = (page + 4096).min(end);
        let proven = POINTS.certain.get();
        let part = Access {
            address: start,
            size: at - start,
            writes: true,
            atomic: false,
            proven,
            site,
            in_parts: false,
        };
        // The C library may hold internal locks where it frees its own memory.
        if is_point(&part) && !learned_points::is_in_libc(site) {
            arrive(&part, Operation::Write);
        }
        look(&part);
    }
}

interpose! {
    // A direct system call `munmap` is not seen here: its memory counts as new to the next user.
    fn munmap(address: *mut c_void, size: usize) -> c_int {
        if on_fiber() && (address as u64).is_multiple_of(4096) {
            freed(address as u64, (size as u64).next_multiple_of(4096), site());
        }
        real!(munmap(address, size) as fn(*mut c_void, usize) -> c_int)
    }
}
