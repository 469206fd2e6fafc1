//! What is known of an object: when it changed, and since when tasks can have it.

use super::moment::Moment;
use crate::reduction::events::{Access, Event};
use traces::{Operation, TaskId};

#[derive(Debug, Clone, Default)]
pub(super) struct ObjectMoments {
    pub(super) changed: Moment,
    /// Since when what waits for the object can have it.
    pub(super) since: Moment,
    /// The timer that changed `since` last, if one did.
    pub(super) timer: Option<TaskId>,
    pub(super) read: Moment,
    pub(super) shared: Moment,
    /// The clock at which a task acquired the object exclusively for the last time.
    pub(super) held_from: Option<u64>,
    /// The end of the last time that the object was held for longer than a moment.
    pub(super) held_until: u64,
}
impl ObjectMoments {
    /// An access at this moment may let tasks continue that wait for the object.
    pub(super) fn enable(&mut self, event: &Event, access: Access, moment: Moment) {
        let is_timer = event.operation == Operation::Timer;
        let enables = match access {
            Access::Read | Access::Share | Access::Take | Access::Post(false) => false,
            // Signals that were handled let no task continue.
            _ if event.operation == Operation::Handler => false,
            _ => !is_timer || self.timer != Some(event.task),
        };
        if enables {
            self.since.join(moment);
            self.timer = is_timer.then_some(event.task);
        }
    }
}
