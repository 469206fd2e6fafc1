//! The state of an object in time: when it changed, and since when tasks can have it.

use super::expirations::Expirations;
use super::moment::Moment;
use crate::reduction::events::{Access, Event, Group, SIGNALS};
use traces::Operation;

#[derive(Debug, Clone, Default)]
pub(super) struct ObjectMoments {
    pub(super) changed: Moment,
    /// Since when what waits for the object can have it, apart from what timers do.
    pub(super) since: Moment,
    expirations: Option<Box<Expirations>>,
    /// By [`Group`]: the latest of its accesses.
    pub(super) groups: [Moment; Group::COUNT],
    /// The clock at which a task acquired the object exclusively for the last time.
    pub(super) held_from: Option<u64>,
    /// The end of the last time that the object was held for longer than a moment.
    pub(super) held_until: u64,
}

/// What the task takes or waits for with this operation: its own signals, or a descriptor's state.
fn key(event: &Event) -> u64 {
    match event.operation {
        Operation::SignalWait | Operation::Handler => !u64::from(event.task.0),
        _ => event.own_object().map_or(0, |(object, _)| object),
    }
}

impl ObjectMoments {
    /// An access at this moment may let tasks continue that wait for the object with this number. `expires`: the
    /// operation is an expiry.
    pub(super) fn enable(
        &mut self,
        event: &Event,
        (number, access): (u64, Access),
        moment: Moment,
        expires: bool,
    ) {
        use Operation as O;
        match event.operation {
            // The timer was disarmed.
            O::Timer if !expires => {}
            O::Timer => self.expirations().expire(event.task, moment),
            O::TimerSet => self.expirations().clear(moment),
            // What was taken lets no other task continue. A signal for the process may be one for which others wait.
            O::SignalWait if number == SIGNALS => {
                if let Some(expirations) = &mut self.expirations {
                    expirations.clear(moment);
                }
            }
            O::SignalWait | O::Handler => {
                if let Some(expirations) = &mut self.expirations {
                    expirations.take(key(event));
                }
            }
            O::Ready if access == Access::Read => {
                let takes = event.own_object().is_some_and(|(_, own)| own == Access::Write);
                if let Some(expirations) = self.expirations.as_mut().filter(|_| takes) {
                    expirations.take(key(event));
                }
            }
            _ => match access {
                Access::Read | Access::Share | Access::Take | Access::Post(false) => {}
                _ => self.since.join(moment),
            },
        }
    }

    /// Whether timers have done something to the object that tasks may still take.
    pub(super) fn has_expirations(&self) -> bool {
        self.expirations.is_some()
    }

    fn expirations(&mut self) -> &mut Expirations {
        self.expirations.get_or_insert_default()
    }

    /// Since when the object lets the operation, which waits for it, continue.
    pub(super) fn since(&self, event: &Event) -> Moment {
        let mut moment = self.since;
        if let Some(expirations) = &self.expirations {
            moment.join(match event.operation {
                // What is not an expiry waited until the timer was disarmed.
                Operation::Timer => expirations.cleared(),
                _ => expirations.since(key(event)),
            });
        }
        moment
    }
}
