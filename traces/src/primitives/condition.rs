//! Condition variables. A wait is two operations.

use super::description::{Dependence, Description, Order, Value};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Wait, "wait", Kind::Condition)
        .writes()
        .yields()
        .depends(Dependence::Special)
        .orders(Order::ReleasesMutex),
    Description::new(O::Wake, "wake", Kind::Condition)
        .sign("w")
        .writes()
        .wakes_and_locks()
        .depends(Dependence::Special)
        .orders(Order::AcquiresWithMutex),
    Description::new(O::TimedWake, "timed wake", Kind::Condition)
        .sign("w")
        .writes()
        .may_time_out()
        .wakes_and_locks()
        .depends(Dependence::Special)
        .orders(Order::AcquiresWithMutex),
    Description::new(O::SpuriousWake, "spurious wake", Kind::Condition)
        .sign("w")
        .writes()
        .wakes_and_locks()
        .depends(Dependence::Special)
        .orders(Order::AcquiresWithMutex),
    Description::new(O::Signal, "signal", Kind::Condition)
        .sign("S")
        .writes()
        .orders(Order::Releases)
        .value(Value::Woken),
    Description::new(O::Broadcast, "broadcast", Kind::Condition)
        .sign("S")
        .writes()
        .orders(Order::Releases)
        .value(Value::Woken),
    Description::new(O::ConditionDestroy, "destroy condition", Kind::Condition)
        .sign("~")
        .writes()
        .destroys(),
    Description::new(O::ConditionInit, "init condition", Kind::Condition).sign("*").writes(),
];
