//! Once flags.

use super::description::Description;
use crate::object::ObjectKind as Kind;
use crate::operation::Operation as O;

pub(super) const OPERATIONS: &[Description] =
    &[Description::new(O::Once, "once", Kind::Once).sign("1").writes()];
