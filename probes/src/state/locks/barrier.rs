//! The state of barriers, in the program's bytes.

use crate::state::world::world;
use std::cell::Cell;

/// glibc's `struct pthread_barrier`. Between rounds all counters are 0, as in a new one.
#[repr(C)]
pub(crate) struct Barrier {
    pub(crate) arrived: Cell<u32>,
    pub(crate) round: Cell<u32>,
    pub(crate) count: Cell<u32>,
    pub(crate) shared: Cell<i32>,
    pub(crate) left: Cell<u32>,
}

/// The value of `shared` for a barrier that processes share.
pub(crate) const SHARED: i32 = 128;

/// The count that `pthread_barrier_destroy` stores; a barrier that was never initialised has 0.
pub(crate) const DESTROYED: u32 = 0xdead_d000;

pub(crate) fn at<'a>(barrier: u64) -> &'a Barrier {
    // SAFETY: callers pass an address that the program gave as a barrier; if it is not mapped, the
    // access faults as it would in the C library. The fields are cells, and one kernel thread
    // accesses them, so several references to one barrier may exist.
    unsafe { &*(barrier as *const Barrier) }
}

/// The tasks that are blocked in this round of the barrier with this key. A task that handles a signal meanwhile
/// is still one of them (POSIX: it resumes waiting when the handler returns), whatever operation it
/// is at.
pub(crate) fn waiting_by(key: u64) -> impl Iterator<Item = u16> {
    let world = world();
    world.alive().filter(move |&number| {
        let task = &world.tasks[usize::from(number)];
        task.waits_on.get() == key && !task.woken.get()
    })
}

/// The barrier's count, and how many tasks have arrived.
pub(crate) fn progress(barrier: u64) -> (u32, u32) {
    (at(barrier).count.get(), at(barrier).arrived.get())
}
