//! The results of shrinking a schedule.

use super::Size;
use crate::Error;
use traces::Trace;

/// Which schedules within a bound were run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enumerated {
    /// Every schedule.
    Schedules,
    /// At least one schedule of each order of dependent operations; random walks found no other
    /// order.
    Orders,
}

/// What is proved about the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// All schedules with fewer preemptions were run, and none has the failure.
    Proved {
        /// How all smaller schedules were enumerated.
        ran: Enumerated,
        /// The number of executions.
        executions: u64,
        /// Whether all schedules with the same number of preemptions were run too, so that the
        /// numbers of switches and steps are minimal.
        wholly: bool,
    },
    /// No attempt made the schedule smaller; there are too many schedules with fewer preemptions to
    /// run them all.
    Tried {
        /// All schedules with at most this many preemptions were run.
        below: Option<u32>,
    },
    /// The user interrupted the search: this is the best schedule so far.
    Interrupted,
}

/// The result of shrinking.
#[derive(Debug)]
pub struct Shrunk {
    /// The smallest schedule that fails in the same way.
    pub trace: Trace,
    /// The size before.
    pub from: Size,
    /// The size after.
    pub to: Size,
    /// The proof that the result is minimal, if there is one.
    pub proof: Proof,
}

/// Why a trace cannot be shrunk.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The trace has no failure.
    #[error("the trace does not fail: there is nothing to shrink")]
    Passes,
    /// The failure did not occur again.
    #[error("the failure did not occur again ({0}): only a reproducible failure can be shrunk")]
    NotReproduced(String),
    /// The program cannot be run.
    #[error(transparent)]
    Core(#[from] Error),
}

/// Receives the progress.
pub trait ProgressObserver {
    /// The smallest size so far, and what is being tried.
    fn progress(&mut self, size: Size, trying: &str);
}
