//! Happens-before while an execution runs: vector clocks of tasks and of what they synchronise by.
//!
//! As in FastTrack (Flanagan and Freund, 2009), an access is remembered by an epoch, one task and
//! that task's clock, and compared with the clock of whoever comes next. Atomics follow C11: a store
//! that releases hands its task's clock on, a read-modify-write goes on with the release sequence
//! that it finds, a relaxed store ends it; fences keep what relaxed operations saw or may show.
//!
//! A task's clock is the number of the *stretch* that it is in, and no two stretches of a process have the
//! same: what is remembered by its clock is known to be of another execution, or of this very stretch, by the
//! clock alone.
//!
//! Rows lie in private memory of the runtime's own and are never given back: a row's first word
//! says how many entries count, so that nothing need be cleared between executions.

use super::shadow::Viewer;
use super::table::Table;
use crate::raw;
use std::cell::Cell;
use std::ptr::NonNull;

/// The most tasks with a clock; what others do is not looked at.
pub(super) const TASKS: usize = 1023;
/// Words of a row.
const STRIDE: usize = TASKS + 1;
/// Three rows for each task, the rest for what tasks synchronise by.
const ROWS: usize = 1 << 16;
/// What is acquired and released where there are no more rows: everything.
const OVERFLOW: usize = ROWS - 1;
/// The most stretches of one execution. Clocks begin anew where the next might have too few left.
const STRETCHES: u32 = u32::MAX / 2;

/// The rows of a task.
#[derive(Clone, Copy)]
enum Of {
    /// What came before its next access.
    Task = 0,
    /// What its relaxed loads saw, for an acquiring fence.
    Seen = 1,
    /// What came before its last releasing fence.
    Fenced = 2,
}

/// See the module.
pub(super) struct Clocks {
    base: Cell<u64>,
    /// The next free row.
    next: Cell<usize>,
    /// The number of the latest stretch, and of this execution's first.
    stamp: Cell<u32>,
    first: Cell<u32>,
    rows: Table,
}

/// One vector clock.
#[derive(Clone, Copy)]
struct Row(*mut u32);

impl Row {
    fn len(self) -> usize {
        // SAFETY: a row is mapped for ever.
        unsafe { *self.0 as usize }
    }

    fn clear(self) {
        // SAFETY: as above.
        unsafe { *self.0 = 0 }
    }

    /// Makes room for the entry, with zeros before it.
    fn grow(self, len: usize) {
        for at in self.len()..len {
            // SAFETY: at most `TASKS` entries.
            unsafe { *self.0.add(1 + at) = 0 }
        }
        // SAFETY: as above.
        unsafe { *self.0 = (*self.0).max(len as u32) }
    }

    fn set(self, task: usize, clock: u32) {
        self.grow(task + 1);
        // SAFETY: there is room.
        unsafe { *self.0.add(1 + task) = clock }
    }

    fn join(self, other: Row) {
        self.grow(other.len());
        for at in 0..other.len() {
            // SAFETY: both have so many entries.
            unsafe {
                let mine = self.0.add(1 + at);
                *mine = (*mine).max(*other.0.add(1 + at));
            }
        }
    }

    fn copy(self, other: Row) {
        self.clear();
        self.join(other);
    }
}

impl Clocks {
    pub(super) const fn new() -> Clocks {
        Clocks {
            base: Cell::new(0),
            next: Cell::new(0),
            stamp: Cell::new(0),
            first: Cell::new(0),
            rows: Table::new(),
        }
    }

    /// Maps the memory; false if there is none.
    pub(super) fn map(&self) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = raw::map(0, Self::LEN, prot, libc::MAP_NORESERVE);
        self.base.set(mapped.unwrap_or(0) as u64);
        mapped.is_some() && self.rows.map(16)
    }

    const LEN: usize = ROWS * STRIDE * 4;

    /// Where the memory lies.
    pub(super) fn ranges(&self) -> [(u64, u64); 2] {
        [(self.base.get(), self.base.get() + Self::LEN as u64), self.rows.range()]
    }

    fn row(&self, index: usize) -> Row {
        Row((self.base.get() as usize + index * STRIDE * 4) as *mut u32)
    }

    fn of(&self, task: usize, which: Of) -> Row {
        self.row(task * 3 + which as usize)
    }

    /// An execution begins: main is alone. Whether clocks begin anew, so that those of earlier executions
    /// mean nothing.
    pub(super) fn begin(&self) -> bool {
        let anew = self.stamp.get() > STRETCHES;
        if anew {
            self.stamp.set(0);
            for task in 0..TASKS {
                // What lies beyond a row's length is looked at, too ([`Clocks::viewer`]).
                // SAFETY: a task's row has so many entries.
                unsafe { self.of(task, Of::Task).0.write_bytes(0, STRIDE) };
            }
        }
        self.first.set(self.stamp.get() + 1);
        self.rows.clear();
        self.next.set(TASKS * 3);
        self.row(OVERFLOW).clear();
        self.fresh(0);
        self.tick(0);
        anew
    }

    /// The number of the latest stretch.
    #[inline]
    pub(super) fn stamp(&self) -> u32 {
        self.stamp.get()
    }

    /// The number of this execution's first stretch.
    #[inline]
    pub(super) fn first(&self) -> u32 {
        self.first.get()
    }

    /// Whether the execution had so many stretches that there are hardly any more.
    #[inline]
    pub(super) fn are_used_up(&self) -> bool {
        self.stamp.get() - self.first.get() > STRETCHES - 8
    }

    fn fresh(&self, task: usize) {
        for which in [Of::Task, Of::Seen, Of::Fenced] {
            self.of(task, which).clear();
        }
    }

    /// `parent` makes `child`.
    pub(super) fn create(&self, parent: usize, child: usize) {
        if parent >= TASKS || child >= TASKS {
            return;
        }
        self.fresh(child);
        self.of(child, Of::Task).copy(self.of(parent, Of::Task));
        self.tick(child);
        self.tick(parent);
    }

    /// `task` learns all that `other` did, which has ended.
    pub(super) fn join(&self, task: usize, other: usize) {
        if task < TASKS && other < TASKS {
            self.of(task, Of::Task).join(self.of(other, Of::Task));
        }
    }

    /// A stretch of the task begins: what it does from here on is later than what others learned of it.
    pub(super) fn tick(&self, task: usize) {
        self.stamp.set(self.stamp.get() + 1);
        if task < TASKS {
            self.of(task, Of::Task).set(task, self.stamp.get());
        }
    }

    /// What came before what the task does now: of each task, up to which clock.
    #[inline]
    pub(super) fn viewer(&self, task: usize) -> Viewer {
        // What lies beyond the row's length is 0 or a clock of an earlier execution, as tasks' rows are made
        // once in each and only grow.
        // SAFETY: a row stays for ever, and has room for every task with a clock.
        unsafe {
            let known = NonNull::new_unchecked(self.of(task, Of::Task).0.add(1));
            Viewer::new(known, self.first.get())
        }
    }

    fn find(&self, address: u64) -> Option<Row> {
        self.rows.get(address).map(|index| self.row(index as usize))
    }

    fn make(&self, address: u64) -> Row {
        if let Some(row) = self.find(address) {
            return row;
        }
        let next = self.next.get();
        if next >= OVERFLOW || !self.rows.insert(address, next as u64) {
            return self.row(OVERFLOW);
        }
        self.next.set(next + 1);
        let row = self.row(next);
        row.clear();
        row
    }

    /// What was released at `address` counts no more.
    pub(super) fn forget(&self, address: u64) {
        if let Some(row) = self.find(address) {
            row.clear();
        }
    }

    /// `task` learns what was released at `address`.
    pub(super) fn acquire(&self, task: usize, address: u64) {
        if task < TASKS {
            if let Some(row) = self.find(address) {
                self.of(task, Of::Task).join(row);
            }
            self.of(task, Of::Task).join(self.row(OVERFLOW));
        }
    }

    /// The same by a relaxed operation: a fence may make it count.
    pub(super) fn acquire_relaxed(&self, task: usize, address: u64) {
        if task < TASKS
            && let Some(row) = self.find(address)
        {
            self.of(task, Of::Seen).join(row);
        }
    }

    /// `task` adds what it did to what is released at `address`.
    pub(super) fn release(&self, task: usize, address: u64) {
        if task < TASKS {
            self.make(address).join(self.of(task, Of::Task));
            self.tick(task);
        }
    }

    /// The same, and what was released there before counts no more.
    pub(super) fn release_anew(&self, task: usize, address: u64) {
        if task < TASKS {
            self.make(address).copy(self.of(task, Of::Task));
            self.tick(task);
        }
    }

    /// A relaxed store, or (`goes_on`) a relaxed read-modify-write: what a releasing fence came after.
    pub(super) fn release_relaxed(&self, task: usize, address: u64, goes_on: bool) {
        if task >= TASKS {
            return;
        }
        let fenced = self.of(task, Of::Fenced);
        match self.find(address) {
            Some(row) if !goes_on => row.copy(fenced),
            Some(row) => row.join(fenced),
            None if fenced.len() > 0 => self.make(address).join(fenced),
            None => {}
        }
    }

    /// A fence.
    pub(super) fn fence(&self, task: usize, acquires: bool, releases: bool) {
        if task >= TASKS {
            return;
        }
        if acquires {
            self.of(task, Of::Task).join(self.of(task, Of::Seen));
        }
        if releases {
            self.of(task, Of::Fenced).copy(self.of(task, Of::Task));
            self.tick(task);
        }
    }
}
