//! Read-write locks.

use super::description::{Dependence, Description, Order};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::ReadLock, "read lock", Kind::RwLock)
        .sign("l")
        .shares_lock()
        .depends(Dependence::Shares)
        .orders(Order::Acquires),
    Description::new(O::TryReadLock, "try read lock", Kind::RwLock)
        .sign("l")
        .shares_lock()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::TimedReadLock, "timed read lock", Kind::RwLock)
        .sign("l")
        .may_time_out()
        .shares_lock()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::WriteLock, "write lock", Kind::RwLock)
        .sign("L")
        .writes()
        .acquires_lock()
        .depends(Dependence::Locks)
        .orders(Order::AcquiresFromAll),
    Description::new(O::TryWriteLock, "try write lock", Kind::RwLock)
        .sign("L")
        .writes()
        .acquires_lock()
        .depends(Dependence::Tries)
        .orders(Order::AcquiresFromAll),
    Description::new(O::TimedWriteLock, "timed write lock", Kind::RwLock)
        .sign("L")
        .writes()
        .may_time_out()
        .acquires_lock()
        .orders(Order::AcquiresFromAll),
    Description::new(O::WriteWake, "write wake", Kind::RwLock)
        .sign("L")
        .writes()
        .returns()
        .may_time_out()
        .acquires_lock()
        .depends(Dependence::Special)
        .orders(Order::AcquiresFromAll),
    Description::new(O::RwUnlock, "rw unlock", Kind::RwLock)
        .sign("U")
        .writes()
        .releases_lock()
        .depends(Dependence::UnlocksOrUnshares)
        .orders(Order::ReleasesOne),
    Description::new(O::RwDestroy, "destroy rwlock", Kind::RwLock).sign("~").writes().destroys(),
    Description::new(O::RwInit, "init rwlock", Kind::RwLock).sign("*").writes(),
];
