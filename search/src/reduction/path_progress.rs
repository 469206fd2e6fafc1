//! What the reductions that explore a path depth first have in common: how far the running
//! execution has come on the path, what it observed, and what the search may claim at its end.

use super::data_choices::{self, Data};
use super::events::{Event, Order};
use crate::prefix::{Position, Rebuilds, differs};
use crate::{Coverage, Decision, PendingOperation, View};
use serde::{Deserialize, Serialize};
use traces::{Operation, TaskId};

/// The running execution and the state of the search, beside the path itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct PathProgress {
    /// The depth that the running execution has reached.
    pub(crate) depth: usize,
    /// The number of data choices that the last step has made.
    asked: usize,
    /// The order of the operations of the path and of the running execution.
    #[serde(skip)]
    pub(crate) order: Order,
    /// The pending operations of all tasks when the execution ended.
    #[serde(skip)]
    pub(crate) pending: Vec<PendingOperation>,
    /// The data choice of the last step whose number of outcomes differs from that of an earlier
    /// execution, if there is one.
    #[serde(skip)]
    pub(crate) differs: Option<usize>,
    pub(crate) rebuilds: Rebuilds,
    pub(crate) started: bool,
    pub(crate) exhausted: bool,
    /// Whether an execution was cut or given up, so that its rest was not observed.
    pub(crate) holes: bool,
}

impl PathProgress {
    /// Begins an execution that repeats the first `same` nodes of the path.
    pub(crate) fn restart(&mut self, same: usize) {
        self.depth = 0;
        self.asked = 0;
        self.order.rewind(same);
        self.pending.clear();
        self.differs = None;
    }

    /// The state of a search that starts again, because it learned that it must try more. What the
    /// search cannot cover remains.
    pub(crate) fn start_again(self) -> PathProgress {
        let PathProgress { order, rebuilds, holes, .. } = self;
        PathProgress { order, rebuilds, holes, ..PathProgress::default() }
    }

    /// The number of steps that are known from earlier executions, so that an execution can be resumed
    /// within them.
    pub(crate) fn common_steps(&self) -> usize {
        self.order.retained()
    }

    /// Where the running execution is, unless it diverged.
    pub(crate) fn position(&self) -> Option<Position> {
        let position = || Position { depth: self.depth, ..Position::default() };
        self.differs.is_none().then(position)
    }

    /// Resumes an execution that was begun.
    pub(crate) fn resume(&mut self, position: &Position) {
        self.depth = position.depth;
    }

    /// Whether the order of the next step is known from an earlier execution.
    #[inline]
    pub(crate) fn is_known(&self) -> bool {
        self.order.has(self.depth)
    }

    /// Records the pending operations before a step whose order is not known.
    pub(crate) fn observe(&mut self, view: &View<'_>) {
        self.order.mark();
        self.order.see(view.tasks, view.running);
    }

    /// How the execution diverges from the node of the path that it has reached, if it does.
    pub(crate) fn divergence(&self, view: &View<'_>, digest: u32) -> Option<Decision> {
        if self.differs.is_some() {
            Some(differs::in_data_choice(view))
        } else {
            (digest != view.digest).then(|| differs::in_enabled_tasks(view))
        }
    }

    /// The event of the task's pending operation.
    pub(crate) fn event(&self, view: &View<'_>, task: TaskId) -> Event {
        let index = self.order.count(task);
        match view.next(task) {
            Some(next) => Event::new(next, index),
            None => Event::new(&PendingOperation::new(task, Operation::Yield, 0, 0), index),
        }
    }

    /// The event of the step that the task is about to take, whose order is not known. Notes what
    /// the search cannot cover after it.
    pub(crate) fn new_event(&mut self, view: &View<'_>, task: TaskId) -> Event {
        let event = self.event(view, task);
        self.holes |= view.next(task).is_some_and(PendingOperation::hides_something);
        self.holes |= view.joins_unfinished_task(&event);
        event
    }

    /// Moves on to the next node: the task takes its step.
    pub(crate) fn step(&mut self, task: TaskId) -> Decision {
        self.depth += 1;
        self.asked = 0;
        Decision::Task(task)
    }

    /// Answers a data choice of the last step, whose choices so far are `data`, if there is a step.
    pub(crate) fn choose_data(&mut self, data: Option<&mut Data>, of: u32) -> u32 {
        let Some(data) = data else {
            self.holes = true;
            return 0;
        };
        let (taken, same) = data_choices::answer(data, self.asked, of);
        if !same {
            self.differs.get_or_insert(self.asked);
        }
        self.asked += 1;
        if !self.order.has(self.depth - 1) {
            self.order.note(u64::from(taken));
        }
        taken
    }

    /// Records the pending operations at the end of an execution whose last step is that of `last`.
    pub(crate) fn pending_at_end(&mut self, tasks: &[PendingOperation], last: Option<TaskId>) {
        self.order.see(tasks, last);
        self.pending.clear();
        self.pending.extend_from_slice(tasks);
        self.holes |= tasks.iter().any(|next| next.awaits_unknown);
    }

    /// Whether the execution did not repeat a path of this length.
    pub(crate) fn failed_to_repeat(&self, len: usize) -> bool {
        self.depth < len || self.differs.is_some()
    }

    /// What the search may claim; `bound` is the bound because of which it left something out.
    pub(crate) fn coverage(&self, bound: Option<u32>) -> Coverage {
        if self.exhausted && !self.holes { Coverage::Complete { bound } } else { Coverage::Open }
    }
}
