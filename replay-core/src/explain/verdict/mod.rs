//! The verdict on a failing execution: the operations behind the failure. Pure: a first verdict
//! follows from the recording alone, by its pattern; a bisection confirms or replaces it.

mod accesses;
mod deadlock;
mod judge;
mod pattern;

pub use judge::{from_bisection, from_recording};
pub use pattern::{Basis, Moment, Pattern, Verdict};

#[cfg(test)]
mod tests;
