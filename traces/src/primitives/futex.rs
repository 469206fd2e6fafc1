//! Futexes. A wait is two operations.

use super::description::{Dependence, Description, Order, Value};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::FutexWait, "futex wait", Kind::Futex).writes().yields(),
    Description::new(O::FutexWoken, "futex woken", Kind::Futex)
        .sign("w")
        .writes()
        .may_time_out()
        .depends(Dependence::Special)
        .orders(Order::Acquires),
    Description::new(O::FutexWake, "futex wake", Kind::Futex)
        .sign("S")
        .writes()
        .orders(Order::Releases)
        .value(Value::Woken),
    Description::new(O::FutexRequeue, "futex requeue", Kind::Futex)
        .sign("S")
        .writes()
        .value(Value::WokenOrMoved),
];
