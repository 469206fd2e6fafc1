//! Numbers the operations of an execution, so that an event is recognised in another execution of
//! the same program.

use std::collections::HashMap;
use traces::{Operation, Site, TaskId};

/// Counts the operations of each task.
#[derive(Debug, Default)]
pub(super) struct EventNumbers {
    of_task: HashMap<TaskId, u32>,
    here: HashMap<(TaskId, Operation, Site), u32>,
}

impl EventNumbers {
    /// The number of the next operation within its task, and how often the task has executed this
    /// operation at this site. Both count from 1.
    pub(super) fn next(&mut self, task: TaskId, operation: Operation, site: Site) -> (u32, u32) {
        let number = self.of_task.entry(task).or_default();
        let occurrence = self.here.entry((task, operation, site)).or_default();
        *number += 1;
        *occurrence += 1;
        (*number, *occurrence)
    }
}
