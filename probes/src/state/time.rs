//! The clocks of the current execution ([`search::time`]).

use search::time::{Candidate, Clocks, MutexWaiter};

/// In [`crate::state::task::Task::deadline`]: no deadline.
pub(crate) const NEVER: u64 = u64::MAX;

/// The clocks of the current execution.
#[derive(Debug)]
pub(crate) struct Time {
    pub(crate) clocks: Clocks,
    /// The tasks that could take a step if time did not matter.
    pub(crate) candidates: Vec<Candidate>,
    /// The tasks that wait for mutexes at the current decision.
    pub(crate) waiters: Vec<MutexWaiter>,
    /// The earliest of all of them at the current decision.
    pub(crate) first: Option<Candidate>,
}

impl Time {
    /// With room for this many tasks, so that no memory is allocated while a fiber runs.
    pub(crate) fn with_room(tasks: usize) -> Time {
        Time {
            clocks: Clocks::with_room(tasks),
            candidates: Vec::new(),
            waiters: Vec::new(),
            first: None,
        }
    }
}
