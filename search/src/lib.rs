//! Search strategies: they decide which schedule of the target runs next.
//!
//! Everything in this crate is pure: no processes, no files, no clock, no thread-local state, so
//! that a strategy runs inside the target as well as in a unit test. Each strategy is a plain
//! struct with one file in [`strategy`], whose header cites the paper it implements; strategies
//! compose by wrapping.
#![forbid(unsafe_code)]

pub mod allowance;
pub mod explain;
pub mod prefix;
pub mod reduction;
pub mod rng;
pub mod share;
pub mod simulation;
pub mod spin;
pub mod strategy;
pub mod time;

pub use explain::{Tree, Visits};
pub use prefix::{Position, Prefixed, TrailChoice};
pub use reduction::pending::PendingOperation;
pub use share::Frontier;
pub use strategy::interface::{
    Coverage, Decision, Divergence, GiveUp, Outcome, PrefixReplay, Reduction, Shareable, Sharing,
    Strategy,
};
pub use strategy::view::View;
pub use strategy::{AnyStrategy, StrategyChoice};
