//! Sites of predicates: a task arrives at one, is there, and departs.
//!
//! Two operations, because "two tasks are there at once" is a property of their order: each arrives
//! before the other departs. With one operation a reduction would not keep the states apart.

use super::description::{Dependence, Description, Order};
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] = &[
    Description::new(O::Site, "at site", Kind::Memory)
        .sign("@")
        .writes()
        .depends(Dependence::Special)
        .orders(Order::Nothing),
    Description::new(O::Depart, "from site", Kind::Memory)
        .sign("/")
        .writes()
        .depends(Dependence::Special)
        .orders(Order::Nothing),
];
