//! A node of the path that the search follows.

use crate::reduction::data_choices::Data;
use crate::reduction::events::{Clock, Event};
use crate::reduction::pending::PendingOperation;
use crate::reduction::wakeup::Node;
use traces::{Operation, TaskId};

/// A node of the path: what was executed there, and which alternatives are left.
#[derive(Debug, Clone)]
pub(crate) struct PathNode {
    pub(crate) event: Event,
    /// Everything before the event, without what its own accesses order.
    pub(crate) before: Clock,
    /// Everything up to the event.
    pub(crate) clock: Clock,
    /// The tasks that were enabled here.
    pub(crate) enabled: Vec<TaskId>,
    /// Who could, too, but has yielded so often that it waits.
    pub(crate) patient: Option<TaskId>,
    /// What was tried here, or earlier and is independent of everything since.
    pub(crate) sleep: Vec<Event>,
    /// What another search has begun and not finished, and is independent of everything since: not
    /// to be done here, but what is left out for its sake is not known to be found there.
    pub(crate) elsewhere: Vec<Event>,
    /// What is still to be tried here.
    pub(crate) tree: Vec<Node>,
    /// What the branch that is being tried is to begin with.
    pub(crate) below: Vec<Node>,
    /// The data choices of the step: what was taken, out of how many.
    pub(crate) data: Data,
    pub(crate) digest: u32,
}

impl PathNode {
    /// A place where this is to be done.
    pub(crate) fn new(event: Event, enabled: Vec<TaskId>, digest: u32) -> PathNode {
        PathNode {
            event,
            before: Clock::new(),
            clock: Clock::new(),
            enabled,
            patient: None,
            sleep: Vec::new(),
            elsewhere: Vec::new(),
            tree: Vec::new(),
            below: Vec::new(),
            data: Vec::new(),
            digest,
        }
    }

    /// One that has no place yet.
    pub(super) fn unused() -> PathNode {
        let nothing = PendingOperation::new(TaskId::MAIN, Operation::Yield, 0, 0);
        PathNode::new(Event::new(&nothing, 0), Vec::new(), 0)
    }

    /// As good as new, with the room that it has.
    pub(super) fn clear(&mut self) {
        self.enabled.clear();
        self.patient = None;
        self.sleep.clear();
        self.elsewhere.clear();
        self.tree.clear();
        self.below.clear();
        self.data.clear();
    }
}
