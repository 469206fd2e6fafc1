//! Checks of failing schedules in the background: the verdict, first from the recording and then
//! confirmed by running other schedules, and what may follow each step.

use super::loaded_trace::LoadedTrace;
use replay_core::runner::{NoReturn, Prospect};
use replay_core::verdict::Verdict;
use std::collections::BTreeMap;
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
    /// How many of the schedules fail that begin with this many steps of the schedule.
    Prospect(usize, Prospect),
    /// The point of no return.
    NoReturn(NoReturn),
}

/// The check of one schedule.
#[derive(Debug)]
pub struct Check {
    of: Arc<LoadedTrace>,
    /// How far the verdict was checked.
    pub state: CheckState,
    /// What may follow, by the number of steps executed.
    prospects: BTreeMap<usize, Prospect>,
    /// The point of no return.
    pub no_return: Option<NoReturn>,
}

impl Check {
    /// What may follow after this many steps of the schedule.
    #[must_use]
    pub fn prospect(&self, after: usize) -> Option<Prospect> {
        let lost = self.no_return.is_some_and(|found| after >= found.lost_after);
        if lost { Some(Prospect::LOST) } else { self.prospects.get(&after).copied() }
    }
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
            prospects: BTreeMap::new(),
            no_return: None,
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
            // A count is worth more than a sample.
            CheckUpdate::Prospect(after, prospect) => {
                let counted = check.prospects.get(&after).is_some_and(|known| known.complete);
                if prospect.complete || !counted {
                    check.prospects.insert(after, prospect);
                }
            }
            CheckUpdate::NoReturn(found) => check.no_return = Some(found),
        }
    }
}
