//! Tasks: their beginning and end, cancellation, and the end of the process.

use super::description::{Dependence, Description, Order, Value};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Start, "start", Kind::Task)
        .sign("o")
        .depends(Dependence::Nothing)
        .orders(Order::Nothing),
    Description::new(O::Create, "create", Kind::Task)
        .sign("+")
        .writes()
        .depends(Dependence::Special)
        .orders(Order::Nothing),
    Description::new(O::Join, "join", Kind::Task)
        .sign("J")
        .writes()
        .may_time_out()
        .depends(Dependence::Special)
        .orders(Order::Nothing),
    Description::new(O::Detach, "detach", Kind::Task)
        .sign("-")
        .writes()
        .depends(Dependence::Nothing)
        .orders(Order::Nothing),
    Description::new(O::Exit, "exit", Kind::Task)
        .sign("x")
        .writes()
        .yields()
        .depends(Dependence::Nothing)
        .orders(Order::Nothing)
        .value(Value::Status),
    Description::new(O::ExitNow, "exit now", Kind::Task)
        .sign("x")
        .writes()
        .yields()
        .depends(Dependence::Special)
        .orders(Order::Nothing)
        .value(Value::Status),
    Description::new(O::Cancel, "cancel", Kind::Task)
        .sign("C")
        .writes()
        .depends(Dependence::Special),
    Description::new(O::TestCancel, "test cancel", Kind::Memory)
        .sign("c")
        .yields()
        .depends(Dependence::Nothing)
        .orders(Order::Nothing),
];
