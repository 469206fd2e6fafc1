//! The state of mutexes, in the program's bytes.

use std::cell::Cell;

/// The fields of glibc's `pthread_mutex_t` on x86-64. The layout is ABI: static initialisers are
/// compiled into programs.
#[repr(C)]
pub(crate) struct Mutex {
    pub(crate) lock: Cell<i32>,
    pub(crate) count: Cell<u32>,
    pub(crate) owner: Cell<i32>,
    pub(crate) users: Cell<u32>,
    pub(crate) kind: Cell<i32>,
}

/// The bits of [`Mutex::kind`].
pub(crate) const TYPE: i32 = 3;
pub(crate) const RECURSIVE: i32 = 1;
pub(crate) const ERROR_CHECKING: i32 = 2;
pub(crate) const ROBUST: i32 = 16;
pub(crate) const INHERIT: i32 = 32;
pub(crate) const PROTECT: i32 = 64;
/// All bits that glibc sets: type, robust, the priority protocols, process-shared, and elision.
pub(crate) const KNOWN: i32 = TYPE | ROBUST | INHERIT | PROTECT | 128 | 256 | 512;
/// The kind that `pthread_mutex_destroy` stores.
pub(crate) const DESTROYED: i32 = -1;
/// The part of the lock word that contains the priority ceiling of a mutex with protocol
/// [`PROTECT`].
pub(crate) const CEILING: i32 = 0xfff8_0000_u32 as i32;
pub(crate) const CEILING_SHIFT: u32 = 19;
/// Owners of robust mutexes after an owner ended (glibc's `PTHREAD_MUTEX_INCONSISTENT` and
/// `PTHREAD_MUTEX_NOTRECOVERABLE`).
pub(crate) const INCONSISTENT: i32 = i32::MAX;
pub(crate) const NOT_RECOVERABLE: i32 = i32::MAX - 1;

pub(crate) fn at<'a>(address: u64) -> &'a Mutex {
    // SAFETY: callers pass an address that the program gave as a mutex; if it is not mapped, the
    // access faults as it would in the C library. The fields are cells, and one kernel thread
    // accesses them, so several references to one mutex may exist.
    unsafe { &*(address as *const Mutex) }
}

/// Whether no task holds the mutex.
#[inline]
pub(crate) fn is_free(address: u64) -> bool {
    let mutex = at(address);
    mutex.lock.get() == 0 || (mutex.kind.get() & PROTECT != 0 && mutex.lock.get() & !CEILING == 0)
}

/// The thread id of the holder.
#[inline]
pub(crate) fn owner(address: u64) -> Option<i32> {
    let mutex = at(address);
    // A robust mutex may have a marker as its owner; its lock word holds the thread id.
    let owner = if mutex.kind.get() & ROBUST != 0 { mutex.lock.get() } else { mutex.owner.get() };
    (!is_free(address) && owner != 0).then_some(owner)
}

/// Whether an unlock by the task with this thread id would free the mutex.
pub(crate) fn would_release(address: u64, tid: i32) -> bool {
    let mutex = at(address);
    match mutex.kind.get() & TYPE {
        RECURSIVE => owner(address) == Some(tid) && mutex.count.get() <= 1,
        ERROR_CHECKING => owner(address) == Some(tid),
        _ => true,
    }
}
