//! How one search is divided among several workers, and its state on disk.

pub mod frontier;
pub mod trunk;

pub use frontier::Frontier;
