//! Executions: operations, steps, schedules, failures, and the format of trace files.
//!
//! An execution is a sequence of steps; a step is *task, operation, object, site, enabled set*.
//! Everything else (preemptions, vector clocks, happens-before, columns on a screen) is derived
//! from it, in this crate or in others, by one piece of code each.
//!
//! This crate depends on no other crate of the workspace, runs no process and opens no file.
#![forbid(unsafe_code)]

pub mod agent_expression;
pub mod clients;
pub mod compact;
pub mod enabled;
pub mod execution;
pub mod failure;
pub mod file;
pub mod memory_change;
pub mod object;
pub mod operation;
pub mod order;
pub mod points;
pub mod predicate;
pub mod primitives;
pub mod redaction;
pub mod report;
pub mod reported;
pub mod schedule;
pub mod site;
pub mod store_buffers;
pub mod trace;
pub mod wire;

pub use execution::{
    AsyncChange, AsyncTask, DeadlineNote, EnabledChange, Execution, Step, TaskRecord, seconds,
};
pub use failure::{Failure, FailureKind, HistoryEvent, PANICKED, TaskStack, TaskState, WaitEdge};
pub use object::{Object, ObjectKind, ObjectLocation, THREAD_END};
pub use operation::Operation;
pub use schedule::{Choice, TaskId};
pub use site::{Frame, Module, Site};
pub use trace::{Header, Trace};
