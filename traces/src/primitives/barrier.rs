//! Barriers. A wait is two operations, except for the last task to arrive.

use super::description::{Dependence, Description, Order, Value};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::BarrierWait, "barrier wait", Kind::Barrier)
        .sign("B")
        .writes()
        .value(Value::Last),
    Description::new(O::BarrierPass, "barrier pass", Kind::Barrier)
        .sign("b")
        .writes()
        .returns()
        .depends(Dependence::Nothing)
        .orders(Order::Acquires),
    Description::new(O::BarrierDestroy, "destroy barrier", Kind::Barrier)
        .sign("~")
        .writes()
        .destroys(),
    Description::new(O::BarrierInit, "init barrier", Kind::Barrier).sign("*").writes(),
];
