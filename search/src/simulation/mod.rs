//! Support for tests: small abstract programs, and an interpreter that runs them under a strategy
//! without a process.

pub mod generated;
pub mod harness;
mod machine;
mod program;
pub mod programs;
mod states;
mod streams;
pub mod timed;

pub use machine::{Ending, Run, run, runs};
pub use program::{At, Code, Compare, Program, Value};
pub use states::States;
