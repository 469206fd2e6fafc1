//! Who has which of the locks whose bytes do not say so: read-write locks that are read, spin locks,
//! and robust mutexes, which are looked for when their owner ends.
//!
//! A small table in the runtime's own memory. Programs hold few locks at a time; should there ever
//! be more than it has room for, nothing is claimed of any lock from there on.

use std::cell::Cell;

const ROOM: usize = 512;

/// One lock that one task has, so many times.
#[derive(Debug, Clone, Copy)]
struct Holding {
    lock: u64,
    task: u16,
    count: u32,
}

struct Table {
    held: [Cell<Holding>; ROOM],
    len: Cell<usize>,
    overflowed: Cell<bool>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Table {}
static TABLE: Table = Table {
    held: [const { Cell::new(Holding { lock: 0, task: 0, count: 0 }) }; ROOM],
    len: Cell::new(0),
    overflowed: Cell::new(false),
};

fn all() -> &'static [Cell<Holding>] {
    &TABLE.held[..TABLE.len.get()]
}

/// An execution begins: nobody has anything.
pub(crate) fn clear() {
    TABLE.len.set(0);
    TABLE.overflowed.set(false);
}

/// Whether the table knows of every lock.
pub(crate) fn is_whole() -> bool {
    !TABLE.overflowed.get()
}

/// The task has the lock (once more).
pub(crate) fn add(lock: u64, task: u16) {
    if let Some(cell) = all().iter().find(|it| (it.get().lock, it.get().task) == (lock, task)) {
        cell.set(Holding { count: cell.get().count + 1, ..cell.get() });
        return;
    }
    let len = TABLE.len.get();
    match TABLE.held.get(len) {
        Some(cell) => {
            cell.set(Holding { lock, task, count: 1 });
            TABLE.len.set(len + 1);
        }
        None => TABLE.overflowed.set(true),
    }
}

/// The task gives the lock back (once); false if it did not have it.
pub(crate) fn remove(lock: u64, task: u16) -> bool {
    let Some(at) = all().iter().position(|it| (it.get().lock, it.get().task) == (lock, task))
    else {
        return false;
    };
    let held = all()[at].get();
    if held.count > 1 {
        all()[at].set(Holding { count: held.count - 1, ..held });
    } else {
        // The order stays: whoever took it first stands first.
        for at in at..TABLE.len.get() - 1 {
            TABLE.held[at].set(TABLE.held[at + 1].get());
        }
        TABLE.len.set(TABLE.len.get() - 1);
    }
    true
}

/// Who has the lock, the longest first.
pub(crate) fn holders(lock: u64) -> impl Iterator<Item = u16> {
    all().iter().filter(move |it| it.get().lock == lock).map(|it| it.get().task)
}

/// The lock that the task took last of those that satisfy `which`.
pub(crate) fn of(task: u16, which: impl Fn(u64) -> bool) -> Option<u64> {
    all().iter().rev().map(Cell::get).find(|it| it.task == task && which(it.lock)).map(|it| it.lock)
}
