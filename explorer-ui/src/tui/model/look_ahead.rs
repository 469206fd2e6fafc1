//! Finished look-aheads, so that returning to a step does not begin its look-ahead anew.

use crate::walk::loaded_trace::LoadedTrace;
use replay_core::runner::LookAhead;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use traces::TaskId;

/// The look-ahead of each enabled task.
pub type ByTask = HashMap<TaskId, LookAhead>;

/// The most positions that are remembered.
const MOST: usize = 500;

/// The finished look-aheads at steps of schedules, the last ones at the end.
#[derive(Debug, Default)]
pub struct LookAheadMemory {
    known: VecDeque<(Arc<LoadedTrace>, usize, ByTask)>,
}

impl LookAheadMemory {
    /// Remembers the look-ahead at a step.
    pub fn remember(&mut self, loaded: &Arc<LoadedTrace>, step: usize, ahead: ByTask) {
        self.known.retain(|(of, at, _)| !(Arc::ptr_eq(of, loaded) && *at == step));
        if self.known.len() == MOST {
            self.known.pop_front();
        }
        self.known.push_back((Arc::clone(loaded), step, ahead));
    }

    /// The look-ahead at a step, if it was finished.
    #[must_use]
    pub fn at(&self, loaded: &Arc<LoadedTrace>, step: usize) -> Option<&ByTask> {
        let found = self.known.iter().rfind(|(of, at, _)| Arc::ptr_eq(of, loaded) && *at == step);
        found.map(|(_, _, ahead)| ahead)
    }

    /// Forgets everything: another build of the program behaves differently.
    pub fn clear(&mut self) {
        self.known.clear();
    }
}
