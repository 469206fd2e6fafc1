//! A schedule's beginning that is followed before a strategy takes over, and what happens when the
//! target does not repeat it.

mod divergence;
mod prefixed;

pub(crate) use divergence::{PrefixCheck, PrefixOutcome, Rebuilds};
pub use prefixed::Prefixed;
