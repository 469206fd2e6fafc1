//! The calls that led to allocations, in full recordings. Where nothing is inlined, the site of an
//! allocation is in the language's library, and users look for their own line.

use crate::fiber::{backtrace, switch};
use crate::state::world::on_fiber;
use crate::sys::raw;
use std::cell::Cell;
use traces::wire::BLOCK_CALLERS;

/// Later allocations have none: each costs several microseconds.
const MOST: u64 = 4096;
const LEN: usize = MOST as usize * size_of::<Stack>();

/// The ordinal of a block, and the return addresses on the stack, innermost first, 0 for none.
type Stack = [u64; 1 + BLOCK_CALLERS];

struct Stacks {
    /// The address of the stacks; 0 if none are noted.
    base: Cell<u64>,
    /// The ordinal of the first block of the execution.
    first: Cell<u64>,
}
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Stacks {}
static STACKS: Stacks = Stacks { base: Cell::new(0), first: Cell::new(0) };

/// A full recording begins: notes the stacks of the blocks from this ordinal on.
pub(super) fn begin(first: u64) {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    if STACKS.base.get() == 0 {
        // Without memory there are no stacks.
        let mapped = raw::map(0, LEN, prot, libc::MAP_NORESERVE);
        STACKS.base.set(mapped.unwrap_or(0) as u64);
    }
    STACKS.first.set(first);
}

/// The memory range of the runtime, if stacks are noted.
pub(crate) fn range() -> Option<(u64, u64)> {
    let base = STACKS.base.get();
    (base != 0).then(|| (base, base + LEN as u64))
}

/// The entry of a block, if stacks are noted and it has one.
fn entry(ordinal: u64) -> Option<&'static Cell<Stack>> {
    let at = ordinal.checked_sub(STACKS.first.get()).filter(|&at| at < MOST)?;
    let base = STACKS.base.get();
    // SAFETY: the mapping holds `MOST` entries, for which any bytes are valid, and is never unmapped.
    // They are accessed as cells by one kernel thread.
    (base != 0).then(|| unsafe { &*(base as *const Cell<Stack>).add(at as usize) })
}

/// A block with this ordinal was allocated.
#[inline]
pub(super) fn note(ordinal: u64) {
    if STACKS.base.get() != 0 && on_fiber() && !backtrace::is_running() {
        // On the manager's stack, as for the callers of a step.
        switch::on_manager(take, ordinal);
    }
}

extern "C" fn take(ordinal: u64) -> u64 {
    if let Some(entry) = entry(ordinal) {
        let mut stack = [0; 1 + BLOCK_CALLERS];
        stack[0] = ordinal;
        backtrace::innermost(&mut stack[1..]);
        entry.set(stack);
    }
    0
}

/// The return addresses on the stack when the block was allocated, 0 where there are none.
pub(super) fn of(ordinal: u64) -> [u64; BLOCK_CALLERS] {
    let stack = entry(ordinal).map(Cell::get).filter(|stack| stack[0] == ordinal);
    std::array::from_fn(|at| stack.map_or(0, |stack| stack[1 + at]))
}
