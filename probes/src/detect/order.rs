//! The order that an operation creates: what its task acquires and releases.

use crate::detect::clocks::Clocks;
use crate::detect::shadow::{Shadow, Word};
use crate::memory::shared_views;
use search::reduction::events::Group;
use traces::{Operation, primitives};

/// Combined with the address of a lock: what its readers released. No address has this bit.
const READERS: u64 = 1 << 63;

/// The groups of updates of counters.
const COUNTS: [Group; 3] = [Group::Adds, Group::Raises, Group::Lowers];

/// What those released at a counter whose updates are of this group, as an address. No other address has these bits.
fn updates(group: Group, counter: u64) -> u64 {
    READERS | (group as u64 + 1) << 58 | shared_views::canonical(counter)
}

/// A memory order as compilers number it, from relaxed to sequentially consistent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Order(pub(crate) i32);

impl Order {
    pub(crate) fn acquires(self) -> bool {
        matches!(self.0 & 0xff, 1 | 2 | 4 | 5)
    }

    pub(crate) fn is_total(self) -> bool {
        self.0 & 0xff == 5
    }

    pub(crate) fn releases(self) -> bool {
        matches!(self.0 & 0xff, 3..=5)
    }
}

/// Notes that something was released at an address, so that it is discarded when the memory is
/// reused.
fn note(shadow: &Shadow, address: u64) {
    if let Some(word) = shadow.word(address) {
        word.set_orders();
    }
}

/// Discards what was released at these bytes of a word.
pub(crate) fn forget(clocks: &Clocks, word: u64, mask: u8) {
    for byte in (0..8).filter(|byte| mask & 1 << byte != 0) {
        clocks.forget(word + byte);
        clocks.forget((word + byte) | READERS);
        COUNTS.into_iter().for_each(|group| clocks.forget(updates(group, word + byte)));
    }
}

/// The task updates the counter at an address of this word, and observes no order of updates of the same group.
pub(crate) fn count(clocks: &Clocks, word: &Word, task: usize, address: u64, group: Group) {
    word.set_orders();
    clocks.acquire(task, address);
    for other in COUNTS.into_iter().filter(|&other| other != group) {
        clocks.acquire(task, updates(other, address));
    }
    clocks.release(task, updates(group, address));
}

/// The task acquires what those released that updated the counter at an address of this word, if there is one.
pub(crate) fn acquire_counts(clocks: &Clocks, word: &Word, task: usize, address: u64) {
    if word.orders() {
        COUNTS.into_iter().for_each(|group| clocks.acquire(task, updates(group, address)));
    }
}

/// The task makes an atomic access.
pub(crate) fn atomic(
    clocks: &Clocks,
    shadow: &Shadow,
    task: usize,
    address: u64,
    (reads, writes): (bool, bool),
    order: Order,
) {
    if reads {
        if order.acquires() {
            clocks.acquire(task, address);
            if let Some(word) = shadow.word(address) {
                acquire_counts(clocks, word, task, address);
            }
        } else {
            clocks.acquire_relaxed(task, address);
        }
    }
    if writes {
        note(shadow, address);
        match (order.releases(), reads) {
            (true, true) => clocks.release(task, address),
            (true, false) => clocks.release_anew(task, address),
            (false, continues) => clocks.release_relaxed(task, address, continues),
        }
    }
}

/// The task executes an operation of the threads library on an object, perhaps with a mutex.
/// Whether that orders anything.
pub(crate) fn operation(
    clocks: &Clocks,
    shadow: &Shadow,
    task: usize,
    operation: Operation,
    (object, mutex): (u64, u64),
    succeeds: bool,
) -> bool {
    match operation.description().order {
        primitives::Order::Nothing => return false,
        primitives::Order::Acquires => {
            if succeeds {
                clocks.acquire(task, object);
            }
        }
        primitives::Order::AcquiresFromAll => {
            if succeeds {
                clocks.acquire(task, object);
                clocks.acquire(task, object | READERS);
            }
        }
        primitives::Order::AcquiresWithMutex => {
            clocks.acquire(task, object);
            clocks.acquire(task, mutex);
        }
        primitives::Order::Releases => {
            note(shadow, object);
            clocks.release(task, object);
        }
        // Readers may hold the lock together: a reader's release is ordered before the next writer,
        // not before the next reader.
        primitives::Order::ReleasesOne => {
            note(shadow, object);
            clocks.release(task, if succeeds { object } else { object | READERS });
        }
        primitives::Order::ReleasesMutex => {
            note(shadow, mutex);
            clocks.release(task, mutex);
        }
        primitives::Order::Both => {
            note(shadow, object);
            clocks.acquire(task, object);
            clocks.release(task, object);
        }
    }
    true
}
