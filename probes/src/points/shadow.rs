//! Who touched which memory: for each eight bytes the last accesses, found by the page they lie in.
//!
//! A cell remembers up to four accesses, each by its epoch. What the running task did since it was
//! last switched to, or last released anything, need not be looked at twice: a *stamp* stands for
//! that stretch, and an access that its stretch has made before ends after a few comparisons.

use super::table::Table;
use crate::raw;
use std::cell::{Cell, UnsafeCell};

/// Accesses of one cell that are remembered.
const SLOTS: usize = 4;
/// Cells of a page: 4 KB of the program's memory.
const CELLS: usize = 512;
/// The most pages. Beyond them (64 MB that threads touch) nothing is looked at.
const PAGES: usize = 1 << 14;
const PAGE_LEN: usize = CELLS * size_of::<Word>();
/// Pages found last.
const RECENT: usize = 256;

/// [`Slot::kind`]: it was used.
pub(super) const USED: u8 = 1;
/// [`Slot::kind`]: a write.
pub(super) const WRITE: u8 = 2;
/// [`Slot::kind`]: atomic.
pub(super) const ATOMIC: u8 = 4;
/// [`Slot::kind`]: it is known whether it is atomic.
pub(super) const PROVEN: u8 = 8;
/// [`Slot::kind`]: the program said that it may race.
pub(super) const MEANT: u8 = 16;

/// One access.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) clock: u32,
    pub(super) task: u16,
    /// Which of the eight bytes.
    pub(super) mask: u8,
    pub(super) kind: u8,
    pub(super) site: u64,
}

impl Slot {
    /// Whether what it says of later accesses makes what the other one says of them needless.
    #[inline]
    fn covers(&self, other: &Slot) -> bool {
        other.mask & !self.mask == 0
            && (other.kind & WRITE == 0 || self.kind & WRITE != 0)
            && (other.kind & ATOMIC != 0 || self.kind & ATOMIC == 0)
    }

    /// Whether both touch the same bytes, and one of them writes.
    #[inline]
    fn meets(&self, other: &Slot) -> bool {
        self.mask & other.mask != 0 && (self.kind | other.kind) & WRITE != 0
    }
}

/// What is known of eight bytes.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Word {
    /// The stretches that read and wrote it last, and which bytes.
    pub(super) read_stamp: u32,
    pub(super) write_stamp: u32,
    pub(super) read_mask: u8,
    pub(super) write_mask: u8,
    /// Whether accesses from certain sites are scheduling points.
    pub(super) hot: bool,
    /// Which of the bytes an atomic read-modify-write touched, in code of which no more is known.
    pub(super) synchronises: u8,
    /// The execution that the slots are of.
    generation: u32,
    pub(super) slots: [Slot; SLOTS],
}

impl Word {
    /// Forgets what was in another execution.
    #[inline]
    fn begin(&mut self, generation: u32) {
        if self.generation != generation {
            self.generation = generation;
            // Of this execution alone: what one process saw before, another may not have.
            self.synchronises = 0;
            self.slots = [Slot { clock: 0, task: 0, mask: 0, kind: 0, site: 0 }; SLOTS];
        }
    }

    /// Takes note that the stretch with this stamp touched these bytes.
    #[inline]
    pub(super) fn stamp(&mut self, stamp: u32, mask: u8, writes: bool) {
        let keep = |old: u32, bits: u8| if old == stamp { bits | mask } else { mask };
        if writes {
            self.write_mask = keep(self.write_stamp, self.write_mask);
            self.write_stamp = stamp;
        } else {
            self.read_mask = keep(self.read_stamp, self.read_mask);
            self.read_stamp = stamp;
        }
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Recent {
    page: u64,
    words: u64,
}

/// See the module.
pub(super) struct Shadow {
    recent: UnsafeCell<[Recent; RECENT]>,
    pages: Table,
    base: Cell<u64>,
    used: Cell<usize>,
    generation: Cell<u32>,
}

impl Shadow {
    pub(super) const fn new() -> Shadow {
        Shadow {
            recent: UnsafeCell::new([Recent { page: u64::MAX, words: 0 }; RECENT]),
            pages: Table::new(),
            base: Cell::new(0),
            used: Cell::new(0),
            generation: Cell::new(0),
        }
    }

    const LEN: usize = PAGES * PAGE_LEN;

    /// Maps the memory; false if there is none.
    pub(super) fn map(&self) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = raw::map(0, Self::LEN, prot, libc::MAP_NORESERVE);
        self.base.set(mapped.unwrap_or(0) as u64);
        mapped.is_some() && self.pages.map(16)
    }

    /// Where the memory lies.
    pub(super) fn ranges(&self) -> [(u64, u64); 2] {
        [(self.base.get(), self.base.get() + Self::LEN as u64), self.pages.range()]
    }

    /// An execution begins: nobody touched anything.
    pub(super) fn begin(&self) {
        self.generation.set(self.generation.get().wrapping_add(1));
    }

    /// Counts executions of this process.
    pub(super) fn generation(&self) -> u32 {
        self.generation.get()
    }

    /// The cell of an address; none where there is no more room.
    #[inline]
    #[allow(
        clippy::mut_from_ref,
        reason = "the memory is the table's own, and one cell is used at a time"
    )]
    pub(super) fn word(&self, address: u64) -> Option<&mut Word> {
        let page = address >> 12;
        // SAFETY: there is one kernel thread, and the list is not borrowed beyond this function.
        let recent = unsafe { (*self.recent.get())[page as usize % RECENT] };
        let words = if recent.page == page { recent.words } else { self.find(page)? };
        // SAFETY: a page has so many cells; nobody keeps one across a call of this for the same.
        Some(unsafe { &mut *(words as *mut Word).add((address >> 3) as usize % CELLS) })
    }

    #[cold]
    #[inline(never)]
    fn find(&self, page: u64) -> Option<u64> {
        let words = match self.pages.get(page) {
            Some(words) => words,
            None => {
                let used = self.used.get();
                let words = self.base.get() + (used * PAGE_LEN) as u64;
                if used >= PAGES || !self.pages.insert(page, words) {
                    return None;
                }
                self.used.set(used + 1);
                words
            }
        };
        // SAFETY: as in `word`.
        unsafe { (*self.recent.get())[page as usize % RECENT] = Recent { page, words } };
        Some(words)
    }

    /// Forgets who touched `len` bytes from `address` on, as far as anybody did: they are new.
    pub(super) fn forget(&self, address: u64, len: u64) {
        let end = address + len;
        let mut at = address & !7;
        while at < end {
            if self.pages.get(at >> 12).is_none() {
                at = (at | 4095) + 1;
                continue;
            }
            if let Some(word) = self.word(at) {
                word.generation = 0;
                (word.read_stamp, word.write_stamp) = (0, 0);
            }
            at += 8;
        }
    }

    /// Notes an access if it conflicts with none before it, as [`Shadow::note`] does; false, and nothing is
    /// noted, if it does.
    #[inline]
    pub(super) fn note_quiet(
        &self,
        word: &mut Word,
        access: Slot,
        ordered: impl Fn(&Slot) -> bool,
    ) -> bool {
        word.begin(self.generation.get());
        let mut place = None;
        for (at, slot) in word.slots.iter().enumerate() {
            if slot.kind == 0 {
                place = place.or(Some(at));
            } else if slot.task == access.task {
                place = if access.covers(slot) { Some(at) } else { place };
            } else if ordered(slot) {
                place = place.or(access.covers(slot).then_some(at));
            } else if access.meets(slot) {
                return false;
            }
        }
        word.slots[place.unwrap_or(access.clock as usize % SLOTS)] = access;
        true
    }

    /// Notes an access, after `conflict` was called for each earlier one that it overlaps with and of
    /// which at least one of the two writes. `ordered` says whether one came before.
    pub(super) fn note(
        &self,
        word: &mut Word,
        access: Slot,
        ordered: impl Fn(&Slot) -> bool,
        mut conflict: impl FnMut(&Slot),
    ) {
        word.begin(self.generation.get());
        let mut place = None;
        for (at, slot) in word.slots.iter().enumerate() {
            if slot.kind == 0 {
                place = place.or(Some(at));
                continue;
            }
            let covered = access.covers(slot);
            if slot.task == access.task {
                if covered {
                    place = Some(at);
                }
                continue;
            }
            let before = ordered(slot);
            if access.meets(slot) && !before {
                conflict(slot);
            }
            if before && covered && place.is_none() {
                place = Some(at);
            }
        }
        // Where all are needed one is forgotten: not always the same, and the same on every run.
        let place = place.unwrap_or(access.clock as usize % SLOTS);
        word.slots[place] = access;
    }
}
