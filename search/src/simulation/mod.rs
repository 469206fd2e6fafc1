//! Support for tests: small abstract programs, and an interpreter that runs them under a strategy
//! without a process.

pub mod generated;
pub mod harness;
mod machine;
pub mod programs;
mod states;
mod streams;
pub mod timed;

pub use machine::{At, Code, Compare, Ending, Program, Run, Value, run, runs};
pub use states::States;
