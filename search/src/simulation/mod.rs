//! Support for tests: small abstract programs, and an interpreter that runs them under a strategy
//! without a process.

mod bases;
mod execution;
pub mod generated;
pub mod harness;
mod machine;
pub mod periodic;
mod program;
pub mod programs;
mod states;
mod streams;
pub mod timed;

pub use execution::{Ending, Run, run, runs};
pub use program::{At, Code, Compare, Notice, Program, Value};
pub use states::States;
