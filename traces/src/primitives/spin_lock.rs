//! Spin locks.

use super::description::{Dependence, Description, Order};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::SpinLock, "spin lock", Kind::SpinLock)
        .sign("L")
        .writes()
        .acquires_lock()
        .depends(Dependence::Locks)
        .orders(Order::Acquires),
    Description::new(O::SpinTryLock, "spin try lock", Kind::SpinLock)
        .sign("L")
        .writes()
        .acquires_lock()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::SpinUnlock, "spin unlock", Kind::SpinLock)
        .sign("U")
        .writes()
        .releases_lock()
        .depends(Dependence::Unlocks)
        .orders(Order::Releases),
    Description::new(O::SpinDestroy, "destroy spin lock", Kind::SpinLock)
        .sign("~")
        .writes()
        .destroys(),
    Description::new(O::SpinInit, "init spin lock", Kind::SpinLock).sign("*").writes(),
];
