//! Tasks that wait in loops: detection of spin loops, of repeated reads and of repeated time-outs.

mod detector;
pub mod own_view;
pub mod repeated_reads;
pub(crate) mod timeout_fairness;
pub mod times;

pub use detector::{Effect, SpinDetector, Verdict};
