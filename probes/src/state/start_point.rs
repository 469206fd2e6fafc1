//! Whether the execution is still before the point at which its search begins (`--begin-at`).

use std::cell::Cell;

struct Before {
    is_ahead: Cell<bool>,
    /// Whether a task has reached the site at which the search begins.
    at_site: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Before {}
static BEFORE: Before = Before { is_ahead: Cell::new(false), at_site: Cell::new(false) };

/// Whether it is. No access of the program is observed there, and none is a scheduling point.
#[inline]
pub(crate) fn is_ahead() -> bool {
    BEFORE.is_ahead.get()
}

/// Sets that.
pub(crate) fn set_ahead(is_ahead: bool) {
    BEFORE.is_ahead.set(is_ahead);
    BEFORE.at_site.set(false);
}

/// A task has reached the site at which the search begins.
pub(crate) fn note_site() {
    BEFORE.at_site.set(true);
}

/// Whether a task has.
pub(crate) fn is_at_site() -> bool {
    BEFORE.at_site.get()
}
