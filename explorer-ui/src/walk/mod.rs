//! A walk through the schedules of a program, without a terminal: what the explorer, the server for
//! programs and the debug adapter have in common.
//!
//! * [`engine`] runs the program on separate threads and sends [`reply::Reply`]s.
//! * [`loaded_trace`] is an execution with everything that questions about it need.
//! * [`moves`] decides what a request for another task or position means, [`place`] which source line
//!   a position has. Pure.
//! * [`session`] is a walk for programs: each request waits for its result. [`opening`] says how it gets
//!   its first schedule. (The explorer has its own state, which no request blocks.)
//! * [`check`], [`inspection`] and [`search`] keep the results of the engine.

pub mod check;
pub mod engine;
pub mod inspection;
pub mod loaded_trace;
pub mod moves;
pub mod opening;
pub(crate) mod panics;
pub mod place;
pub mod reply;
pub mod search;
pub mod session;
