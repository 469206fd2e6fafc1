//! What must hold of the base of the states that follow each other in an execution ([`crate::time`]).

use crate::time::{Candidate, Slack, base};
use traces::TaskId;

/// The base of the last state, and whether a rule was broken so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Bases {
    last: Option<(u64, Vec<TaskId>)>,
    fell: bool,
}

impl Bases {
    /// A state has these candidates.
    pub(super) fn observe(&mut self, candidates: &[Candidate], slack: Slack) {
        if candidates.is_empty() {
            return;
        }
        let base = base(candidates);
        let until = slack.map_or(u64::MAX, |slack| base.saturating_add(slack));
        let late = |task: &TaskId| {
            candidates.iter().any(|one| one.task == *task && one.expires && one.at > until)
        };
        if let Some((before, due)) = &self.last {
            self.fell |= base < *before || due.iter().any(late);
        }
        let due = candidates.iter().filter(|one| one.expires && one.at <= until);
        self.last = Some((base, due.map(|one| one.task).collect()));
    }

    /// The task takes a step: whether its next one is an expiry that is due is another question.
    pub(super) fn step(&mut self, task: TaskId) {
        if let Some((_, due)) = &mut self.last {
            due.retain(|&one| one != task);
        }
    }

    /// Whether the base fell, or a step disabled the expiry of another task.
    pub(super) fn fell(&self) -> bool {
        self.fell
    }
}
