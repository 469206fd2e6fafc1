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

impl<T> PrivateList<T> {
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
        // SAFETY: `len` is below the capacity of the mapping, which is aligned to a page. No slice
        // contains this entry: one that did would have been made before the list was cleared.
        unsafe { (self.base.get() as *mut T).add(len).write(entry) };
        self.len.set(len + 1);
        true
    }

    /// The index of one of the entries.
    pub(super) fn index_of(&self, entry: &T) -> usize {
        (std::ptr::from_ref(entry) as u64 - self.base.get()) as usize / size_of::<T>()
    }

    /// Removes all entries.
    ///
    /// # Safety
    /// No slice from [`PrivateList::all`] is used afterwards: new entries overwrite the old ones.
    pub(super) unsafe fn clear(&self) {
        self.len.set(0);
    }

    /// All entries. What changes in an entry is in its cells.
    #[inline]
    pub(super) fn all(&self) -> &'static [T] {
        if self.len.get() == 0 {
            return &[];
        }
        // SAFETY: the mapping is never unmapped, and its first `len` entries are initialised. Nothing
        // writes to them while a slice is in use: `push` writes behind them, and `clear`
        // requires that there is none. The controlled process has one kernel thread.
        unsafe { std::slice::from_raw_parts(self.base.get() as *const T, self.len.get()) }
    }
}

impl PrivateList<u8> {
    /// Maps memory for these bytes and copies them.
    pub(super) fn keep_bytes(&self, bytes: &[u8]) -> bool {
        if !self.map(bytes.len()) {
            return false;
        }
        // SAFETY: the new mapping has room for the bytes, and nothing refers to it yet.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.get() as *mut u8, bytes.len());
        }
        self.len.set(bytes.len());
        true
    }
}
