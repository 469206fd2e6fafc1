//! `heddle dap`: a debug adapter for editors, on a [`walk::session`](crate::walk::session).
//!
//! A position is a step of the schedule: stepping goes from step to step, not from line to line, and
//! breakpoints stop at steps. What an editor shows between two steps is the state before the later one.
//!
//! `adapter` answers requests, `launch` opens what is debugged, `view` describes tasks and stacks,
//! `protocol` reads and writes messages.

mod adapter;
mod data_breakpoints;
mod expression;
mod launch;
mod protocol;
mod view;

pub use adapter::serve;
