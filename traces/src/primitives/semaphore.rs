//! Semaphores.

use super::description::{Dependence, Description, Order};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::SemWait, "sem wait", Kind::Semaphore)
        .sign("P")
        .writes()
        .depends(Dependence::Takes)
        .orders(Order::Acquires),
    Description::new(O::SemTryWait, "sem try wait", Kind::Semaphore)
        .sign("P")
        .writes()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::SemTimedWait, "sem timed wait", Kind::Semaphore)
        .sign("P")
        .writes()
        .may_time_out()
        .depends(Dependence::Tries)
        .orders(Order::Acquires),
    Description::new(O::SemPost, "sem post", Kind::Semaphore)
        .sign("V")
        .writes()
        .depends(Dependence::Posts)
        .orders(Order::Releases),
    Description::new(O::SemDestroy, "destroy semaphore", Kind::Semaphore)
        .sign("~")
        .writes()
        .destroys(),
    Description::new(O::SemInit, "init semaphore", Kind::Semaphore).sign("*").writes(),
];
