//! A log of an execution's accesses to shared memory. At its end the log is checked for other
//! results that delayed stores could have produced ([`traces::store_buffers`]). It exists only on
//! request, and only for compiler-instrumented code: fences in other programs cannot be observed.

use crate::detect::learned_points;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;
use traces::store_buffers::{Event, MemoryEffect, borderlines};
use traces::wire::FoundFailure;
use traces::{FailureKind, TaskId};

/// The most events that are logged; later ones are ignored.
const MOST: usize = 1 << 14;

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    event: Event,
    site: u64,
}

struct Delays {
    on: Cell<bool>,
    base: Cell<u64>,
    len: Cell<usize>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Delays {}
static DELAYS: Delays = Delays { on: Cell::new(false), base: Cell::new(0), len: Cell::new(0) };

const LEN: usize = MOST * size_of::<Entry>();

pub(crate) fn map() -> bool {
    if !root().store_buffers {
        return true;
    }
    let mapped = raw::map(0, LEN, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    DELAYS.base.set(mapped.unwrap_or(0) as u64);
    DELAYS.on.set(mapped.is_some());
    mapped.is_some()
}

pub(crate) fn ranges() -> Vec<(u64, u64)> {
    let base = DELAYS.base.get();
    if DELAYS.on.get() { vec![(base, base + LEN as u64)] } else { Vec::new() }
}

pub(crate) fn begin() {
    DELAYS.len.set(0);
}

/// Logs an event of the running task.
#[inline]
pub(crate) fn note(act: MemoryEffect, object: u64, site: u64) {
    let len = DELAYS.len.get();
    if !DELAYS.on.get() || len == MOST {
        return;
    }
    let event = Event { task: usize::from(world().current.get()), act, object };
    // SAFETY: `len` is below the mapping's capacity, and nothing refers to the entries while a
    // fiber runs.
    unsafe { (DELAYS.base.get() as *mut Entry).add(len).write(Entry { event, site }) };
    DELAYS.len.set(len + 1);
}

/// On the manager, after an execution: what delayed stores could have caused, once for each pair of
/// sites.
pub(crate) fn settle() -> Vec<FoundFailure> {
    if !DELAYS.on.get() || root().is_learning() {
        return Vec::new();
    }
    // SAFETY: `note` wrote the first `len` entries, and no fiber runs that could write more.
    let entries =
        unsafe { std::slice::from_raw_parts(DELAYS.base.get() as *const Entry, DELAYS.len.get()) };
    let events: Vec<Event> = entries.iter().map(|entry| entry.event).collect();
    let mut all = Vec::new();
    for borderline in borderlines(&events) {
        let (store, load) = (&entries[borderline.store], &entries[borderline.load]);
        if root().delayed.borrow().insert((store.site, load.site)) {
            all.push(FoundFailure {
                task: Some(TaskId(load.event.task as u16).0),
                race: Some(Box::new((
                    learned_points::spot(store.site),
                    learned_points::spot(load.site),
                ))),
                conflict: Some(Box::new(learned_points::spot(load.event.object))),
                delayed: true,
                ..outcome::found(FailureKind::Conflict, load.site, String::new())
            });
        }
    }
    all
}
