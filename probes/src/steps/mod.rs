//! What is known and recorded of each step: its record, the objects that operations act on, their
//! names, and their identities in all executions.

pub(crate) mod declarations;
pub(crate) mod identity;
pub(crate) mod objects;
pub(crate) mod record;
