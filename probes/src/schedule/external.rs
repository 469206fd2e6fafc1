//! Waits for other processes: the only ones in which real time passes, and no strategy observes it.

use crate::state::root::root;
use crate::state::task::{ExternalWait, Gate, Task};
use crate::state::world::world;
use crate::sys::raw;
use search::PrefixReplay;

/// Runs `point`, in which the task waits for something that another process may provide.
pub(crate) fn wait(point: impl FnOnce()) {
    let outside = &world().outside;
    outside.set(outside.get() + 1);
    point();
    // The gate may lead to a wait on the stack of the call, which ends now.
    world().task().set_gate(Gate::Open);
    outside.set(outside.get().saturating_sub(1));
}

/// Whether a task waits for a descriptor that another process may make ready.
pub(crate) fn is_outside(task: &Task) -> bool {
    // SAFETY: the gate has the address of a wait on the stack of the task, which is parked in it.
    matches!(task.gate(), Gate::Ready(wait) if !unsafe { ExternalWait::is_private(wait) })
}

/// Whether another process may end the wait of a task.
fn may_end(task: &Task) -> bool {
    matches!(task.gate(), Gate::FileFree(_)) || is_outside(task)
}

/// If a task may have to wait for another process, or no task is enabled, the runtime polls this
/// many times, with this pause before each poll, before it accepts that: one second in all.
const MOST_POLLS: u32 = 500;
const PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
/// After this many waits of a second in vain, the runtime no longer waits: the program behaves that
/// way.
const MOST_TIMEOUTS: u32 = 8;

/// Whether to determine the enabled tasks again after a pause. That is so if a task waits for
/// another process, and either no task is enabled or the enabled tasks differ from those that the
/// strategy expects here: the other process may only be slower this time. (No strategy observes
/// real time. It gets the same input as before, or the difference after the last poll.)
#[cold]
pub(crate) fn may_change(count: usize, digest: u32) -> bool {
    let root = root();
    let is_unexpected = count == 0
        || root.strategy.borrow().expected_digest().is_some_and(|expected| expected != digest);
    let mut polls = root.external_polls.borrow();
    if !is_unexpected {
        // The expected input arrived during the wait.
        polls.count = 0;
        return false;
    }
    if count == 0 && !world().alive().any(|number| may_end(&world().tasks[usize::from(number)])) {
        // Only this process could end the waits, and it cannot.
        return false;
    }
    if polls.timeouts >= MOST_TIMEOUTS || polls.count >= MOST_POLLS {
        polls.timeouts += u32::from(polls.count >= MOST_POLLS);
        polls.count = 0;
        return false;
    }
    polls.count += 1;
    let pause = PAUSE;
    // SAFETY: the kernel only reads the local `pause`.
    unsafe { raw::call!(libc::SYS_nanosleep, &raw const pause, 0) };
    true
}
