//! Waits for descriptors, and transfers that do not wait.

use super::description::{Dependence, Description, Order};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Ready, "ready", Kind::Descriptor)
        .sign("D")
        .may_time_out()
        .depends(Dependence::Special)
        .orders(Order::Nothing),
    Description::new(O::Transfer, "transfer", Kind::Descriptor)
        .sign("d")
        .depends(Dependence::Tries)
        .orders(Order::Nothing),
];
