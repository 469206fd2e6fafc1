//! What a task does when it was chosen for something else than its operation: to handle a signal or
//! a cancellation.

use crate::fiber::switch;
use crate::kernel::signal_delivery;
use crate::primitives::cancel;
use crate::state::cancellation;
use crate::state::task::{ALERT_CANCELLED, ALERT_SIGNAL, ALERT_UNTOUCHED, Gate, Interrupted};
use crate::state::world::{World, world};
use crate::steps::record;
use traces::Operation;

/// The running task was chosen for something else than its operation: to handle a signal or a
/// cancellation. After that it returns to its point, unless the handler ends its wait.
pub(crate) fn handle(operation: Operation, object: u64, site: u64, gate: Gate) {
    let task = world().task();
    loop {
        let alerts = task.alerts.replace(0);
        if alerts & ALERT_CANCELLED != 0 {
            cancel::act_if_asynchronous();
        }
        if alerts & ALERT_SIGNAL == 0 {
            return;
        }
        let interrupts = task.interrupts.replace(Interrupted::Never);
        let waits = task.waits_on.get();
        let handled = signal_delivery::handle_all();
        task.waits_on.set(waits);
        let ends = match interrupts {
            _ if alerts & ALERT_UNTOUCHED != 0 => false,
            Interrupted::Never => false,
            Interrupted::UnlessRestarted => handled == Interrupted::UnlessRestarted,
            Interrupted::Always => handled != Interrupted::Never,
        };
        if ends {
            task.interrupted.set(true);
            return;
        }
        task.interrupts.set(interrupts);
        task.operation.set(operation);
        task.object.set(object);
        task.site.set(site);
        // The gate may have been opened for the signal.
        let due = cancellation::is_at_point(task) && cancellation::is_due();
        task.set_gate(if due { cancellation::opened(gate) } else { gate });
        // The task waits again, and may close a cycle of waiting tasks.
        world().suspect.set(World::ALL);
        // SAFETY: as in `point`.
        unsafe { switch::heddle_point(task.sp.as_ptr()) }
        record::callers_if_wanted(task);
    }
}
