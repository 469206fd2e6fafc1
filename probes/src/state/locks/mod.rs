//! The fields of glibc's synchronization primitives (`pthread_mutex_t` and the others), which lie in
//! the program's memory. The scheduler reads them to decide which tasks are enabled.

pub(crate) mod barrier;
pub(crate) mod holders;
pub(crate) mod mutex;
pub(crate) mod rwlock;
pub(crate) mod semaphore;
pub(crate) mod spin_lock;
pub(crate) mod word;

use traces::Operation;

/// Whether an operation that tries to acquire this object, with or without a time limit, succeeds now; none for
/// other operations. `is_word`: whether the object is a mutex of Rust's standard library.
pub(crate) fn would_succeed(operation: Operation, object: u64, is_word: bool) -> Option<bool> {
    use Operation as O;
    Some(match operation {
        O::TryLock if is_word => word::is_free(object),
        O::TryLock | O::TimedLock => mutex::is_free(object),
        O::SemTryWait | O::SemTimedWait => semaphore::value(object) > 0,
        O::TryReadLock | O::TimedReadLock => rwlock::is_readable(object),
        O::TryWriteLock => rwlock::is_writable(object),
        O::SpinTryLock => spin_lock::is_free(object),
        _ => return None,
    })
}
