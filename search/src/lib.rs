//! What to run next: the strategies.
//!
//! Everything here is pure: no processes, no files, no clock, no thread-local state, so that a
//! strategy runs inside the target as well as in a unit test. A strategy is a plain struct in a
//! file of its own, headed by the paper it comes from; strategies compose by wrapping.
#![forbid(unsafe_code)]

pub mod alike;
mod astray;
pub mod auto;
pub mod bounded;
pub mod checked;
mod data;
pub mod dfs;
pub mod directed;
pub mod dpor;
pub mod events;
pub mod feedback;
pub mod follow;
pub mod frontier;
pub mod hapset;
pub mod iterated;
pub mod near;
mod patience;
pub mod pct;
pub mod plan;
pub mod pos;
pub mod prefix;
pub mod random;
pub mod rng;
pub mod simulate;
pub mod stall;
pub mod sticky;
pub mod strategy;
pub mod surw;
mod touched;
pub mod tree;
pub mod trunk;
pub mod visits;
pub mod wakeup;

pub use frontier::Frontier;
pub use plan::Any;
pub use prefix::Prefixed;
pub use strategy::{Coverage, Decision, Divergence, GiveUp, Next, Outcome, Strategy, View};
pub use tree::Tree;
pub use visits::Visits;
