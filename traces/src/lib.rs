//! What happened: operations, steps, schedules, failures, and the format they are kept in.
//!
//! An execution is a sequence of steps; a step is *task, operation, object, site, enabled set*.
//! Everything else (preemptions, vector clocks, happens-before, columns on a screen) is derived
//! from it, here or above, by one piece of code each.
//!
//! This crate knows none of the others, runs no process and opens no file; it is the only one
//! that derives `Serialize`.
#![forbid(unsafe_code)]

pub mod buffers;
pub mod change;
pub mod condition;
pub mod enabled;
pub mod execution;
pub mod failure;
pub mod file;
pub mod object;
pub mod operation;
pub mod order;
pub mod points;
pub mod report;
pub mod schedule;
pub mod secrets;
pub mod site;
pub mod trace;
pub mod wire;

pub use execution::{EnabledChange, Execution, Step, TaskRecord};
pub use failure::{Failure, FailureKind, Past, TaskStack, TaskState, WaitEdge};
pub use object::{Object, ObjectKind, Place};
pub use operation::Operation;
pub use schedule::{Choice, TaskId};
pub use site::{Frame, Module, Site};
pub use trace::{Header, Trace};
