//! Partial order reduction: which operations depend on each other, and what happened before what.

pub(crate) mod access_index;
pub(crate) mod data_choices;
pub mod events;
pub mod pending;
pub(crate) mod statement_pairs;
pub mod wakeup;
