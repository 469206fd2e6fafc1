//! Traces and reports in the file formats of other programs.

pub mod chrome;
pub mod dot;
mod format;
pub mod json;
pub mod junit;
pub mod junit_suite;
mod schedule;
pub mod shiviz;
pub mod svg;
#[cfg(test)]
mod tests;

#[cfg(test)]
use format::render;
pub use format::{Format, write};
