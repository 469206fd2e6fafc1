//! Which operations may be sites where a loop waits.

use traces::Operation;

/// Whether the operation invites other tasks to run first.
pub(super) fn waits(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Yield | O::Sleep | O::Await | O::FutexWoken | O::Ready | O::SignalWait)
}

/// Whether the operation ends a wait that released a lock: if its time limit has passed, it acquires
/// the lock and changes nothing else.
pub(super) fn waits_with_lock(operation: Operation) -> bool {
    operation == Operation::TimedWake
}

/// Whether the operation may have no effect, depending on the object.
pub(super) fn may_fail(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::TryLock | O::SemTryWait | O::TryReadLock | O::TryWriteLock | O::SpinTryLock | O::Update
    ) || matches!(
        operation,
        O::Transfer | O::TimedLock | O::TimedReadLock | O::SemTimedWait | O::Join
    )
}

/// Whether the operation acquires a lock, and waits until that is possible.
pub(super) fn locks(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Lock | O::ReadLock | O::WriteLock | O::SpinLock)
}

/// Whether the operation releases a lock.
pub(super) fn unlocks(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Unlock | O::RwUnlock | O::SpinUnlock | O::Wait)
}
