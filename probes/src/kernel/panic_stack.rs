//! Where the last of Rust's panics was raised: its stack no longer exists when the process ends.

use crate::fiber::backtrace;
use crate::state::outcome;
use crate::state::world::world;
use std::cell::Cell;
use traces::wire::HistoryEvent;

/// Deeper frames are cut off.
const DEEPEST: usize = 96;

struct Raised {
    task: Cell<u16>,
    step: Cell<u64>,
    /// Of the message that was printed, as a number; 0 if no panic was raised.
    message: Cell<u64>,
    depth: Cell<usize>,
    frames: [Cell<u64>; DEEPEST],
}
// SAFETY: the controlled process has one kernel thread, and cells hand out no references.
unsafe impl Sync for Raised {}

static LAST: Raised = Raised {
    task: Cell::new(0),
    step: Cell::new(0),
    message: Cell::new(0),
    depth: Cell::new(0),
    frames: [const { Cell::new(0) }; DEEPEST],
};

/// Another execution begins.
pub(crate) fn begin() {
    LAST.message.set(0);
}

fn number(message: &str) -> u64 {
    outcome::key_of_text(0, message)
}

/// The running task raises a panic with this message. One that only passes on the panic of another thread
/// has the message of that one, whose stack is kept.
pub(super) fn raised(message: &str) {
    if LAST.message.get() == number(message) {
        return;
    }
    let mut frames = [0; DEEPEST];
    let depth = backtrace::innermost(&mut frames);
    for (kept, frame) in LAST.frames.iter().zip(frames) {
        kept.set(frame);
    }
    LAST.depth.set(depth);
    LAST.task.set(world().current.get());
    LAST.step.set(world().step.get());
    LAST.message.set(number(message));
}

/// Where the panic with this message was raised, if it is the last one.
pub(super) fn of(message: &str) -> Vec<HistoryEvent> {
    if LAST.message.get() != number(message) {
        return Vec::new();
    }
    vec![HistoryEvent {
        what: traces::PANICKED.to_owned(),
        task: LAST.task.get(),
        step: LAST.step.get(),
        stack: LAST.frames.iter().take(LAST.depth.get()).map(Cell::get).collect(),
    }]
}
