//! Accesses to memory, and operations without an object.

use super::description::{Dependence, Description, Order, Value};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Read, "read", Kind::Memory)
        .sign("R")
        .depends(Dependence::Reads)
        .orders(Order::Nothing)
        .value(Value::Memory),
    Description::new(O::Write, "write", Kind::Memory)
        .sign("W")
        .writes()
        .orders(Order::Nothing)
        .value(Value::Memory),
    Description::new(O::Update, "update", Kind::Memory)
        .sign("M")
        .writes()
        .depends(Dependence::Tries)
        .orders(Order::Nothing)
        .value(Value::Memory),
    Description::new(O::Await, "await", Kind::Memory)
        .sign("r")
        .yields()
        .depends(Dependence::Reads)
        .orders(Order::Nothing)
        .value(Value::Memory),
    Description::new(O::Yield, "yield", Kind::Memory)
        .sign("y")
        .yields()
        .depends(Dependence::Nothing)
        .orders(Order::Nothing),
    Description::new(O::Sleep, "sleep", Kind::Memory)
        .sign("z")
        .yields()
        .depends(Dependence::Nothing)
        .orders(Order::Nothing),
];
