//! The beginning of executions, and the descriptors that were open before.

use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;

struct Begin {
    /// Whether the program has yet to call `heddle_begin`.
    awaited: Cell<bool>,
    /// Whether the program refers to `pthread_cancel`.
    cancels: Cell<bool>,
    /// The descriptors that were open when executions began, one bit each.
    open: [Cell<u64>; DESCRIPTORS / 64],
}

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Begin {}

static BEGIN: Begin = Begin {
    awaited: Cell::new(false),
    cancels: Cell::new(false),
    open: [const { Cell::new(0) }; DESCRIPTORS / 64],
};

/// Descriptors from this number on are not recorded.
const DESCRIPTORS: usize = 256;

/// Whether the program may cancel a task.
pub(crate) fn may_cancel() -> bool {
    BEGIN.cancels.get()
}

/// Why a thread cannot be created before executions begin.
pub(crate) fn early_thread() -> &'static str {
    if BEGIN.awaited.get() {
        "the program creates a thread before it calls heddle_begin(), which is not supported: call it \
         before the first one"
    } else {
        "the program creates a thread before its main begins (in a constructor), which is not \
         supported"
    }
}

/// Executions begin here: records the open descriptors, except for the standard streams that the controller gave.
pub(crate) fn note_descriptors() {
    let world = world();
    let is_given = |one: usize| world.is_captured(one as u64) || one == 0 && world.input.get();
    for descriptor in (0..DESCRIPTORS).filter(|&one| !is_given(one)) {
        // SAFETY: `F_GETFD` takes no pointer.
        let answer = unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFD) };
        if answer >= 0 {
            let word = &BEGIN.open[descriptor / 64];
            word.set(word.get() | 1 << (descriptor % 64));
        }
    }
}

/// Whether a descriptor was open before executions began: all executions share what it refers to.
pub(crate) fn was_open(descriptor: u64) -> bool {
    let word = BEGIN.open.get(descriptor as usize / 64);
    word.is_some_and(|word| word.get() >> (descriptor % 64) & 1 != 0)
}

/// Whether the program has yet to call `heddle_begin`.
pub(crate) fn is_awaited() -> bool {
    BEGIN.awaited.get()
}

/// Sets whether the program has yet to call `heddle_begin`; returns what was set before.
pub(crate) fn set_awaited(is: bool) -> bool {
    BEGIN.awaited.replace(is)
}

/// Sets whether the program refers to `pthread_cancel`.
pub(crate) fn set_cancels(is: bool) {
    BEGIN.cancels.set(is);
}
