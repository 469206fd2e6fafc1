//! Replies of the engine.

use super::check::CheckUpdate;
use super::inspection::InspectionResult;
use super::loaded_trace::LoadedTrace;
use super::search::SearchUpdate;
use crate::report::explain::Page;
use replay_core::bisect::{Bisected, classify};
use replay_core::reverse::WishedOrder;
use replay_core::runner::LookAhead;
use replay_core::source::Source;
use std::collections::HashMap;
use std::sync::Arc;
use traces::TaskId;

/// A reply of the engine.
#[derive(Debug)]
pub enum Reply {
    /// An execution that followed the requested choices.
    Ran {
        /// The execution.
        loaded: Arc<LoadedTrace>,
        /// The step to select.
        cursor: usize,
    },
    /// An execution in which the order of two steps is reversed.
    Reversed {
        /// The execution.
        loaded: Arc<LoadedTrace>,
        /// The step that comes first now.
        step: usize,
        /// Whether the other step occurs as well.
        both: bool,
        /// The orders that hold.
        wishes: Vec<WishedOrder>,
    },
    /// The smallest schedule with the same failure.
    Shrunk {
        /// The execution.
        loaded: Arc<LoadedTrace>,
        /// The reduction in preemptions, and whether the result is proved minimal.
        what: String,
    },
    /// Why a schedule fails.
    Explained {
        /// The facts for the page.
        explanation: Box<Explanation>,
        /// The failing schedule, and the nearest one that passes.
        nearest: Option<(Arc<LoadedTrace>, Arc<LoadedTrace>)>,
    },
    /// News of the check of a failing schedule.
    Check {
        /// The schedule.
        of: Arc<LoadedTrace>,
        /// The news.
        update: CheckUpdate,
    },
    /// The check of a schedule has ended.
    CheckEnded {
        /// The schedule.
        of: Arc<LoadedTrace>,
    },
    /// The target was rebuilt, and this is the schedule in the new build.
    Reloaded {
        /// The execution of the new build.
        loaded: Arc<LoadedTrace>,
        /// Whether the schedule fits the new build.
        what: String,
    },
    /// Progress of the running request.
    Progress(String),
    /// The choices could not be followed, or the target could not be run.
    Failed(String),
    /// The look-ahead of one enabled task.
    Ahead {
        /// The cursor position it is for.
        generation: u64,
        /// The task.
        task: TaskId,
        /// Counts, and the nearest failure.
        ahead: LookAhead,
    },
    /// The look-ahead of this cursor position has ended.
    LookAheadDone {
        /// The cursor position.
        generation: u64,
        /// Whether it was not cancelled.
        finished: bool,
    },
    /// An update of a search.
    Search {
        /// The search's number.
        number: u64,
        /// The update.
        update: SearchUpdate,
    },
    /// Stacks and values read from the target.
    Inspected {
        /// The execution they belong to.
        of: Arc<LoadedTrace>,
        /// The requested expressions.
        expressions: Vec<String>,
        /// The result.
        result: InspectionResult,
    },
}

/// The facts that explain why a schedule fails.
#[derive(Debug)]
pub struct Explanation {
    pub(crate) bisected: Bisected,
    pub(crate) sources: HashMap<String, Arc<Source>>,
}

impl Explanation {
    /// The explanation as a page.
    #[must_use]
    pub fn page(&self) -> Page<'_> {
        Page {
            trace: &self.bisected.failing,
            shrunk: None,
            kind: classify(&self.bisected.failing, Some(&self.bisected)),
            bisected: Some(&self.bisected),
            no_return: None,
            origins: &[],
            sources: &self.sources,
            remarks: Vec::new(),
            commands: Vec::new(),
        }
    }
}
