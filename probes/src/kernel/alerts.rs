//! What a task does when it was chosen for something else than its operation: to handle a signal or
//! a cancellation.

use crate::fiber::switch;
use crate::kernel::signal_delivery;
use crate::primitives::cancel;
use crate::schedule::scheduler::choose_data;
use crate::schedule::time;
use crate::state::cancellation;
use crate::state::task::{
    ALERT_CANCELLED, ALERT_LATER, ALERT_SIGNAL, ALERT_UNTOUCHED, ExternalWait, Gate, Interrupted,
};
use crate::state::time::NEVER;
use crate::state::world::{World, world};
use crate::steps::record;
use traces::Operation;

/// Whether an operation is the beginning of a wait as well as its end. (A wait on a futex begins with a
/// separate operation.)
fn begins_to_wait(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::SemWait | O::SemTimedWait | O::SignalWait | O::Sleep | O::Ready)
}

/// Whether the running task, at this gate, could take what it waits for.
fn is_over(gate: Gate) -> bool {
    match gate {
        // SAFETY: a task that is parked at such a gate has stored the wait on its stack.
        Gate::Ready(wait) => unsafe { ExternalWait::is_over(wait) },
        _ => world().task().is_over(),
    }
}

/// The running task was chosen for something else than its operation: to handle a signal or a
/// cancellation. After that it returns to its point, unless the handler ends its wait.
pub(crate) fn handle(operation: Operation, object: u64, site: u64, gate: Gate) {
    let task = world().task();
    loop {
        let alerts = task.alerts.replace(0);
        if alerts & ALERT_CANCELLED != 0 {
            // If that ends the task, the second half of its instruction is never executed.
            task.in_instruction.set(false);
            cancel::act_if_asynchronous();
        }
        if alerts & ALERT_SIGNAL == 0 {
            return;
        }
        let interrupts = task.interrupts.replace(Interrupted::Never);
        // The kernel looks for data before it looks for signals.
        let is_there = operation == Operation::Ready && is_over(gate);
        let ends = |handled| match interrupts {
            _ if alerts & ALERT_UNTOUCHED != 0 => false,
            _ if is_there => false,
            Interrupted::Never => false,
            Interrupted::UnlessRestarted => handled == Interrupted::UnlessRestarted,
            Interrupted::Always => handled != Interrupted::Never,
        };
        // The handler may also have run just before the call.
        let is_before_call = begins_to_wait(operation)
            && alerts & ALERT_LATER == 0
            && ends(signal_delivery::would_end())
            && signal_delivery::may_come_before_call()
            && choose_data(2) == 1;
        let waits = task.waits_on.get();
        let deadline = task.deadline.replace(NEVER);
        let limited_wait = task.limited_wait.get();
        let open_files = task.open_files.take();
        let before = time::begin_handler();
        // Before a call that waits with another signal mask, the task has the one from before.
        let outside = task.masked_outside.get();
        let inside = (is_before_call && outside != 0).then(|| task.mask.replace(outside));
        let handled = signal_delivery::handle_all();
        if let Some(mask) = inside {
            task.mask.set(mask);
        }
        task.waits_on.set(waits);
        if !is_before_call && ends(handled) {
            task.interrupted.set(true);
            return;
        }
        time::continue_after_handler(before);
        task.interrupts.set(interrupts);
        task.deadline.set(deadline);
        task.limited_wait.set(limited_wait);
        task.open_files.set(open_files);
        task.operation.set(operation);
        task.object.set(object);
        task.site.set(site);
        // The gate may have been opened for the signal.
        let due = cancellation::is_at_point(task) && cancellation::is_due();
        task.set_gate(if due { cancellation::opened(gate) } else { gate });
        if is_before_call {
            signal_delivery::call_begins();
        }
        // The task waits again, and may close a cycle of waiting tasks.
        world().suspect.set(World::ALL);
        // SAFETY: as in `point`.
        unsafe { switch::heddle_point(task.sp.as_ptr()) }
        record::callers_if_wanted(task);
    }
}
