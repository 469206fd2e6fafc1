//! Which events conflict, and which this strategy knows.

use crate::reduction::events::{Access, Event};
use crate::reduction::pending::{Counting, Harness, PendingOperation};

/// Whether the order of two events matters because of what they access, or because one task runs both.
/// (The end of a process comes after everything else, and is treated separately.)
pub(super) fn conflicts(one: &Event, other: &Event) -> bool {
    one.task == other.task || conflicts_in_objects(one, other)
}

/// Whether the order of two events matters because of what they access.
pub(super) fn conflicts_in_objects(one: &Event, other: &Event) -> bool {
    one.accesses().iter().any(|&(object, access)| {
        other.access(object).is_some_and(|theirs| !access.commutes(theirs))
    })
}

/// Whether the first event, wherever it comes before the second, may conflict with it: a
/// compare-and-swap that fails here may succeed there.
pub(super) fn may_conflict(earlier: &Event, later: &Event) -> bool {
    conflicts(earlier, later) || earlier.conditional && conflicts(&earlier.as_write(), later)
}

/// The object for which the event may have to wait.
pub(super) fn waits_for(event: &Event) -> Option<u64> {
    let waits = |&&(_, access): &&(u64, Access)| matches!(access, Access::Lock | Access::Take);
    event.accesses().iter().find(waits).map(|&(object, _)| object)
}

/// Whether this strategy knows all orders of the operation with others.
pub(super) fn is_known(next: &PendingOperation) -> bool {
    let event = Event::new(next, 0);
    let shared =
        event.accesses().iter().any(|(_, one)| matches!(one, Access::Share | Access::Unshare));
    let waits = event.waits || waits_for(&event).is_some() && event.accesses().len() > 1;
    let times = next.has_timeout || next.not_due;
    let awaits = !next.awaited_objects.is_empty() || !next.restored_objects.is_empty();
    let spins = awaits || next.awaits_unknown;
    let sends = next.message != 0;
    let counts = next.counting != Counting::None;
    !(shared || counts || waits || sends || times || spins || next.hides_something())
        && next.harness == Harness::None
}
