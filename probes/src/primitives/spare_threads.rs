//! Control blocks and stacks of threads that were allocated before an execution needs them.

use crate::memory::thread_block;
use crate::state::stacks;
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// Control blocks allocated before the first execution, so that small programs need no allocation
/// from the system.
const SPARE: usize = 8;

struct Spares {
    blocks: [Cell<u64>; SPARE],
    len: Cell<usize>,
    /// The blocks of threads that were reaped, freed when the spare ones run out. Executions with
    /// few threads leave that to the reset.
    used: [Cell<u64>; SPARE],
    used_len: Cell<usize>,
    /// The stack size if attributes name none; 0 if it must be asked for.
    size: Cell<usize>,
    /// The size of the guard that goes with it.
    guard: Cell<usize>,
    /// Whether the program ever set default attributes.
    has_defaults: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Spares {}
static SPARES: Spares = Spares {
    blocks: [const { Cell::new(0) }; SPARE],
    len: Cell::new(0),
    used: [const { Cell::new(0) }; SPARE],
    used_len: Cell::new(0),
    size: Cell::new(0),
    guard: Cell::new(0),
    has_defaults: Cell::new(false),
};

/// Allocates the spare blocks and stacks.
pub(crate) fn prepare() {
    for spare in &SPARES.blocks {
        let Some(block) = thread_block::allocate(0) else { return };
        spare.set(block);
        SPARES.len.set(SPARES.len.get() + 1);
    }
    let (size, guard) = default_sizes();
    stacks::prepare_alike(size, guard, SPARE);
}

/// The loader maps a library. It initialises thread-local variables that the library expects at a fixed
/// place of each thread in all threads of the C library's list, to which tasks and spare blocks do not
/// belong otherwise.
pub(crate) fn library_comes() {
    let world = world();
    for number in 1..world.created.get() {
        let task = &world.tasks[usize::from(number)];
        if matches!(task.life(), Lifecycle::Alive | Lifecycle::Ended) && task.is_thread() {
            thread_block::link(task.block.get());
        }
    }
    SPARES.blocks[..SPARES.len.get()].iter().for_each(|spare| thread_block::link(spare.get()));
}

/// The number of spare thread control blocks.
pub(crate) fn len() -> usize {
    SPARES.len.get()
}

/// Makes the first `len` blocks spare again, after a reset restored their memory.
pub(crate) fn restore_len(len: usize) {
    SPARES.len.set(len);
    SPARES.used_len.set(0);
    SPARES.size.set(0);
}

/// The spare blocks and sizes in the middle of an execution.
pub(crate) struct Saved {
    len: usize,
    used: Vec<u64>,
    size: usize,
    guard: usize,
}

/// What is spare now.
pub(crate) fn save() -> Saved {
    let used = SPARES.used[..SPARES.used_len.get()].iter().map(Cell::get).collect();
    Saved { len: SPARES.len.get(), used, size: SPARES.size.get(), guard: SPARES.guard.get() }
}

/// An execution continues where [`save`] returned `saved`.
pub(crate) fn restore(saved: &Saved) {
    SPARES.len.set(saved.len);
    SPARES.used.iter().zip(&saved.used).for_each(|(block, &was)| block.set(was));
    SPARES.used_len.set(saved.used.len());
    SPARES.size.set(saved.size);
    SPARES.guard.set(saved.guard);
}

pub(super) fn free_block(block: u64) {
    let used = SPARES.used_len.get();
    if used < SPARE {
        SPARES.used[used].set(block);
        SPARES.used_len.set(used + 1);
    } else {
        thread_block::free(block);
    }
}

/// The sizes of the stack and of its guard that a thread without attributes has.
pub(super) fn default_sizes() -> (usize, usize) {
    let known = SPARES.size.get();
    if known > 0 {
        return (known, SPARES.guard.get());
    }
    let (mut size, mut guard) = (0usize, stacks::GUARD);
    // SAFETY: the functions fill in, read and destroy one attribute object, a local of 64 bytes
    // (the ABI's type has 56), and write the size to a local.
    let mut attributes = [0u64; 8];
    let attributes = attributes.as_mut_ptr().cast::<c_void>();
    if real!(pthread_getattr_default_np(attributes) as fn(*mut c_void) -> c_int) == 0 {
        real!(pthread_attr_getstacksize(attributes, &raw mut size)
            as fn(*mut c_void, *mut usize) -> c_int);
        real!(pthread_attr_getguardsize(attributes, &raw mut guard)
            as fn(*mut c_void, *mut usize) -> c_int);
        real!(pthread_attr_destroy(attributes) as fn(*mut c_void) -> c_int);
    }
    let size = if size == 0 { stacks::DEFAULT } else { size };
    SPARES.size.set(size);
    SPARES.guard.set(guard);
    (size, guard)
}

/// Whether the program ever set default attributes.
pub(super) fn has_defaults() -> bool {
    SPARES.has_defaults.get()
}

/// The program sets default attributes.
pub(super) fn defaults_changed() {
    SPARES.size.set(0);
    SPARES.has_defaults.set(true);
}

pub(super) fn take_block(tid: i32) -> Option<u64> {
    let len = SPARES.len.get();
    if len > 0 {
        SPARES.len.set(len - 1);
        let block = SPARES.blocks[len - 1].get();
        thread_block::set_tid(block, tid);
        return Some(block);
    }
    for used in &SPARES.used[..SPARES.used_len.replace(0)] {
        thread_block::free(used.get());
    }
    thread_block::allocate(tid)
}
