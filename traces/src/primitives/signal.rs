//! Signals between tasks, and timers.

use super::description::{Dependence, Description, Order, Value};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Kill, "kill", Kind::Task).sign("K").writes().depends(Dependence::Special),
    Description::new(O::Handler, "handle signal", Kind::Task)
        .sign("h")
        .writes()
        .depends(Dependence::Special)
        .orders(Order::Nothing),
    Description::new(O::SignalWait, "signal wait", Kind::Memory)
        .writes()
        .depends(Dependence::Special)
        .orders(Order::Nothing)
        .value(Value::Signal),
    Description::new(O::Timer, "timer", Kind::Task)
        .sign("t")
        .writes()
        .yields()
        .depends(Dependence::Special),
    Description::new(O::TimerSet, "set timer", Kind::Task)
        .sign("T")
        .writes()
        .depends(Dependence::Special),
];
