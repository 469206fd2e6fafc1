//! Stacks of tasks, and the list of spare ones.

use crate::sys::raw;
use std::cell::Cell;

/// A stack: `[low, high)`, including the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stack {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) guard: u64,
    /// Whether the memory is the program's own.
    pub(crate) foreign: bool,
}

/// Unmaps a stack of the runtime.
pub(crate) fn unmap(stack: Stack) {
    // SAFETY: callers pass a stack that the runtime mapped and whose task has ended, or that was
    // never used.
    unsafe {
        raw::call!(libc::SYS_munmap, stack.low, stack.high - stack.low);
    }
}

/// The most spare stacks.
const MOST: usize = crate::state::world::MAX_TASKS + 64;

/// Spare stacks for the next tasks: a new mapping costs more than the rest of a thread's creation.
pub(crate) struct Spare {
    stacks: [Cell<Stack>; MOST],
    len: Cell<usize>,
}

impl Spare {
    pub(crate) const fn new() -> Spare {
        Spare {
            stacks: [const { Cell::new(Stack { low: 0, high: 0, guard: 0, foreign: false }) };
                MOST],
            len: Cell::new(0),
        }
    }

    /// The spare stacks.
    pub(crate) fn all(&self) -> Vec<Stack> {
        self.each().collect()
    }

    /// Each spare stack.
    pub(crate) fn each(&self) -> impl Iterator<Item = Stack> + '_ {
        self.stacks[..self.len.get()].iter().map(Cell::get)
    }

    /// Sets the spare stacks.
    pub(crate) fn set(&self, stacks: &[Stack]) {
        for (slot, &stack) in self.stacks.iter().zip(stacks) {
            slot.set(stack);
        }
        self.len.set(stacks.len());
    }

    /// Takes the stack at this address, if it has this size and guard.
    pub(crate) fn take(&self, low: u64, size: u64, guard: u64) -> Option<Stack> {
        let stack = Stack { low, high: low + size, guard, foreign: false };
        let at = self.each().position(|spare| spare == stack)?;
        let len = self.len.get();
        self.stacks[at].set(self.stacks[len - 1].get());
        self.len.set(len - 1);
        Some(stack)
    }

    pub(crate) fn put(&self, stack: Stack) -> bool {
        let len = self.len.get();
        if len == self.stacks.len() {
            return false;
        }
        self.stacks[len].set(stack);
        self.len.set(len + 1);
        true
    }
}
