//! Which task holds which lock, for locks whose own bytes do not record it: readers of read-write
//! locks, spin locks, and robust mutexes (which are searched when their owner ends).
//!
//! It is a small table in the runtime's memory, as programs hold few locks at a time. Once it has
//! overflowed, nothing is reported about any lock for the rest of the execution.
//!
//! A lock in memory that is mapped twice is one lock, by whichever address a task uses it ([`key`]).

use crate::state::upcalls;
use std::cell::Cell;

const ROOM: usize = 512;

/// A lock that a task holds, and how many times.
#[derive(Debug, Clone, Copy)]
struct Holding {
    lock: u64,
    key: u64,
    task: u16,
    count: u32,
}

struct Table {
    held: [Cell<Holding>; ROOM],
    len: Cell<usize>,
    overflowed: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references to their contents, and the
// controlled process has one kernel thread.
unsafe impl Sync for Table {}
static TABLE: Table = Table {
    held: [const { Cell::new(Holding { lock: 0, key: 0, task: 0, count: 0 }) }; ROOM],
    len: Cell::new(0),
    overflowed: Cell::new(false),
};

/// The same number for all addresses of a lock.
pub(crate) fn key(lock: u64) -> u64 {
    upcalls::get().canonical(lock)
}

fn all() -> &'static [Cell<Holding>] {
    &TABLE.held[..TABLE.len.get()]
}

/// An execution begins: no task holds a lock.
pub(crate) fn clear() {
    TABLE.len.set(0);
    TABLE.overflowed.set(false);
}

/// The locks that are held in the middle of an execution; none if the table does not contain all.
pub(crate) struct Saved(Vec<Holding>);

/// What is held now.
pub(crate) fn save() -> Option<Saved> {
    is_whole().then(|| Saved(all().iter().map(Cell::get).collect()))
}

/// An execution continues where [`save`] returned `saved`.
pub(crate) fn restore(saved: &Saved) {
    TABLE.held.iter().zip(&saved.0).for_each(|(held, &was)| held.set(was));
    TABLE.len.set(saved.0.len());
    TABLE.overflowed.set(false);
}

/// Whether no task holds such a lock.
pub(crate) fn is_clear() -> bool {
    TABLE.len.get() == 0 && is_whole()
}

/// Whether the table contains every lock that is held.
pub(crate) fn is_whole() -> bool {
    !TABLE.overflowed.get()
}

/// The task acquired the lock (once more).
pub(crate) fn add(lock: u64, task: u16) {
    let key = key(lock);
    if let Some(cell) = all().iter().find(|it| (it.get().key, it.get().task) == (key, task)) {
        cell.set(Holding { count: cell.get().count + 1, ..cell.get() });
        return;
    }
    let len = TABLE.len.get();
    match TABLE.held.get(len) {
        Some(cell) => {
            cell.set(Holding { lock, key, task, count: 1 });
            TABLE.len.set(len + 1);
        }
        None => TABLE.overflowed.set(true),
    }
}

/// The task released the lock (once); false if it did not hold it.
pub(crate) fn remove(lock: u64, task: u16) -> bool {
    let key = key(lock);
    let Some(at) = all().iter().position(|it| (it.get().key, it.get().task) == (key, task)) else {
        return false;
    };
    let held = all()[at].get();
    if held.count > 1 {
        all()[at].set(Holding { count: held.count - 1, ..held });
    } else {
        // The order of acquisition is preserved.
        for at in at..TABLE.len.get() - 1 {
            TABLE.held[at].set(TABLE.held[at + 1].get());
        }
        TABLE.len.set(TABLE.len.get() - 1);
    }
    true
}

/// The tasks that hold the lock, the longest holder first.
pub(crate) fn holders(lock: u64) -> impl Iterator<Item = u16> {
    let key = key(lock);
    all().iter().filter(move |it| it.get().key == key).map(|it| it.get().task)
}

/// The lock that the task acquired last, of those that satisfy `which`.
pub(crate) fn of(task: u16, which: impl Fn(u64) -> bool) -> Option<u64> {
    all().iter().rev().map(Cell::get).find(|it| it.task == task && which(it.lock)).map(|it| it.lock)
}
