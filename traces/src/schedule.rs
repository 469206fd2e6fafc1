//! Tasks and choices, of which a schedule consists.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A thread of the program, numbered by creation within one execution; main is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub u16);

impl TaskId {
    /// The task that runs the program's `main`.
    pub const MAIN: TaskId = TaskId(0);

    /// The number as an index.
    #[must_use]
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.0)
    }
}

/// One decision of the scheduler. A schedule is a list of choices, and determines an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Choice {
    /// The task that runs next.
    Task(TaskId),
    /// A data choice, an outcome within the step before it: which task a signal wakes, whether a
    /// timed wait times out.
    Data {
        /// The chosen outcome, below `of`.
        taken: u32,
        /// The number of possible outcomes, at least 2.
        of: u32,
    },
}
