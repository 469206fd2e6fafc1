//! The state of race detection in the middle of an execution, except shadow memory, which is restored
//! like the program's memory.

use crate::detect::access::{Monitoring, POINTS};
use crate::detect::shadow::Viewer;
use crate::detect::slot::Head;
use crate::detect::waiting::WAITED_FOR;
use crate::detect::{clocks, race};
use crate::memory::snapshot::images;
use crate::state::root::root;

/// What is known about accesses in an execution.
pub(crate) struct Saved {
    monitoring: Monitoring,
    plainly: bool,
    now: Head,
    quick: Option<Viewer>,
    budget: u32,
    suspect: bool,
    watched: bool,
    busy: bool,
    read_words: [u64; WAITED_FOR],
    found_busy: u32,
    yields: u32,
    clocks: clocks::Saved,
}

/// Whether executions may be resumed: shadow memory is watched from here on.
pub(crate) fn prepare() -> bool {
    if !POINTS.ready.get() {
        return true;
    }
    let (start, end) = POINTS.shadow.words();
    !root().store_buffers && !POINTS.clocks.will_restart() && images::watch_own(start, end)
}

/// The state of the running execution with this many tasks; none if it cannot be restored. The inner
/// value is none if accesses cannot be monitored.
pub(crate) fn save(tasks: usize) -> Option<Option<Saved>> {
    if !POINTS.ready.get() {
        return Some(None);
    }
    let waiting = &POINTS.waiting;
    let is_known = !race::is_declared() && POINTS.written.get().1 == 0;
    let clocks = is_known.then(|| POINTS.clocks.save(tasks)).flatten()?;
    Some(Some(Saved {
        monitoring: POINTS.monitoring.get(),
        plainly: POINTS.plainly.get(),
        now: POINTS.now.get(),
        quick: POINTS.quick.get(),
        budget: POINTS.budget.get(),
        suspect: POINTS.suspect.get(),
        watched: POINTS.watched.get(),
        busy: waiting.busy.get(),
        read_words: waiting.read_words.get(),
        found_busy: waiting.found_busy.get(),
        yields: waiting.yields.get(),
        clocks,
    }))
}

/// An execution ended, and an earlier state of it will be restored.
pub(crate) fn abandon() {
    if POINTS.ready.get() {
        POINTS.clocks.abandon();
    }
}

/// Restores the state of an execution with this many tasks, after an execution began.
pub(crate) fn restore(saved: Option<&Saved>, tasks: usize) {
    let Some(saved) = saved else { return };
    let waiting = &POINTS.waiting;
    POINTS.clocks.restore(&saved.clocks, tasks);
    POINTS.monitoring.set(saved.monitoring);
    POINTS.plainly.set(saved.plainly);
    POINTS.now.set(saved.now);
    POINTS.quick.set(saved.quick);
    POINTS.budget.set(saved.budget);
    POINTS.suspect.set(saved.suspect);
    POINTS.watched.set(saved.watched);
    waiting.busy.set(saved.busy);
    waiting.read_words.set(saved.read_words);
    waiting.found_busy.set(saved.found_busy);
    waiting.yields.set(saved.yields);
}

/// Removes what executions stored in a page of shadow memory.
pub(crate) fn clear_page(page: u64) {
    POINTS.shadow.clear(page);
}
