//! The verdicts on failing schedules: from the recording at first, then checked by running others.

use super::loaded_trace::LoadedTrace;
use replay_core::verdict::Verdict;
use std::sync::Arc;

/// The most schedules whose checked verdicts are kept.
const MAX_KEPT: usize = 32;

/// How far a verdict was checked.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckState {
    /// Other schedules are being run.
    Running,
    /// Other schedules were run, and this is the verdict.
    Done(Box<Verdict>),
    /// The verdict could not be checked; why.
    Failed(String),
}

/// The checks of the schedules that were displayed.
#[derive(Debug, Default)]
pub struct Checks(Vec<(Arc<LoadedTrace>, CheckState)>);

impl Checks {
    /// How far the verdict on this schedule was checked; none if no check was started.
    #[must_use]
    pub fn of(&self, loaded: &Arc<LoadedTrace>) -> Option<&CheckState> {
        self.0.iter().find(|(of, _)| Arc::ptr_eq(of, loaded)).map(|(_, state)| state)
    }

    /// Records that a check starts. A check that was running is cancelled by it.
    pub fn start(&mut self, loaded: &Arc<LoadedTrace>) {
        self.cancel();
        self.set(loaded, CheckState::Running);
    }

    /// Forgets the check that was running.
    pub fn cancel(&mut self) {
        self.0.retain(|(_, state)| *state != CheckState::Running);
    }

    /// Records the result of a check.
    pub fn set(&mut self, loaded: &Arc<LoadedTrace>, state: CheckState) {
        self.0.retain(|(of, _)| !Arc::ptr_eq(of, loaded));
        let more = (self.0.len() + 1).saturating_sub(MAX_KEPT);
        self.0.drain(..more);
        self.0.push((Arc::clone(loaded), state));
    }
}
