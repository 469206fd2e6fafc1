//! The state of read-write locks, in the program's bytes.

use crate::state::locks::holders;
use crate::state::world::world;
use std::cell::Cell;

/// `pthread_rwlock_t` on x86-64. The layout is ABI: static initialisers are compiled into programs.
#[repr(C)]
pub(crate) struct RwLock {
    pub(crate) readers: Cell<u32>,
    pub(crate) writers: u32,
    pub(crate) futexes: [u32; 2],
    pub(crate) pad: [u32; 2],
    pub(crate) writer: Cell<i32>,
    pub(crate) shared: i32,
    pub(crate) more: [u64; 2],
    pub(crate) flags: Cell<u32>,
}

/// glibc's `PTHREAD_RWLOCK_WRPHASE`: the last owner was a writer. It stays set in a free lock.
pub(crate) const WRITE_PHASE: u32 = 1;
/// glibc's `PTHREAD_RWLOCK_WRLOCKED`: a writer owns the lock.
pub(crate) const WRITE_LOCKED: u32 = 2;
/// A writer owns the lock: both bits, as glibc sets them.
pub(crate) const WRITTEN: u32 = WRITE_PHASE | WRITE_LOCKED;
/// glibc's `PTHREAD_RWLOCK_RWAITING`: only a hint for its futex calls.
pub(crate) const READERS_WAIT: u32 = 4;
pub(crate) const READER: u32 = 8;
pub(crate) const MOST_READERS: u32 = 1 << 28;
pub(crate) const PREFERS_WRITERS: u32 = 2;
/// The value that `pthread_rwlock_destroy` stores: more readers than a lock can have.
pub(crate) const DESTROYED: u32 = 0xdead_d000;

pub(crate) fn at<'a>(lock: u64) -> &'a RwLock {
    // SAFETY: callers pass an address that the program gave as a read-write lock; if it is not
    // mapped, the access faults as it would in the C library. The fields are cells, and one kernel
    // thread accesses them, so several references to one lock may exist.
    unsafe { &*(lock as *const RwLock) }
}

/// Whether a writer holds it.
pub(crate) fn is_written(lock: u64) -> bool {
    at(lock).readers.get() & WRITE_LOCKED != 0
}

/// Whether a writer can acquire it.
pub(crate) fn is_writable(lock: u64) -> bool {
    at(lock).readers.get() & !(WRITE_PHASE | READERS_WAIT) == 0
}

/// Whether new readers wait while a writer waits.
pub(crate) fn prefers_writers(lock: u64) -> bool {
    at(lock).flags.get() == PREFERS_WRITERS
}

/// The writers that wait for it in a separate step.
pub(crate) fn waiting_writers(lock: u64) -> impl Iterator<Item = u16> {
    let (world, key) = (world(), holders::key(lock));
    world.alive().filter(move |&number| {
        let task = &world.tasks[usize::from(number)];
        // A writer that handles a signal meanwhile is still blocked, whatever operation it is at.
        task.waits_on.get() == key
    })
}

/// Whether a reader can acquire it.
pub(crate) fn is_readable(lock: u64) -> bool {
    let is_blocked = || prefers_writers(lock) && waiting_writers(lock).next().is_some();
    !is_written(lock) && !is_blocked()
}

pub(crate) fn writer(lock: u64) -> Option<u16> {
    if is_written(lock) { world().by_tid(at(lock).writer.get()) } else { None }
}

/// Whether the task with this thread id holds it for writing.
pub(crate) fn is_written_by(lock: u64, tid: i32) -> bool {
    is_written(lock) && at(lock).writer.get() == tid
}

/// Calls `each` with the tasks that block a reader.
pub(crate) fn before_reader<T>(lock: u64, mut each: impl FnMut(u16) -> Option<T>) -> Option<T> {
    if let Some(writer) = writer(lock) {
        return each(writer);
    }
    if prefers_writers(lock) { waiting_writers(lock).find_map(each) } else { None }
}

/// Calls `each` with the tasks that block a writer.
pub(crate) fn before_writer<T>(lock: u64, mut each: impl FnMut(u16) -> Option<T>) -> Option<T> {
    match writer(lock) {
        Some(writer) => each(writer),
        None => holders::holders(lock).find_map(each),
    }
}
