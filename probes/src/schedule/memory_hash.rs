//! A hash of the memory that tasks share: the variables of the program and its libraries, and the heap,
//! without stacks. If it changes, tasks make progress. What a task counts for itself, in registers or on its
//! stack, is no progress.

use crate::memory::arena;
use crate::state::world::World;
use crate::steps::identity;
use std::cell::RefCell;

/// The hash, where `variables` are the writable segments of loaded modules. It allocates nothing.
pub(crate) fn of(world: &World, variables: &[(u64, u64)]) -> u64 {
    let own = std::ptr::from_ref(world) as u64;
    let mut hash = 0;
    for (start, end) in variables.iter().copied().chain([arena::used()]) {
        if !(start..end).contains(&own) {
            hash = range_hash(hash, start.next_multiple_of(8), end, world);
        }
    }
    hash
}

/// The variables of the modules that were loaded when the program began.
struct Known(RefCell<Vec<(u64, u64)>>);
// SAFETY: the controlled process has one kernel thread, and the list is written once, in `prepare`.
unsafe impl Sync for Known {}
static KNOWN: Known = Known(RefCell::new(Vec::new()));

/// Called before the snapshot.
pub(crate) fn prepare() {
    *KNOWN.0.borrow_mut() = identity::writable();
}

/// [`of`] the variables of the modules that were loaded when the program began. A signal handler may call
/// this, at any instruction of the program.
pub(crate) fn of_known(world: &World) -> u64 {
    of(world, &KNOWN.0.borrow())
}

/// The first stack that ends behind an address.
fn next_stack(world: &World, at: u64) -> Option<(u64, u64)> {
    let tasks = &world.tasks[..usize::from(world.created.get())];
    let stacks = tasks.iter().map(|task| task.stack.get()).chain(world.spare_stacks.each());
    let stacks = stacks.map(|stack| (stack.low, stack.high)).filter(|&(_, high)| high > at);
    stacks.min()
}

fn range_hash(mut hash: u64, start: u64, end: u64, world: &World) -> u64 {
    let mut at = start;
    while let Some((low, high)) = next_stack(world, at).filter(|&(low, _)| low < end) {
        hash = words_hash(hash, at, low.max(at));
        at = at.max(high.next_multiple_of(8));
    }
    words_hash(hash, at, end)
}

fn words_hash(hash: u64, start: u64, end: u64) -> u64 {
    let len = end.saturating_sub(start) as usize / 8;
    let words = std::ptr::slice_from_raw_parts(start as *const u64, len);
    // SAFETY: the range belongs to a writable segment of a loaded module or to the used part of the
    // arena, which are mapped and readable; its start is a multiple of 8; no task runs meanwhile.
    unsafe { &*words }.iter().fold(hash, |hash, &word| {
        let x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ (x >> 29)
    })
}
