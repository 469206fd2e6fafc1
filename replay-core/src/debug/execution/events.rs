//! What an execution stops at, and why it stopped.

use super::position::{Position, Watch};
use crate::debug::process::tracee::WaitStatus;
use std::collections::BTreeMap;

/// Why an execution stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A breakpoint was reached.
    Breakpoint,
    /// Watched memory was accessed.
    Touched(Watch),
    /// The request was completed.
    Done,
    /// It reached the position it was sent to.
    Sent,
    /// It reached the choice of a step that the user asked for.
    Chosen,
    /// The program is about to make this system call.
    Call(i64),
    /// This system call has returned.
    Returned(i64),
    /// A signal was raised.
    Signal(i32),
    /// The start of the schedule was reached.
    Begin,
    /// The end of the schedule was reached.
    End,
    /// As many events were recorded as the run may record.
    Enough,
    /// The user interrupted it.
    Interrupted,
    /// A function that the debugger calls would have to wait for another task.
    Waits,
    /// The process has ended.
    Gone(WaitStatus),
}

/// Where and why an execution stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) task: u16,
    pub(crate) reason: Reason,
}

/// A breakpoint condition in gdb's agent expression bytecode; it holds if it does not evaluate to
/// 0.
pub(crate) type Condition = Vec<u8>;

/// The events that the debugger asked to stop at.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopRequests {
    /// Addresses of instructions. If an address has conditions, one of them must hold.
    pub(crate) breakpoints: BTreeMap<u64, Vec<Condition>>,
    pub(crate) watches: Vec<Watch>,
    /// System calls; an empty list means all.
    pub(crate) calls: Option<Vec<i64>>,
}

/// An event that a search backwards recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedStop {
    pub(crate) position: Position,
    pub(crate) task: u16,
    pub(crate) reason: Reason,
    /// What else the same instruction accessed, before what the reason names.
    pub(crate) also: Vec<Watch>,
    /// For a write to watched memory, if asked for: an address in the instruction, and the contents
    /// afterwards.
    pub(crate) write: Option<(u64, u64)>,
}

impl RecordedStop {
    pub(super) fn new(position: Position, task: u16, reason: Reason) -> RecordedStop {
        RecordedStop { position, task, reason, also: Vec::new(), write: None }
    }
}
