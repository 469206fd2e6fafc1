//! From a failing schedule to the smallest one that fails in the same way.

mod candidates;
mod coarse;
mod minimise;
mod outcome;
mod private_sites;
mod reduce;

pub use crate::control::runner::Size;
pub(crate) use minimise::reproduce;
pub use minimise::{BUDGET, runner_for, shrink};
pub use outcome::{Enumerated, ProgressObserver, Proof, Refused, Shrunk};
