//! A node of the path.

use crate::reduction::data_choices::Data;
use crate::reduction::events::{Clock, Event};
use crate::reduction::pending::PendingOperation;
use crate::reduction::wakeup::Node;
use traces::{Operation, TaskId};

/// A node of the path: what was executed there, and which alternatives are left.
#[derive(Debug, Clone)]
pub(crate) struct PathNode {
    pub(crate) event: Event,
    /// The clock before the event, without the order that its own accesses add.
    pub(crate) before: Clock,
    /// The clock after the event.
    pub(crate) clock: Clock,
    /// The tasks that were enabled here.
    pub(crate) enabled: Vec<TaskId>,
    /// The tasks whose next step is an expiry that is not due here.
    pub(crate) not_due: Vec<TaskId>,
    /// The task that would be enabled but yielded so often that it is disabled here.
    pub(crate) deferred: Option<TaskId>,
    /// Events that were run here, or were run earlier and are independent of everything since.
    pub(crate) sleep: Vec<Event>,
    /// Events that another search has begun and not completed, and that are independent of
    /// everything since: they do not run here, but the sequences that would be left out because of
    /// them are not known to be found there.
    pub(crate) elsewhere: Vec<Event>,
    /// The sequences to be run from here.
    pub(crate) tree: Vec<Node>,
    /// The sequences to be run below the current branch.
    pub(crate) below: Vec<Node>,
    /// The data choices of the step: the outcome that was taken, and the number of outcomes.
    pub(crate) data: Data,
    pub(crate) digest: u32,
}

impl PathNode {
    /// A node with this event.
    pub(crate) fn new(event: Event, enabled: Vec<TaskId>, digest: u32) -> PathNode {
        PathNode {
            event,
            before: Clock::new(),
            clock: Clock::new(),
            enabled,
            not_due: Vec::new(),
            deferred: None,
            sleep: Vec::new(),
            elsewhere: Vec::new(),
            tree: Vec::new(),
            below: Vec::new(),
            data: Vec::new(),
            digest,
        }
    }

    /// The task's next event here, as far as it is known before it runs: any task may depend on it.
    /// `index`: how many operations the task has executed.
    pub(crate) fn unknown(task: TaskId, index: u32) -> Event {
        let unknown = PendingOperation::new(task, Operation::ExitNow, 0, 0);
        Event::new(&unknown, index)
    }

    /// The enabled tasks for which no branch was or will be begun here.
    pub(super) fn untried(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.enabled.iter().copied().filter(|&task| {
            let begun = self.sleep.iter().chain(&self.elsewhere).chain([&self.event]);
            let planned = self.tree.iter().map(|node| &node.event);
            !begun.chain(planned).any(|event| event.task == task)
        })
    }

    /// An empty node.
    pub(super) fn unused() -> PathNode {
        let nothing = PendingOperation::new(TaskId::MAIN, Operation::Yield, 0, 0);
        PathNode::new(Event::new(&nothing, 0), Vec::new(), 0)
    }

    /// Resets the node, and retains its allocated memory.
    pub(super) fn clear(&mut self) {
        self.enabled.clear();
        self.not_due.clear();
        self.deferred = None;
        self.sleep.clear();
        self.elsewhere.clear();
        self.tree.clear();
        self.below.clear();
        self.data.clear();
    }
}
