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
    /// Of the message that was printed, as a number; 0 if no panic was raised, [`CAPTURED`] if it was not
    /// printed.
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

/// The message of the only panic, which a test harness keeps until the test ends.
const CAPTURED: u64 = 1;
/// Several panics, of which a message was not printed: which stack belongs to which is not known.
const UNKNOWN: u64 = 2;

/// Another execution begins.
pub(crate) fn begin() {
    LAST.message.set(0);
}

fn number(message: &str) -> u64 {
    outcome::key_of_text(0, message)
}

/// The running task raises a panic with this message, or with one that is not printed yet. One that only
/// passes on the panic of another thread has the message of that one, whose stack is kept.
pub(super) fn raised(message: Option<&str>) {
    let now = match (LAST.message.get(), message.map(number)) {
        (before, Some(now)) if before == now => return,
        (CAPTURED | UNKNOWN, _) => UNKNOWN,
        (0, None) => CAPTURED,
        (_, None) => UNKNOWN,
        (_, Some(now)) => now,
    };
    let mut frames = [0; DEEPEST];
    let depth = backtrace::innermost(&mut frames);
    for (kept, frame) in LAST.frames.iter().zip(frames) {
        kept.set(frame);
    }
    LAST.depth.set(depth);
    LAST.task.set(world().current.get());
    LAST.step.set(world().step.get());
    LAST.message.set(now);
}

/// Where the panic with this message was raised, if it is the last one.
pub(super) fn of(message: &str) -> Vec<HistoryEvent> {
    if ![number(message), CAPTURED].contains(&LAST.message.get()) {
        return Vec::new();
    }
    vec![HistoryEvent {
        what: traces::PANICKED.to_owned(),
        task: LAST.task.get(),
        step: LAST.step.get(),
        stack: LAST.frames.iter().take(LAST.depth.get()).map(Cell::get).collect(),
    }]
}
