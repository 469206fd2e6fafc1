//! Beginnings of executions that are left to run.

use super::record::{Data, Step};
use serde::{Deserialize, Serialize};
use traces::TaskId;

/// A step that is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) task: TaskId,
    pub(super) data: Data,
}

impl Given {
    pub(super) fn of(step: &Step) -> Given {
        Given { task: step.event.task, data: step.data.clone() }
    }
}

/// What a beginning is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) enum Purpose {
    /// None of the following.
    #[default]
    Any,
    /// The third last step comes before the last event before another.
    BeforeLast,
    /// One more event before the end of the process.
    BeforeExit,
    /// The same, where a task never runs that conflicts with the end.
    WithoutTask,
    /// An execution that ends with the last step; none if it does not.
    OnlyExit,
}

/// The beginning of an execution that continues by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) steps: Vec<Given>,
    pub(super) purpose: Purpose,
}
