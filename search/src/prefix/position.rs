//! A place on the path that an execution repeats, from which it can be resumed.

use crate::spin::timeout_fairness::{SiteCounts, TimeoutFairness};
use traces::TaskId;

/// How far a strategy had come in an execution. A later execution with the same first steps is resumed
/// there ([`PrefixReplay::resume`](crate::PrefixReplay::resume)), so that these steps are not run again.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// The number of nodes of the path.
    pub(crate) depth: usize,
    /// The number of steps.
    pub(crate) steps: usize,
    /// The cost of these steps, and the preemptions among them.
    pub(crate) spent: u32,
    pub(crate) preempted: u32,
    /// The yields of the running task since another task ran, by site.
    pub(crate) yields: (Option<TaskId>, SiteCounts),
    /// The time-outs of the running task.
    pub(crate) fairness: TimeoutFairness,
}
