//! What an execution did to memory that tasks share, kept to be asked at its end whether delayed stores
//! could have led elsewhere ([`traces::buffers`]). Only on request, and only of code that tells of its
//! accesses: a fence in a program as it is cannot be seen.

use super::learned;
use crate::failure;
use crate::manager::root;
use crate::raw;
use crate::world::world;
use std::cell::Cell;
use traces::buffers::{Act, Event, borderlines};
use traces::wire::Found;
use traces::{FailureKind, TaskId};

/// Of a longer execution the first events are looked at.
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
// SAFETY: there is one kernel thread.
unsafe impl Sync for Delays {}
static DELAYS: Delays = Delays { on: Cell::new(false), base: Cell::new(0), len: Cell::new(0) };

const LEN: usize = MOST * size_of::<Entry>();

pub(super) fn map() -> bool {
    if !root().store_buffers {
        return true;
    }
    let mapped = raw::map(0, LEN, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_NORESERVE);
    DELAYS.base.set(mapped.unwrap_or(0) as u64);
    DELAYS.on.set(mapped.is_some());
    mapped.is_some()
}

pub(super) fn ranges() -> Vec<(u64, u64)> {
    let base = DELAYS.base.get();
    if DELAYS.on.get() { vec![(base, base + LEN as u64)] } else { Vec::new() }
}

pub(super) fn begin() {
    DELAYS.len.set(0);
}

/// The running task does this.
#[inline]
pub(super) fn note(act: Act, object: u64, site: u64) {
    let len = DELAYS.len.get();
    if !DELAYS.on.get() || len == MOST {
        return;
    }
    let event = Event { task: usize::from(world().current.get()), act, object };
    // SAFETY: within the mapping.
    unsafe { (DELAYS.base.get() as *mut Entry).add(len).write(Entry { event, site }) };
    DELAYS.len.set(len + 1);
}

/// After an execution, on the manager: what delayed stores could have led to, each pair of places once.
pub(crate) fn settle() -> Vec<Found> {
    if !DELAYS.on.get() || root().is_learning() {
        return Vec::new();
    }
    // SAFETY: so many were written.
    let entries =
        unsafe { std::slice::from_raw_parts(DELAYS.base.get() as *const Entry, DELAYS.len.get()) };
    let events: Vec<Event> = entries.iter().map(|entry| entry.event).collect();
    let mut all = Vec::new();
    for borderline in borderlines(&events) {
        let (store, load) = (&entries[borderline.store], &entries[borderline.load]);
        if root().delayed.insert((store.site, load.site)) {
            all.push(Found {
                task: Some(TaskId(load.event.task as u16).0),
                race: Some(Box::new((learned::spot(store.site), learned::spot(load.site)))),
                conflict: Some(Box::new(learned::spot(load.event.object))),
                delayed: true,
                ..failure::found(FailureKind::Conflict, load.site, String::new())
            });
        }
    }
    all
}
