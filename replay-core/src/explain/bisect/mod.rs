//! Finds the order of events that makes a schedule fail, and the kind of bug behind it.

mod cause;
mod conflicts;
mod evidence;
mod experiment;
mod kind;
mod neighbours;
mod orders;

pub use cause::{Cause, Event, Order, Shape};
pub use evidence::Evidence;
pub use experiment::{BUDGET, Bisected, ProgressObserver, bisect};
pub use kind::{Kind, classify};
