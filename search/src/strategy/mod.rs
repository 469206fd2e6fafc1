//! The strategies, one file each, and the interface that they implement.

pub mod alternate;
pub mod auto;
pub mod bounded_dpor;
pub mod checked_dpor;
pub mod descriptor;
pub mod dfs;
pub mod directed;
pub mod dpor;
mod drawn_positions;
pub mod feedback;
pub mod follow;
pub mod hapset;
pub mod interface;
pub mod iterative;
pub mod local_search;
pub mod pct;
pub mod pos;
pub mod random;
pub mod rapos;
pub mod registry;
pub mod sparse;
pub mod stateless;
pub mod sticky;
pub mod surw;
pub mod view;
pub mod when;

pub use registry::{AnyStrategy, StrategyChoice};
