//! Test suites: which framework a program uses, which tests it has, and how to run exactly one.
//!
//! Everything here is pure: texts and file contents in, lists and arguments out. The verb `test`
//! starts the processes.

mod boost;
pub mod cargo;
mod catch2;
mod criterion;
pub mod ctest;
mod doctest;
pub mod expectation;
pub mod filter;
mod framework;
mod glib;
mod googletest;
pub mod harness_args;
mod libtest;
pub mod outcome;
pub mod partition;
pub mod programs;
pub mod registry;
pub mod share;

pub use framework::{Framework, Listed, Listing, without_printed};
pub use libtest::without_harness;
pub use outcome::{Outcome, Verdict};
pub use programs::Program;
pub use registry::is_documentation;
