//! Since when what timers did is there for tasks that wait for it.

use super::moment::Moment;
use crate::reduction::events::Map;
use traces::TaskId;

/// Since when one of these timers may have done what a task waits for.
#[derive(Debug, Clone, Default)]
struct Since {
    timers: Vec<TaskId>,
    moment: Moment,
}

impl Since {
    fn expire(&mut self, timer: TaskId, moment: Moment) {
        if !self.timers.contains(&timer) {
            self.timers.push(timer);
            self.moment.join(moment);
        }
    }
}

/// The expirations of timers that tasks can still take, on the object that stands for all signals or all
/// descriptors.
///
/// Which timer a task waits for is not known. What it waits for was not there before the timer expired first since it
/// was taken last, so the latest of the first expirations of all timers is no earlier than that. Further expirations do
/// not count: else a periodic timer, or two timers in turn, could keep a task from its next step permanently.
#[derive(Debug, Clone, Default)]
pub(super) struct Expirations {
    /// For what no task has taken yet.
    untaken: Since,
    /// For what tasks have taken, since then.
    taken: Map<u64, Since>,
    /// Before this moment all may have been taken.
    cleared: Moment,
}

impl Expirations {
    /// A timer expires.
    pub(super) fn expire(&mut self, timer: TaskId, moment: Moment) {
        self.untaken.expire(timer, moment);
        self.taken.values_mut().for_each(|since| since.expire(timer, moment));
    }

    /// A task takes what is there under this key.
    pub(super) fn take(&mut self, key: u64) {
        // Where no timer has expired, nothing has to be remembered.
        if !self.untaken.timers.is_empty() {
            self.taken.insert(key, Since::default());
        }
    }

    /// Nothing may be there from here on.
    pub(super) fn clear(&mut self, moment: Moment) {
        let mut cleared = self.cleared;
        cleared.join(moment);
        *self = Expirations { cleared, ..Expirations::default() };
    }

    /// Since when something may be there under this key.
    pub(super) fn since(&self, key: u64) -> Moment {
        let mut moment = self.cleared;
        moment.join(self.taken.get(&key).unwrap_or(&self.untaken).moment);
        moment
    }

    /// Since when all may have been taken.
    pub(super) fn cleared(&self) -> Moment {
        self.cleared
    }
}
