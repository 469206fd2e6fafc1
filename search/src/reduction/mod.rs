//! Partial order reduction: which operations depend on each other, and which happened before which.

pub(crate) mod access_index;
pub(crate) mod data_choices;
pub mod events;
pub mod objects;
pub(crate) mod path_progress;
pub mod pending;
pub(crate) mod statement_pairs;
pub mod stream;
pub mod wakeup;
