//! Happens-before while an execution runs: vector clocks of tasks and of synchronisation objects.
//!
//! As in FastTrack (Flanagan and Freund, 2009), an access is stored as an epoch, one task and that
//! task's clock, and compared with the vector clock of the task that accesses the memory next.
//! Atomics follow C11: a releasing store publishes its task's clock, a read-modify-write continues
//! the release sequence that it reads from, a relaxed store ends it; fences apply to what relaxed
//! operations read before, or write after.
//!
//! A task's clock is the number of its current *stretch* (what it does between two switches or
//! releases), and no two stretches of a process have the same number. So the clock of an entry
//! alone shows whether it is of another execution, or of this very stretch.
//!
//! Rows are in the runtime's private memory and never freed: a row's first word is the number of
//! its valid entries, so nothing is cleared between executions.

use crate::detect::shadow::Viewer;
use crate::detect::table::Table;
use crate::memory::shared_views;
use crate::sys::raw;
use std::cell::Cell;
use std::ptr::NonNull;

/// The most tasks with a clock; accesses of further tasks are not monitored.
pub(crate) const TASKS: usize = 1023;
/// Words of a row.
const STRIDE: usize = TASKS + 1;
/// Three rows for each task, the rest for synchronisation objects.
const ROWS: usize = 1 << 16;
/// The row that all further objects share when there are no more rows.
const OVERFLOW: usize = ROWS - 1;
/// The most stretches of one execution. Clocks restart when the next execution might not have that
/// many left.
const STRETCHES: u32 = u32::MAX / 2;

/// The rows of a task.
#[derive(Clone, Copy)]
enum Of {
    /// The events that happen before the task's next access.
    Task = 0,
    /// The events that the task's relaxed loads have read from, for an acquiring fence.
    Seen = 1,
    /// The events that happen before the task's last releasing fence.
    Fenced = 2,
}

/// The vector clocks of a process.
pub(crate) struct Clocks {
    base: Cell<u64>,
    /// The next free row.
    next: Cell<usize>,
    /// The number of the latest stretch.
    stamp: Cell<u32>,
    /// The number of this execution's first stretch.
    first: Cell<u32>,
    /// The highest number of a stretch that was abandoned, because an earlier state was restored.
    highest: Cell<u32>,
    /// The number of tasks that had rows in some execution.
    tasks: Cell<usize>,
    /// By task: the number of the latest stretch when it was created.
    created: [Cell<u32>; TASKS],
    rows: Table,
    /// The address of an array: the object of each row.
    objects: Cell<u64>,
}

/// The clocks in the middle of an execution.
pub(crate) struct Saved {
    first: u32,
    stamp: u32,
    /// The rows of the tasks and then of the objects, each with its length before it.
    words: Vec<u32>,
    objects: Vec<u64>,
}

/// One vector clock.
#[derive(Clone, Copy)]
struct Row(*mut u32);

impl Row {
    fn len(self) -> usize {
        // SAFETY: a `Row` points to a row of the mapping, which is never unmapped and only accessed
        // through raw pointers, in one kernel thread.
        unsafe { *self.0 as usize }
    }

    fn clear(self) {
        // SAFETY: as above.
        unsafe { *self.0 = 0 }
    }

    /// Extends the row to `len` entries, with zeros.
    fn grow(self, len: usize) {
        for at in self.len()..len {
            // SAFETY: as above; a row has room for `TASKS` entries, and callers pass tasks below
            // that.
            unsafe { *self.0.add(1 + at) = 0 }
        }
        // SAFETY: as above.
        unsafe { *self.0 = (*self.0).max(len as u32) }
    }

    fn set(self, task: usize, clock: u32) {
        self.grow(task + 1);
        // SAFETY: `grow` made sure that the entry is in the row.
        unsafe { *self.0.add(1 + task) = clock }
    }

    fn join(self, other: Row) {
        self.grow(other.len());
        for at in 0..other.len() {
            // SAFETY: `grow` made sure that both rows have this entry.
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
    pub(crate) const fn new() -> Clocks {
        Clocks {
            base: Cell::new(0),
            next: Cell::new(0),
            stamp: Cell::new(0),
            first: Cell::new(0),
            highest: Cell::new(0),
            tasks: Cell::new(1),
            created: [const { Cell::new(0) }; TASKS],
            rows: Table::new(),
            objects: Cell::new(0),
        }
    }

    /// Maps the memory; false if there is none.
    pub(crate) fn map(&self) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = raw::map(0, Self::LEN, prot, libc::MAP_NORESERVE);
        self.base.set(mapped.unwrap_or(0) as u64);
        let objects = raw::map(0, Self::OBJECTS_LEN, prot, libc::MAP_NORESERVE);
        self.objects.set(objects.unwrap_or(0) as u64);
        mapped.is_some() && objects.is_some() && self.rows.map(16)
    }

    const LEN: usize = ROWS * STRIDE * 4;
    const OBJECTS_LEN: usize = ROWS * 8;

    /// The ranges of the memory.
    pub(crate) fn ranges(&self) -> [(u64, u64); 3] {
        let range = |start: u64, len: usize| (start, start + len as u64);
        let objects = range(self.objects.get(), Self::OBJECTS_LEN);
        [range(self.base.get(), Self::LEN), self.rows.range(), objects]
    }

    /// The object of a row.
    fn object(&self, row: usize) -> *mut u64 {
        (self.objects.get() as usize + row * 8) as *mut u64
    }

    /// The state in the middle of an execution with this many tasks; none if there is too much to copy.
    pub(crate) fn save(&self, tasks: usize) -> Option<Saved> {
        /// The most objects with rows.
        const MOST: usize = 512;
        let objects = TASKS * 3..self.next.get();
        if tasks > TASKS || objects.len() > MOST || self.row(OVERFLOW).len() > 0 {
            return None;
        }
        let mut words = Vec::new();
        for row in (0..tasks * 3).chain(objects.clone()) {
            let row = self.row(row);
            // SAFETY: a row has `len` entries behind its first word, and nothing writes to them
            // meanwhile.
            words.extend_from_slice(unsafe { std::slice::from_raw_parts(row.0, row.len() + 1) });
        }
        // SAFETY: `make` wrote the object of each of these rows, within the mapping.
        let objects = objects.map(|row| unsafe { *self.object(row) }).collect();
        Some(Saved { first: self.first.get(), stamp: self.stamp.get(), words, objects })
    }

    /// The execution that ended has the same numbers of stretches as one that will be resumed: clears
    /// the rows of all tasks, so that nothing of the former is known in the latter.
    pub(crate) fn abandon(&self) {
        for row in (0..self.tasks.get() * 3).map(|row| self.row(row)) {
            let len = row.len();
            row.clear();
            row.grow(len);
            row.clear();
        }
        self.highest.set(self.highest.get().max(self.stamp.get()));
    }

    /// Whether so few numbers of stretches are left that the clocks restart with the next execution.
    pub(crate) fn will_restart(&self) -> bool {
        self.stamp.get().max(self.highest.get()) > STRETCHES
    }

    /// Restores the state of an execution, after another was [abandoned](Clocks::abandon) and an
    /// execution [began](Clocks::begin).
    pub(crate) fn restore(&self, saved: &Saved, tasks: usize) {
        self.highest.set(self.highest.get().max(self.stamp.get()));
        self.first.set(saved.first);
        self.stamp.set(saved.stamp);
        let next = TASKS * 3 + saved.objects.len();
        self.next.set(next);
        let mut words = saved.words.as_slice();
        for row in (0..tasks * 3).chain(TASKS * 3..next) {
            let (own, rest) = words.split_at(words[0] as usize + 1);
            // SAFETY: a row has room for all entries of a saved row.
            unsafe { self.row(row).0.copy_from_nonoverlapping(own.as_ptr(), own.len()) };
            words = rest;
        }
        for (row, &object) in (TASKS * 3..).zip(&saved.objects) {
            // SAFETY: the row is below `ROWS`, as when it was saved.
            unsafe { self.object(row).write(object) };
            self.rows.insert(object, row as u64);
        }
    }

    fn row(&self, index: usize) -> Row {
        Row((self.base.get() as usize + index * STRIDE * 4) as *mut u32)
    }

    fn of(&self, task: usize, which: Of) -> Row {
        self.row(task * 3 + which as usize)
    }

    /// An execution begins, with main as its only task. Returns whether clocks restarted, so that
    /// entries of earlier executions are meaningless.
    pub(crate) fn begin(&self) -> bool {
        self.stamp.set(self.stamp.get().max(self.highest.get()));
        let anew = self.stamp.get() > STRETCHES;
        if anew {
            self.stamp.set(0);
            self.highest.set(0);
            for task in 0..TASKS {
                // A viewer also reads entries beyond a row's length ([`Clocks::viewer`]).
                //
                // SAFETY: a row has `STRIDE` words within the mapping.
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
    pub(crate) fn stamp(&self) -> u32 {
        self.stamp.get()
    }

    /// The number of this execution's first stretch.
    #[inline]
    pub(crate) fn first(&self) -> u32 {
        self.first.get()
    }

    /// Whether the execution had so many stretches that hardly any numbers are left.
    #[inline]
    pub(crate) fn are_used_up(&self) -> bool {
        self.stamp.get() - self.first.get() > STRETCHES - 8
    }

    fn fresh(&self, task: usize) {
        for which in [Of::Task, Of::Seen, Of::Fenced] {
            self.of(task, which).clear();
        }
    }

    /// `parent` creates `child`.
    pub(crate) fn create(&self, parent: usize, child: usize) {
        if parent >= TASKS || child >= TASKS {
            return;
        }
        self.tasks.set(self.tasks.get().max(child + 1));
        self.created[child].set(self.stamp.get());
        self.fresh(child);
        self.of(child, Of::Task).copy(self.of(parent, Of::Task));
        self.tick(child);
        self.tick(parent);
    }

    /// The number of the latest stretch when the task was created.
    pub(crate) fn created(&self, task: usize) -> u32 {
        self.created[task].get()
    }

    /// The latest stretch of the task.
    pub(crate) fn latest(&self, task: usize) -> u32 {
        let row = self.of(task, Of::Task);
        // SAFETY: as in `viewer`: the row has room for an entry of each task with a clock, which `create` and `tick`
        // set for its own task.
        unsafe { *row.0.add(1 + task) }
    }

    /// `task` joins `other`, which has ended.
    pub(crate) fn join(&self, task: usize, other: usize) {
        if task < TASKS && other < TASKS {
            self.of(task, Of::Task).join(self.of(other, Of::Task));
        }
    }

    /// A stretch of the task begins: what it does from here on is later than what it has released.
    pub(crate) fn tick(&self, task: usize) {
        self.stamp.set(self.stamp.get() + 1);
        if task < TASKS {
            self.of(task, Of::Task).set(task, self.stamp.get());
        }
    }

    /// The clock of each task up to which its accesses happen before the next access of `task`.
    #[inline]
    pub(crate) fn viewer(&self, task: usize) -> Viewer {
        // Entries beyond the row's length are 0 or clocks of an earlier execution: a task's row is
        // reset once in each execution and only grows.
        //
        // SAFETY: the row is never unmapped and has room for every task with a clock; it is only
        // accessed through raw pointers.
        unsafe {
            let known = NonNull::new_unchecked(self.of(task, Of::Task).0.add(1));
            Viewer::new(known, self.first.get())
        }
    }

    fn find(&self, address: u64) -> Option<Row> {
        self.rows.get(shared_views::canonical(address)).map(|index| self.row(index as usize))
    }

    fn make(&self, address: u64) -> Row {
        if let Some(row) = self.find(address) {
            return row;
        }
        let (next, object) = (self.next.get(), shared_views::canonical(address));
        if next >= OVERFLOW || !self.rows.insert(object, next as u64) {
            return self.row(OVERFLOW);
        }
        // SAFETY: the row is below `ROWS`, for each of which the mapping has a word.
        unsafe { self.object(next).write(object) };
        self.next.set(next + 1);
        let row = self.row(next);
        row.clear();
        row
    }

    /// Discards what was released at `address`.
    pub(crate) fn forget(&self, address: u64) {
        if let Some(row) = self.find(address) {
            row.clear();
        }
    }

    /// `task` acquires what was released at `address`.
    pub(crate) fn acquire(&self, task: usize, address: u64) {
        if task < TASKS {
            if let Some(row) = self.find(address) {
                self.of(task, Of::Task).join(row);
            }
            self.of(task, Of::Task).join(self.row(OVERFLOW));
        }
    }

    /// Like `acquire`, but by a relaxed operation: takes effect at an acquiring fence.
    pub(crate) fn acquire_relaxed(&self, task: usize, address: u64) {
        if task < TASKS
            && let Some(row) = self.find(address)
        {
            self.of(task, Of::Seen).join(row);
        }
    }

    /// `task` releases what it did at `address`, in addition to what was released there before.
    pub(crate) fn release(&self, task: usize, address: u64) {
        if task < TASKS {
            self.make(address).join(self.of(task, Of::Task));
            self.tick(task);
        }
    }

    /// Like `release`, but replaces what was released there before.
    pub(crate) fn release_anew(&self, task: usize, address: u64) {
        if task < TASKS {
            self.make(address).copy(self.of(task, Of::Task));
            self.tick(task);
        }
    }

    /// A relaxed store, or (`continues`) a relaxed read-modify-write, which continues the release
    /// sequence: releases what happens before the task's last releasing fence.
    pub(crate) fn release_relaxed(&self, task: usize, address: u64, continues: bool) {
        if task >= TASKS {
            return;
        }
        let fenced = self.of(task, Of::Fenced);
        match self.find(address) {
            Some(row) if !continues => row.copy(fenced),
            Some(row) => row.join(fenced),
            None if fenced.len() > 0 => self.make(address).join(fenced),
            None => {}
        }
    }

    /// A fence.
    pub(crate) fn fence(&self, task: usize, acquires: bool, releases: bool) {
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
