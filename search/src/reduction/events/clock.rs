//! Vector clocks.

use super::event::Event;

/// A vector clock: for each task, the number of its operations that happened before.
pub type Clock = Vec<u32>;

/// Makes `clock` the least upper bound of itself and `other`.
pub fn join(clock: &mut Clock, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, &theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(theirs);
    }
}

/// Whether the event happened before the point that the clock describes.
#[must_use]
#[inline]
pub fn covers(clock: &[u32], event: &Event) -> bool {
    clock.get(event.task.index()).is_some_and(|&count| count > event.index)
}
