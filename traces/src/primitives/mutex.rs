//! Mutexes.

use super::description::{Dependence, Description, Order};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Lock, "lock", Kind::Mutex)
        .sign("L")
        .writes()
        .acquires_lock()
        .depends(Dependence::Locks)
        .orders(Order::Acquires),
    Description::new(O::TryLock, "try lock", Kind::Mutex)
        .sign("L")
        .writes()
        .acquires_lock()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::TimedLock, "timed lock", Kind::Mutex)
        .sign("L")
        .writes()
        .may_time_out()
        .acquires_lock()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::Unlock, "unlock", Kind::Mutex)
        .sign("U")
        .writes()
        .releases_lock()
        .depends(Dependence::Unlocks)
        .orders(Order::Releases),
    Description::new(O::MutexDestroy, "destroy mutex", Kind::Mutex).sign("~").writes().destroys(),
    Description::new(O::MutexInit, "init mutex", Kind::Mutex).sign("*").writes(),
];
