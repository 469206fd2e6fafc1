//! Repeating a prefix of a schedule before a strategy takes over, and detecting that the target
//! diverges from it.

pub(crate) mod differs;
mod divergence;
mod position;
mod prefixed;
mod trail;

pub(crate) use divergence::{PrefixCheck, PrefixOutcome, Rebuilds};
pub use position::Position;
pub use prefixed::Prefixed;
pub use trail::TrailChoice;
pub(crate) use trail::steps_in_common;
