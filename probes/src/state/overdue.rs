//! The watchdog's signal where it cannot be served at once.

use crate::state::end::End;
use crate::state::outcome;
use crate::state::upcalls;
use crate::state::world::world;
use crate::sys::signals::WATCHDOG;
use std::cell::Cell;
use traces::FailureKind;

/// Whether the watchdog's signal came where the program's stack cannot be determined: between a
/// call or a probe of the program and the code that serves it. The next such call or probe reacts
/// instead.
struct Due(Cell<bool>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Due {}

static DUE: Due = Due(Cell::new(false));

/// An execution begins: a pending watchdog signal of the last one is dropped.
pub(crate) fn begin() {
    DUE.0.set(false);
}

/// Yields to another task at a system call, a probe or a call of the runtime by the program, if the
/// watchdog's signal came shortly before, or ends the execution if no other task could run.
#[inline]
pub(crate) fn act_if_due(site: u64) {
    if DUE.0.replace(false) && !upcalls::get().yields() {
        let mut found = outcome::found(FailureKind::Spin, site, String::new());
        found.number = WATCHDOG;
        found.key = outcome::key(FailureKind::Spin, &[world().task().site.get()]);
        outcome::end_here(End::Failed(Box::new(found)));
    }
}

/// The watchdog's signal came where the program's stack cannot be determined.
pub(crate) fn note() {
    DUE.0.set(true);
}
