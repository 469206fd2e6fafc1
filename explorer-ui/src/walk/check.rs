//! Checks of failing schedules in the background: the verdict, first from the recording and then
//! confirmed by running other schedules, and what may follow each step.

use super::loaded_trace::LoadedTrace;
use replay_core::runner::{Forecast, Outlook};
use replay_core::verdict::Verdict;
use std::sync::Arc;

/// The most schedules whose checks are kept.
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

/// News of a check.
#[derive(Debug)]
pub enum CheckUpdate {
    /// The verdict was checked, or why it could not be.
    Verdict(CheckState),
    /// What may follow a step.
    Outlook(Outlook),
}

/// The check of one schedule.
#[derive(Debug)]
pub struct Check {
    of: Arc<LoadedTrace>,
    /// How far the verdict was checked.
    pub state: CheckState,
    /// What may follow each step.
    pub forecast: Forecast,
}

/// The checks of the schedules that were displayed.
#[derive(Debug, Default)]
pub struct Checks(Vec<Check>);

impl Checks {
    /// The check of this schedule; none if none was started.
    #[must_use]
    pub fn of(&self, loaded: &Arc<LoadedTrace>) -> Option<&Check> {
        self.0.iter().find(|check| Arc::ptr_eq(&check.of, loaded))
    }

    /// Records that a check starts. A check that was running is cancelled by it.
    pub fn start(&mut self, loaded: &Arc<LoadedTrace>) {
        self.cancel();
        self.0.retain(|check| !Arc::ptr_eq(&check.of, loaded));
        let more = (self.0.len() + 1).saturating_sub(MAX_KEPT);
        self.0.drain(..more);
        self.0.push(Check {
            of: Arc::clone(loaded),
            state: CheckState::Running,
            forecast: Forecast::default(),
        });
    }

    /// Forgets the check that was running.
    pub fn cancel(&mut self) {
        self.0.retain(|check| check.state != CheckState::Running);
    }

    /// Records news of a check.
    pub fn apply(&mut self, loaded: &Arc<LoadedTrace>, update: CheckUpdate) {
        let Some(check) = self.0.iter_mut().find(|check| Arc::ptr_eq(&check.of, loaded)) else {
            return;
        };
        match update {
            CheckUpdate::Verdict(state) => check.state = state,
            CheckUpdate::Outlook(outlook) => check.forecast.add(outlook),
        }
    }
}
