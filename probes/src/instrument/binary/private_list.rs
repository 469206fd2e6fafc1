//! Lists in the runtime's private memory, which neither a reset nor the shared heap affects.

use crate::sys::raw;
use std::cell::Cell;
use std::marker::PhantomData;

/// A list with a fixed capacity, which commits memory only for entries that exist.
pub(super) struct PrivateList<T> {
    base: Cell<u64>,
    len: Cell<usize>,
    room: Cell<usize>,
    entries: PhantomData<T>,
}

impl<T: Copy> PrivateList<T> {
    pub(super) const fn new() -> PrivateList<T> {
        PrivateList {
            base: Cell::new(0),
            len: Cell::new(0),
            room: Cell::new(0),
            entries: PhantomData,
        }
    }

    /// Maps memory for `room` entries; false if there is none.
    pub(super) fn map(&self, room: usize) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let base = raw::map(0, (room * size_of::<T>()).max(1), prot, libc::MAP_NORESERVE);
        self.base.set(base.unwrap_or(0) as u64);
        self.room.set(room);
        base.is_some()
    }

    /// Maps memory for these entries and adds them.
    pub(super) fn keep(&self, entries: &[T]) -> bool {
        self.map(entries.len()) && entries.iter().all(|&entry| self.push(entry))
    }

    /// The range of the memory.
    pub(super) fn range(&self) -> (u64, u64) {
        let base = self.base.get();
        (base, base + (self.room.get() * size_of::<T>()) as u64)
    }

    /// Adds an entry; false if the list is full.
    pub(super) fn push(&self, entry: T) -> bool {
        let len = self.len.get();
        if len >= self.room.get() {
            return false;
        }
        // SAFETY: `len` is below the capacity of the mapping, which is aligned to a page.
        unsafe { (self.base.get() as *mut T).add(len).write(entry) };
        self.len.set(len + 1);
        true
    }

    pub(super) fn clear(&self) {
        self.len.set(0);
    }

    /// All entries.
    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "the memory is the list's own, and used by one kernel thread"
    )]
    pub(super) fn all(&self) -> &'static mut [T] {
        if self.len.get() == 0 {
            return &mut [];
        }
        // SAFETY: the mapping is never unmapped, and its first `len` entries are initialised. The
        // function can hand out several mutable slices of the same list. Callers use a slice only
        // while no other is modified: in `setting`, one is split among functions while others are
        // only read for their length. Rust's aliasing rules do not permit the overlap; in practice
        // the list is raw memory and there is one kernel thread.
        unsafe { std::slice::from_raw_parts_mut(self.base.get() as *mut T, self.len.get()) }
    }
}

impl PrivateList<u8> {
    /// Maps memory for these bytes and copies them.
    pub(super) fn keep_bytes(&self, bytes: &[u8]) -> bool {
        if !self.map(bytes.len()) {
            return false;
        }
        self.len.set(bytes.len());
        self.all().copy_from_slice(bytes);
        true
    }
}
