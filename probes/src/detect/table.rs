//! A map from addresses to numbers in the runtime's private memory, without allocation where a
//! fiber runs.

use crate::sys::raw;
use std::cell::Cell;

/// Open addressing with linear probing. Entries of an earlier generation are empty.
pub(crate) struct Table {
    base: Cell<u64>,
    bits: Cell<u32>,
    len: Cell<usize>,
    generation: Cell<u32>,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    key: u64,
    value: u64,
    generation: u64,
}

impl Table {
    pub(crate) const fn new() -> Table {
        Table {
            base: Cell::new(0),
            bits: Cell::new(0),
            len: Cell::new(0),
            generation: Cell::new(1),
        }
    }

    /// Maps a table of `1 << bits` entries, of which half can be used; false if there is no memory.
    pub(crate) fn map(&self, bits: u32) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = raw::map(0, size_of::<Entry>() << bits, prot, libc::MAP_NORESERVE);
        self.base.set(mapped.unwrap_or(0) as u64);
        self.bits.set(bits);
        mapped.is_some()
    }

    pub(crate) fn range(&self) -> (u64, u64) {
        (self.base.get(), self.base.get() + ((size_of::<Entry>() as u64) << self.bits.get()))
    }

    /// Whether there is no entry.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        self.len.set(0);
        self.generation.set(self.generation.get().wrapping_add(1));
    }

    fn entry(&self, at: u64) -> *mut Entry {
        let mask = (1u64 << self.bits.get()) - 1;
        (self.base.get() + (at & mask) * size_of::<Entry>() as u64) as *mut Entry
    }

    fn start(&self, key: u64) -> u64 {
        key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits.get())
    }

    /// The value of the key.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u64> {
        if self.len.get() == 0 {
            return None;
        }
        let mut at = self.start(key);
        loop {
            // SAFETY: `entry` wraps the index to the table's mapping, which is zeroed memory, a
            // valid `Entry`. At most half of the entries are in use, so the loop ends.
            let entry = unsafe { *self.entry(at) };
            if entry.generation != u64::from(self.generation.get()) {
                return None;
            }
            if entry.key == key {
                return Some(entry.value);
            }
            at += 1;
        }
    }

    /// Adds or changes an entry; false if the table is half full.
    pub(crate) fn insert(&self, key: u64, value: u64) -> bool {
        let generation = u64::from(self.generation.get());
        let mut at = self.start(key);
        loop {
            let entry = self.entry(at);
            // SAFETY: as in `get`; the entry is only accessed through this raw pointer, in one
            // kernel thread.
            unsafe {
                if (*entry).generation != generation {
                    if self.len.get() >= 1 << (self.bits.get() - 1) {
                        return false;
                    }
                    self.len.set(self.len.get() + 1);
                    entry.write(Entry { key, value, generation });
                    return true;
                }
                if (*entry).key == key {
                    (*entry).value = value;
                    return true;
                }
            }
            at += 1;
        }
    }
}
