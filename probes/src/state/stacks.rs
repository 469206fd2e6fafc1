//! Stacks for fibers: mapped once, committed by use, with a guard below.

use crate::state::stack::{Stack, unmap};
use crate::state::world::world;
use crate::sys::raw;

/// The guard's size if the program asks for no other.
pub(crate) const GUARD: usize = 4096;
/// glibc's stack size for threads if the program sets none and the stack limit is the usual one.
pub(crate) const DEFAULT: usize = 8 << 20;

/// The most spare stacks of one size.
const MOST_OF_ONE_SIZE: usize = 16;

/// Returns a stack of at least `size` usable bytes, a spare one or a new mapping.
pub(crate) fn allocate(size: usize, guard: usize) -> Option<Stack> {
    let guard = guard.next_multiple_of(4096);
    let size = size.next_multiple_of(4096) + guard;
    match world().spare_stacks.take(size as u64, guard as u64) {
        Some(stack) => Some(stack),
        None => map(size, guard),
    }
}

fn map(size: usize, guard: usize) -> Option<Stack> {
    let low = raw::map(
        0,
        size,
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_NORESERVE | libc::MAP_STACK,
    )? as u64;
    if guard > 0 {
        // SAFETY: the lowest pages of the mapping that was just made.
        unsafe {
            raw::call!(libc::SYS_mprotect, low, guard, libc::PROT_NONE);
        }
    }
    Some(Stack { low, high: low + size as u64, guard: guard as u64, foreign: false })
}

/// Makes spare stacks of these sizes and guards where there are too few, since later executions
/// will want the same. Returns how many.
pub(crate) fn prepare(wanted: &[(u64, u64)]) -> usize {
    let spare = &world().spare_stacks;
    let mut made = 0;
    for (at, &(size, guard)) in wanted.iter().enumerate() {
        let same = |other: &&(u64, u64)| **other == (size, guard);
        let needed = wanted[..=at].iter().filter(same).count();
        let there =
            spare.all().iter().filter(|s| (s.high - s.low, s.guard) == (size, guard)).count();
        if there >= needed.min(MOST_OF_ONE_SIZE) {
            continue;
        }
        let Some(stack) = map(size as usize, guard as usize) else { break };
        if !spare.put(stack) {
            unmap(stack);
            break;
        }
        made += 1;
    }
    made
}

/// Makes a stack spare. If there is no room for it, it stays mapped until the execution ends: it
/// may be one that was spare at the beginning, which the next execution needs.
pub(crate) fn free(stack: Stack) {
    if !stack.foreign && stack.low != 0 {
        world().spare_stacks.put(stack);
    }
}
