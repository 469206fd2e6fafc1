//! How small a schedule is.

use traces::Execution;

/// The size of a schedule: preemptions, switches, steps, compared in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Switches away from a task that was enabled.
    pub preemptions: usize,
    /// All switches.
    pub switches: usize,
    /// Steps.
    pub steps: usize,
}

impl Size {
    /// The size of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Size {
        Size {
            preemptions: execution.preemptions().len(),
            switches: execution.switches(),
            steps: execution.steps.len(),
        }
    }
}
