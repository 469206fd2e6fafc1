//! The memory of the runtime itself, as opposed to the program's.

use crate::instrument::monitoring;
use crate::memory::{arena, runtime_heap, snapshot};
use crate::sys::signals;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The size of the manager's stack.
pub(crate) const MANAGER_STACK: usize = 1 << 20;
static MANAGER_STACK_START: AtomicU64 = AtomicU64::new(0);

/// Sets the address of the manager's stack.
pub(crate) fn set_manager_stack(address: u64) {
    MANAGER_STACK_START.store(address, Relaxed);
}

/// Ranges of the runtime itself, which a snapshot of the program leaves out.
pub(crate) fn own_ranges() -> Vec<(u64, u64)> {
    let manager = MANAGER_STACK_START.load(Relaxed);
    let mut own = vec![
        crate::sys::own_image::data(),
        signals::stack(),
        (manager, manager + MANAGER_STACK as u64),
    ];
    own.push(arena::names_range());
    own.extend(arena::stacks_range());
    own.extend(snapshot::ranges());
    own.push(runtime_heap::private_range());
    own.extend(monitoring::ranges());
    own
}

/// The program's writable memory, except its heap and the tasks' stacks.
pub(crate) fn program_memory() -> Vec<(u64, u64)> {
    snapshot::of_program(&own_ranges())
}
