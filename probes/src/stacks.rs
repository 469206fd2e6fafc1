//! Stacks for fibers: mapped once, committed by use, guarded below.

use crate::raw;
use crate::world::world;

/// The guard where the program does not ask for another.
pub(crate) const GUARD: usize = 4096;
/// What glibc gives a thread where nobody says otherwise and the stack limit is the usual one.
pub(crate) const DEFAULT: usize = 8 << 20;

/// So many spare stacks of one size at most.
const MOST_ALIKE: usize = 16;

/// A stack: `[low, high)`, the guard included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stack {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) guard: u64,
    /// Whether the memory is the program's own.
    pub(crate) foreign: bool,
}

/// Maps a stack of at least `size` usable bytes.
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
        // SAFETY: the lowest pages of the new mapping.
        unsafe {
            raw::call!(libc::SYS_mprotect, low, guard, libc::PROT_NONE);
        }
    }
    Some(Stack { low, high: low + size as u64, guard: guard as u64, foreign: false })
}

/// Makes spare stacks like those that these tasks had, where there are too few: later executions will
/// want the same. How many were made.
pub(crate) fn prepare(wanted: &[(u64, u64)]) -> usize {
    let spare = &world().spare_stacks;
    let mut made = 0;
    for (at, &(size, guard)) in wanted.iter().enumerate() {
        let alike = |other: &&(u64, u64)| **other == (size, guard);
        let needed = wanted[..=at].iter().filter(alike).count();
        let there =
            spare.all().iter().filter(|s| (s.high - s.low, s.guard) == (size, guard)).count();
        if there >= needed.min(MOST_ALIKE) {
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

/// Gives a stack back. Where there is no room for it, it stays mapped until the execution is over: it may be
/// one that was spare when that began, and has to be there for the next.
pub(crate) fn free(stack: Stack) {
    if !stack.foreign && stack.low != 0 {
        world().spare_stacks.put(stack);
    }
}

/// Unmaps a stack of the runtime's own that nobody runs on any more.
pub(crate) fn unmap(stack: Stack) {
    // SAFETY: as the function demands of whoever calls it: no fiber is on it.
    unsafe {
        raw::call!(libc::SYS_munmap, stack.low, stack.high - stack.low);
    }
}

/// Stacks for the next tasks: a new mapping costs more than all else in a thread's creation.
pub(crate) struct Spare {
    stacks: [std::cell::Cell<Stack>; 64],
    len: std::cell::Cell<usize>,
}

impl Spare {
    pub(crate) const fn new() -> Spare {
        Spare {
            stacks: [const { std::cell::Cell::new(Stack { low: 0, high: 0, guard: 0, foreign: false }) };
                64],
            len: std::cell::Cell::new(0),
        }
    }

    /// Those that nobody uses.
    pub(crate) fn all(&self) -> Vec<Stack> {
        self.stacks[..self.len.get()].iter().map(std::cell::Cell::get).collect()
    }

    /// Makes these the ones that nobody uses.
    pub(crate) fn set(&self, stacks: &[Stack]) {
        for (slot, &stack) in self.stacks.iter().zip(stacks) {
            slot.set(stack);
        }
        self.len.set(stacks.len());
    }

    fn take(&self, size: u64, guard: u64) -> Option<Stack> {
        let len = self.len.get();
        let at = (0..len).rev().find(|&at| {
            let stack = self.stacks[at].get();
            stack.high - stack.low == size && stack.guard == guard
        })?;
        let stack = self.stacks[at].get();
        self.stacks[at].set(self.stacks[len - 1].get());
        self.len.set(len - 1);
        Some(stack)
    }

    fn put(&self, stack: Stack) -> bool {
        let len = self.len.get();
        if len == self.stacks.len() {
            return false;
        }
        self.stacks[len].set(stack);
        self.len.set(len + 1);
        true
    }
}
