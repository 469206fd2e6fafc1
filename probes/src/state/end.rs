//! How an execution ended.

use search::Divergence;
use traces::wire::FoundFailure;

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The program ended with status 0.
    Passed,
    /// It failed.
    Failed(Box<FoundFailure>),
    /// It reached the step limit.
    Cut,
    /// The strategy gave it up as redundant.
    GivenUp,
    /// It left the schedule that it was to follow.
    Diverged(Divergence),
}
