//! Accesses to freed blocks: which blocks are freed, and the failure of a task that uses one.

use crate::memory::arena::misuse::{use_after_free, used_freed};
use crate::memory::arena::{
    FIRST, FREE, Header, QUARANTINED, READY, block_index, headers_from, next,
};
use crate::state::outcome;
use std::sync::atomic::Ordering::Relaxed;
use traces::FailureKind;
use traces::wire::FoundFailure;

/// Vector instructions may read past the end of a block, into the next one: accesses of up to this many
/// bytes count only if all of their bytes are in the freed block.
const VECTOR: u64 = 64;

/// A freed block.
pub(crate) struct FreedBlock(&'static Header);

impl FreedBlock {
    /// Ends the execution with the failure of a task that accesses the block.
    pub(crate) fn used(&self, address: u64, writes: bool, site: u64) -> ! {
        let (start, _) = contents(self.0);
        let size = self.0.size.get();
        let how = if writes { "written to" } else { "read" };
        let what = format!(
            "a block of {size} bytes was {how} after it was freed, at offset {}",
            address - start
        );
        use_after_free(self.0, what, site)
    }
}

/// The failure of a task that uses an object of this name, such as a mutex, in a freed block; none if it is
/// in no such block, or the user did not ask for this kind of failure.
pub(crate) fn freed_object(name: &str, address: u64, site: u64) -> Option<FoundFailure> {
    let block = freed_around(address, 1).filter(|_| outcome::counts(FailureKind::UseAfterFree))?;
    let what = format!("a {name} is used after the block with it was freed");
    Some(used_freed(block.0, what, site))
}

/// Whether an address is in the part of the heap that is used.
#[inline]
pub(crate) fn holds(address: u64) -> bool {
    (FIRST..end()).contains(&address)
}

/// The freed block that an access of `size` bytes uses.
pub(crate) fn freed_around(address: u64, size: u64) -> Option<FreedBlock> {
    let header = block_index::containing(address, end())?;
    let (start, end) = contents(header);
    let is_within =
        (start..end).contains(&address) && (size > VECTOR || address.saturating_add(size) <= end);
    (is_freed(header) && is_within).then_some(FreedBlock(header))
}

/// Calls `each` with the addresses of the freed blocks that overlap with a range.
pub(crate) fn each_freed(from: u64, to: u64, mut each: impl FnMut(u64, u64)) {
    let Some(first) = (from.max(FIRST)..to.min(end()))
        .step_by(16)
        .find_map(|at| block_index::containing(at, end()))
    else {
        return;
    };
    let starts_before = |header: &&Header| std::ptr::from_ref(*header) as u64 <= to;
    for header in headers_from(std::ptr::from_ref(first) as u64).take_while(starts_before) {
        let (start, end) = contents(header);
        if is_freed(header) && start < to && end > from {
            each(start, end);
        }
    }
}

/// The end of the used part of the arena; 0 before it is mapped.
fn end() -> u64 {
    if READY.load(Relaxed) { next() } else { 0 }
}

fn is_freed(header: &Header) -> bool {
    matches!(header.state.get(), QUARANTINED | FREE)
}

/// The addresses of a block's bytes.
fn contents(header: &Header) -> (u64, u64) {
    let start = std::ptr::from_ref(header) as u64 + u64::from(header.distance);
    (start, start.saturating_add(header.size.get()))
}
