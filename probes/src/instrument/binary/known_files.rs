//! By which descriptor an open file is known.
//!
//! The word of a file is that of the lowest descriptor that leads to it. Closing that descriptor must not change the
//! word: a task that uses the file afterwards would seem to use another one. So the descriptor counts that was the
//! lowest when the file was used first in the execution; closing a descriptor is a use.

use crate::state::open_words::DESCRIPTORS;
use std::cell::Cell;

/// The device and the number of a file.
pub(super) type File = (u64, u64);

/// The most files that are distinguished in one execution. Further ones are known by their lowest descriptors.
const FILES: usize = 64;

/// The files of the current execution, each with its descriptor.
struct Known {
    all: [Cell<(File, i32)>; FILES],
    count: Cell<usize>,
}

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Known {}

static KNOWN: Known = Known { all: [const { Cell::new(((0, 0), 0)) }; FILES], count: Cell::new(0) };

/// For each descriptor of an open file without a number, such as an event counter: the closed descriptor by which it is
/// known, plus one, or 0.
struct Heirs([Cell<i32>; DESCRIPTORS]);

// SAFETY: as for `Known`.
unsafe impl Sync for Heirs {}

static HEIRS: Heirs = Heirs([const { Cell::new(0) }; DESCRIPTORS]);

/// An execution begins.
pub(super) fn begin() {
    KNOWN.count.set(0);
    HEIRS.0.iter().for_each(|heir| heir.set(0));
}

/// A descriptor of an open file without a number is about to be closed, by which `others`, its duplicates, are known.
pub(super) fn closes(descriptor: i32, others: impl Iterator<Item = i32>) {
    let known = inherited(descriptor);
    for heir in others.filter_map(|other| HEIRS.0.get(other as usize)) {
        heir.set(known + 1);
    }
    // The number may be used again, for another file.
    if let Some(own) = HEIRS.0.get(descriptor as usize) {
        own.set(0);
    }
}

/// The descriptor by which an open file without a number is known; `descriptor` is the lowest that leads to it.
pub(super) fn inherited(descriptor: i32) -> i32 {
    let heir = HEIRS.0.get(descriptor as usize).map_or(0, Cell::get);
    if heir == 0 { descriptor } else { heir - 1 }
}

/// The descriptor by which a file is known, if it was used.
pub(super) fn find(file: File) -> Option<i32> {
    let known = &KNOWN.all[..KNOWN.count.get()];
    known.iter().map(Cell::get).find(|(known, _)| *known == file).map(|(_, descriptor)| descriptor)
}

/// The descriptor by which a file is known; `lowest` finds the lowest that leads to it.
pub(super) fn first(file: File, lowest: impl FnOnce() -> i32) -> i32 {
    find(file).unwrap_or_else(|| {
        let descriptor = lowest();
        if let Some(next) = KNOWN.all.get(KNOWN.count.get()) {
            next.set((file, descriptor));
            KNOWN.count.set(KNOWN.count.get() + 1);
        }
        descriptor
    })
}
