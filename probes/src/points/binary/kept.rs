//! Lists in private memory of the runtime's own, where neither a reset nor the shared heap reaches them.

use crate::raw;
use std::cell::Cell;
use std::marker::PhantomData;

/// A list with room for a number of entries, which takes no memory before they are there.
pub(super) struct Kept<T> {
    base: Cell<u64>,
    len: Cell<usize>,
    room: Cell<usize>,
    entries: PhantomData<T>,
}

impl<T: Copy> Kept<T> {
    pub(super) const fn new() -> Kept<T> {
        Kept { base: Cell::new(0), len: Cell::new(0), room: Cell::new(0), entries: PhantomData }
    }

    /// Makes room; false if there is no memory.
    pub(super) fn map(&self, room: usize) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let base = raw::map(0, (room * size_of::<T>()).max(1), prot, libc::MAP_NORESERVE);
        self.base.set(base.unwrap_or(0) as u64);
        self.room.set(room);
        base.is_some()
    }

    /// The same, and fills it.
    pub(super) fn keep(&self, entries: &[T]) -> bool {
        self.map(entries.len()) && entries.iter().all(|&entry| self.push(entry))
    }

    /// Where the memory lies.
    pub(super) fn range(&self) -> (u64, u64) {
        let base = self.base.get();
        (base, base + (self.room.get() * size_of::<T>()) as u64)
    }

    /// Adds an entry; false if there is no room.
    pub(super) fn push(&self, entry: T) -> bool {
        let len = self.len.get();
        if len >= self.room.get() {
            return false;
        }
        // SAFETY: there is room.
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
        // SAFETY: mapped for ever; nobody keeps a reference across a call that takes another.
        unsafe { std::slice::from_raw_parts_mut(self.base.get() as *mut T, self.len.get()) }
    }
}

impl Kept<u8> {
    /// Makes room for bytes, and fills it.
    pub(super) fn keep_bytes(&self, bytes: &[u8]) -> bool {
        if !self.map(bytes.len()) {
            return false;
        }
        self.len.set(bytes.len());
        self.all().copy_from_slice(bytes);
        true
    }
}
