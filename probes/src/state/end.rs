//! How an execution ended.

use search::Divergence;
use traces::wire::FoundFailure;

/// How an execution ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The program ended with status 0.
    Passed,
    /// The execution failed.
    Failed(Box<FoundFailure>),
    /// The execution reached the step limit.
    Cut,
    /// What the program sent to a client differs from the recording: what the client would do is not known.
    Outside,
    /// The strategy gave it up as redundant.
    GivenUp,
    /// It left the schedule that it was to follow.
    Diverged(Divergence),
}
