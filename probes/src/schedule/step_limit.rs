//! How many steps an execution may have.
//!
//! The first limit is doubled while the execution makes progress, up to the most that any execution may
//! have. In the second half of what it may have, its memory is hashed eight times: an execution that
//! repeats a state, such as one that polls for something that never happens, ends. So does one that
//! mostly lets time pass, which a server without clients does. All of this follows from the execution
//! alone, so that it is the same in every worker, and in a search that was resumed.

use crate::memory::arena;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::Root;
use crate::state::world::World;
use crate::steps::identity;
use search::Reduction;

/// The most steps with a strategy that stores data for each step, for one task: each step needs memory
/// for each task, and the runtime's memory is bounded.
const STORED_STEPS: u64 = 1_600_000;
/// The least number of tasks that this limit is divided by.
const STORED_TASKS: u64 = 4;

/// Called where the execution has as many steps as `next` of its allowance says: it may continue, or
/// ends.
#[cold]
pub(crate) fn check(world: &World, root: &Root, step: u64) {
    let allowance = &world.allowance;
    let most = match root.strategy.borrow().needs_pending() {
        true => {
            let stored = STORED_STEPS / u64::from(world.created.get()).max(STORED_TASKS);
            root.most_steps.min(stored).max(root.max_steps)
        }
        false => root.most_steps,
    };
    if allowance.limit() == 0 {
        allowance.begin(root.max_steps, most);
    }
    let limit = allowance.limit();
    if step < allowance.next.get() {
        return;
    }
    if step >= limit && limit >= most {
        outcome::end(End::Cut);
    }
    if !allowance.note(memory_hash(world)) {
        return;
    }
    if !allowance.is_progress() {
        outcome::end(End::Cut);
    }
    allowance.begin((2 * limit).min(most), most);
}

/// A hash of the memory that tasks share: the variables of the program and its libraries, and the heap,
/// without stacks. What a task counts for itself is no progress.
fn memory_hash(world: &World) -> u64 {
    let tasks = &world.tasks[..usize::from(world.created.get())];
    let mut stacks: Vec<(u64, u64)> = tasks
        .iter()
        .map(|task| task.stack.get())
        .chain(world.spare_stacks.each())
        .map(|stack| (stack.low, stack.high))
        .collect();
    stacks.sort_unstable();
    let own = std::ptr::from_ref(world) as u64;
    let mut hash = 0;
    for (start, end) in identity::writable().into_iter().chain([arena::used()]) {
        if !(start..end).contains(&own) {
            hash = range_hash(hash, start.next_multiple_of(8), end, &stacks);
        }
    }
    hash
}

fn range_hash(mut hash: u64, start: u64, end: u64, stacks: &[(u64, u64)]) -> u64 {
    let mut at = start;
    for &(low, high) in stacks.iter().filter(|&&(low, high)| low < end && high > start) {
        hash = words_hash(hash, at, low.max(at));
        at = at.max(high.next_multiple_of(8));
    }
    words_hash(hash, at, end)
}

fn words_hash(hash: u64, start: u64, end: u64) -> u64 {
    let len = end.saturating_sub(start) as usize / 8;
    let words = std::ptr::slice_from_raw_parts(start as *const u64, len);
    // SAFETY: the range belongs to a writable segment of a loaded module or to the used part of the
    // arena, which are mapped and readable; its start is a multiple of 8; no task runs.
    unsafe { &*words }.iter().fold(hash, |hash, &word| {
        let x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ (x >> 29)
    })
}
