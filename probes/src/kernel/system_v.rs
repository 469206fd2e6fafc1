//! System V queues, semaphore sets and segments, which the kernel keeps when the process ends.
//!
//! Each execution has to begin as the first one did. An object without a key belongs to the execution
//! that made it, and is removed at its end. An object with a key is shared by all executions, those of
//! other workers too: what one leaves there is the beginning of another, so it is named, and the search
//! is not complete.

use crate::instrument::binary::calls;
use crate::kernel::children;
use crate::memory::runtime_heap::in_private;
use crate::state::exclusive::Exclusive;
use crate::state::world::world;
use crate::sys::raw;

/// The most objects of an execution that are removed.
const MOST: usize = 4096;

struct Private(Exclusive<Vec<(i64, i64)>>);
// SAFETY: `Exclusive` checks borrows, and the controlled process has one kernel thread.
unsafe impl Sync for Private {}

/// The objects without a key that the execution made: which call removes each, and its number.
static PRIVATE: Private = Private(Exclusive::new(Vec::new()));

/// An execution begins.
pub(crate) fn begin() {
    PRIVATE.0.borrow().clear();
}

/// An execution ended: removes its objects, unless the program did.
pub(crate) fn end() {
    for (call, id) in std::mem::take(&mut *PRIVATE.0.borrow()) {
        // SAFETY: removes an object that the execution made; the calls read no memory for it.
        unsafe {
            match call {
                libc::SYS_semctl => raw::call!(call, id, 0, libc::IPC_RMID, 0),
                _ => raw::call!(call, id, libc::IPC_RMID, 0),
            }
        };
    }
}

/// Whether only this process uses the object with this number, of a call that waits for it: the execution made
/// it without a key.
pub(crate) fn is_private(number: i64, id: u64) -> bool {
    let removes = match number {
        libc::SYS_semop | libc::SYS_semtimedop => libc::SYS_semctl,
        libc::SYS_msgsnd | libc::SYS_msgrcv => libc::SYS_msgctl,
        _ => return false,
    };
    let id = i64::from(id as i32);
    !children::are_there() && PRIVATE.0.borrow().contains(&(removes, id))
}

/// A call of the program returned `answer`, which is no error.
pub(crate) fn note(number: i64, args: [u64; 6], answer: i64) {
    let (removes, what) = match number {
        libc::SYS_msgget => (libc::SYS_msgctl, "a System V message queue with a key"),
        libc::SYS_semget => (libc::SYS_semctl, "a System V semaphore set with a key"),
        libc::SYS_shmget => (libc::SYS_shmctl, "a System V segment with a key"),
        _ => return,
    };
    if args[0] as i32 != libc::IPC_PRIVATE {
        calls::report_unexplored(what, "the kernel", world().task().served.get());
        return;
    }
    let mut made = PRIVATE.0.borrow();
    if made.len() < MOST {
        in_private(|| made.push((removes, answer)));
    }
}
