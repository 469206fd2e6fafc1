//! Shadow memory: the last accesses to each eight bytes of memory, found by their page.
//!
//! A word remembers up to four accesses, each by its epoch: a task and its clock. A *stretch* is
//! what a task does between two switches or releases. Each stretch has its own clock, so one
//! comparison shows that the same stretch made an access before, which then needs no second check.
//! Clocks never decrease while the process lives, so nothing is cleared between executions: an
//! entry older than the first clock of the current execution is stale.

use crate::detect::clocks::Clocks;
use crate::detect::order;
use crate::detect::slot::{Head, Slot, WRITE};
use crate::detect::table::Table;
use crate::memory::arena;
use crate::memory::shared_views;
use crate::sys::raw;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr::NonNull;

/// How many accesses a word remembers.
const SLOTS: usize = 4;
/// Words of a page: 4 KB of the program's memory.
const CELLS: usize = 512;
/// The most pages. Beyond them (64 MB that threads touch) no access is monitored.
const PAGES: usize = 1 << 14;
const PAGE_LEN: usize = CELLS * size_of::<Word>();
/// Size of the cache of recently found pages.
const RECENT: usize = 256;

/// The last accesses to eight bytes: one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Word {
    /// The accesses, at indices that [`place_of`] prefers; and their sites, in two parts.
    heads: [Cell<Head>; SLOTS],
    sites_low: [Cell<u32>; SLOTS],
    sites_high: [Cell<u16>; SLOTS],
    /// The index of the last access, if all other entries happen before it; otherwise [`NOWHERE`].
    last: Cell<u8>,
    /// Whether accesses from certain sites are scheduling points.
    hot: Cell<u8>,
    /// Which of the bytes an atomic read-modify-write accessed, in code whose atomicity is not
    /// known otherwise; and when.
    synchronises: Cell<u8>,
    /// What else an access has to take into account: [`ORDERS`] and [`FREED`].
    marks: Cell<u8>,
    synchronised: Cell<u32>,
}

/// [`Word::marks`]: tasks synchronise by an object that begins in this word.
const ORDERS: u8 = 1;
/// [`Word::marks`]: the word may be in a freed block of the heap.
const FREED: u8 = 2;

/// [`Word::hot`]: they are, by the word's address.
const HOT: u8 = 1;
/// [`Word::hot`]: they are if the word's block is one with learned words.
const HOT_IN_BLOCK: u8 = 2;

/// [`Word::last`]: the entries are not all ordered before one.
const NOWHERE: u8 = SLOTS as u8;

/// The preferred index of an access to these bytes. The halves of a word, which are often separate
/// variables, have separate indices, and so have reads and writes.
#[inline]
const fn place_of(mask: u8, writes: bool) -> usize {
    let half = if mask & 0x0f == 0 { 2 } else { 0 };
    if writes { half } else { half + 1 }
}

/// The clocks of a task that is about to access memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Viewer {
    /// The task's vector clock, one entry for each task with a clock.
    known: NonNull<u32>,
    /// The first clock of this execution: entries with older ones are stale.
    first: u32,
}

impl Viewer {
    /// # Safety
    /// `known` points to a row with an entry for every task that has a clock, which stays mapped,
    /// and is not written through a reference, for as long as the viewer is used.
    pub(crate) const unsafe fn new(known: NonNull<u32>, first: u32) -> Viewer {
        Viewer { known, first }
    }

    /// Whether the access is of an earlier execution.
    #[inline]
    const fn is_past(self, head: Head) -> bool {
        head.clock() < self.first
    }

    /// Whether the access happens before what the viewer's task does now.
    #[inline]
    pub(crate) fn knows(self, head: Head) -> bool {
        // SAFETY: only accesses of tasks with a clock are stored, and `new` requires a row with an
        // entry for each of them.
        self.is_past(head)
            || unsafe { *self.known.add(usize::from(head.task())).as_ptr() } >= head.clock()
    }
}

/// The relation of an access to the remembered accesses of a word, one bit for each index.
#[derive(Debug, Clone, Copy, Default)]
struct Relations {
    /// Accesses that conflict with it: unordered, with a common byte, one of the two a write.
    conflicts: u8,
    /// Entries that are no longer needed.
    free: u8,
    /// Accesses of any kind that are unordered with it.
    apart: u8,
}

impl Word {
    /// Whether the stretch of `now` has made such an access to these bytes already.
    #[inline]
    pub(crate) fn is_seen(&self, now: Head, mask: u8, writes: bool) -> bool {
        let wanted = now.to(mask).writing(writes);
        let by_write = self.heads[place_of(mask, true)].get().covers(wanted, writes);
        by_write | (!writes & self.heads[place_of(mask, false)].get().covers(wanted, false))
    }

    /// Whether all recorded accesses happen before the current one. To compare the last of them is
    /// enough: all others happen before it.
    #[inline]
    fn is_passed(&self, viewer: Viewer) -> bool {
        let last = self.last.get();
        // Loaded in any case: one branch is faster than two.
        let head = self.heads[usize::from(last) % SLOTS].get();
        last != NOWHERE && viewer.knows(head)
    }

    /// Stores a plain access in the common case: all others happen before it, and it makes the
    /// entry at its index redundant. Returns that entry's site; none, without any change, in other
    /// cases.
    ///
    /// The effect is that of [`Word::store_if_no_conflict`].
    #[inline]
    pub(crate) fn store_if_ordered(
        &self,
        now: Head,
        mask: u8,
        writes: bool,
        site: u64,
        viewer: Viewer,
    ) -> Option<u64> {
        if !self.is_passed(viewer) {
            return None;
        }
        let at = place_of(mask, writes);
        let head = now.to(mask).writing(writes);
        if self.heads[at].get().is_within(mask, writes) {
            let before = self.site(at);
            self.heads[at].set(head);
            if before != site {
                self.set_site(at, site);
            }
            if writes {
                self.pass_read(at + 1, now.task(), mask);
            }
            self.last.set(at as u8);
            return Some(before);
        }
        // A sequence of accesses, byte after byte, also continues in the other half.
        let same = |at: &usize| self.heads[*at].get().bytes_apart(head) && self.site(*at) == site;
        let at = [at, at ^ 2].into_iter().find(same)?;
        self.heads[at].set(Head(self.heads[at].get().0 | head.0));
        self.last.set(at as u8);
        Some(site)
    }

    /// A write replaces the reads of other tasks that happen before it.
    #[inline]
    fn pass_read(&self, at: usize, task: u16, mask: u8) {
        let read = self.heads[at].get();
        if read.task() != task && read.is_within(mask, true) {
            self.heads[at].set(Head(0));
        }
    }

    /// Whether the entry at such an access's index is the task's own, of this execution.
    #[inline]
    pub(crate) fn is_own(&self, now: Head, mask: u8, writes: bool, viewer: Viewer) -> bool {
        let head = self.heads[place_of(mask, writes)].get();
        head.task() == now.task() && !viewer.is_past(head)
    }

    #[inline]
    fn site(&self, at: usize) -> u64 {
        u64::from(self.sites_high[at].get()) << 32 | u64::from(self.sites_low[at].get())
    }

    #[inline]
    fn set_site(&self, at: usize, site: u64) {
        self.sites_low[at].set(site as u32);
        self.sites_high[at].set((site >> 32) as u16);
    }

    /// Which bytes an atomic read-modify-write accessed in this execution. Earlier executions do
    /// not count, since another process may not have run them.
    #[inline]
    pub(crate) fn synchronises(&self, clocks: &Clocks) -> u8 {
        if self.synchronised.get() >= clocks.first() { self.synchronises.get() } else { 0 }
    }

    /// Notes an atomic read-modify-write of these bytes.
    pub(crate) fn synchronise(&self, mask: u8, clocks: &Clocks) {
        self.synchronises.set(self.synchronises(clocks) | mask);
        self.synchronised.set(clocks.stamp());
    }

    /// Whether accesses from certain sites may be scheduling points. If [`Word::is_hot`] does not hold, the
    /// heap has to confirm it ([`crate::detect::heap_words::is_hot`]).
    #[inline]
    pub(crate) fn may_be_hot(&self) -> bool {
        self.hot.get() != 0
    }

    /// Whether accesses from certain sites are scheduling points, whatever is at the word's address.
    #[inline]
    pub(crate) fn is_hot(&self) -> bool {
        self.hot.get() & HOT != 0
    }

    /// From now on, accesses from certain sites are scheduling points.
    pub(crate) fn set_hot(&self) {
        self.hot.set(self.hot.get() | HOT);
    }

    /// From now on, accesses from certain sites are scheduling points if the heap confirms it.
    pub(crate) fn mark_hot(&self) {
        self.hot.set(self.hot.get() | HOT_IN_BLOCK);
    }

    /// Whether any of the marks is set.
    #[inline]
    pub(crate) fn is_marked(&self) -> bool {
        self.marks.get() != 0
    }

    /// Whether tasks synchronise by an object that begins in this word.
    #[inline]
    pub(crate) fn orders(&self) -> bool {
        self.marks.get() & ORDERS != 0
    }

    /// From now on, tasks synchronise by an object that begins in this word.
    pub(crate) fn set_orders(&self) {
        self.marks.set(self.marks.get() | ORDERS);
    }

    /// Whether the word may be in a freed block of the heap. The mark outlives a reset of the memory,
    /// so that the heap has to confirm it.
    #[inline]
    pub(crate) fn may_be_freed(&self) -> bool {
        self.marks.get() & FREED != 0
    }

    /// Sets whether the word may be in a freed block of the heap.
    pub(crate) fn set_freed(&self, is: bool) {
        let marks = self.marks.get() & !FREED | if is { FREED } else { 0 };
        // A page that is not written does not have to be restored.
        if marks != self.marks.get() {
            self.marks.set(marks);
        }
    }

    /// Removes all entries.
    fn clear(&self) {
        // A page that is not written does not have to be restored.
        let is_clear = self.last.get() == 0 && self.synchronised.get() == 0;
        if is_clear && self.heads.iter().all(|head| head.get() == Head(0)) {
            return;
        }
        self.heads.iter().for_each(|head| head.set(Head(0)));
        self.last.set(0);
        self.synchronised.set(0);
    }

    #[inline(always)]
    fn relations(&self, access: &Slot, viewer: Viewer) -> Relations {
        let mut relations = Relations::default();
        let covered = access.covered();
        if self.is_passed(viewer) {
            for (at, head) in self.heads.iter().map(Cell::get).enumerate() {
                let free = viewer.is_past(head) | covered.has(head);
                relations.free |= u8::from(free) << at;
            }
            return relations;
        }
        for (at, head) in self.heads.iter().map(Cell::get).enumerate() {
            let before = viewer.knows(head);
            let free = viewer.is_past(head) | before & covered.has(head);
            relations.free |= u8::from(free) << at;
            relations.conflicts |= u8::from(!before & access.meets(head)) << at;
            relations.apart |= u8::from(!before) << at;
        }
        relations
    }

    /// Stores an access; returns the site of the entry that was at its index. That entry is moved
    /// to another index if one is free, because the last access is the most likely to be compared.
    #[inline(always)]
    fn keep(&self, access: &Slot, relations: Relations, viewer: Viewer) -> u64 {
        let head = Head::new(access.clock, access.task, access.kind);
        let writes = access.kind & WRITE != 0;
        let place = place_of(access.mask, writes);
        let Relations { free, mut apart, .. } = relations;
        let is_free = free & 1 << place != 0;
        if !is_free {
            // The accesses of one instruction to consecutive bytes count as one.
            let same = |at: &usize| self.heads[*at].get().bytes_apart(head);
            let places = [place, place ^ 2, place ^ 1, place ^ 3];
            if let Some(at) =
                places.into_iter().filter(same).find(|&at| self.site(at) == access.site)
            {
                self.heads[at].set(Head(self.heads[at].get().0 | head.to(access.mask).0));
                self.last.set(if apart == 0 { at as u8 } else { NOWHERE });
                return access.site;
            }
        }
        // The task's own earlier access may have been at another index.
        let read = place | 1;
        if writes && free & 1 << read != 0 {
            self.pass_read(read, access.task, access.mask);
        }
        let before = self.site(place);
        if is_free {
            apart &= !(1 << place);
        } else {
            let room = match free {
                // If no entry is redundant, one is dropped: the task's own of another stretch, or
                // else one that varies, but is the same in every run of this schedule.
                0 if self.heads[place].get().task() == access.task => place,
                0 => (access.clock - viewer.first) as usize % SLOTS,
                free => free.trailing_zeros() as usize,
            };
            apart &= !(1 << room);
            if room != place {
                apart |= (apart >> place & 1) << room;
                apart &= !(1 << place);
                self.heads[room].set(self.heads[place].get());
                self.set_site(room, before);
            }
        }
        self.heads[place].set(head.to(access.mask));
        if before != access.site {
            self.set_site(place, access.site);
        }
        self.last.set(if apart == 0 { place as u8 } else { NOWHERE });
        before
    }

    /// Stores an access unless it conflicts with an earlier one, in which case nothing changes and the
    /// result is none. Returns the site of the access whose slot it takes.
    #[inline]
    pub(crate) fn store_if_no_conflict(&self, access: &Slot, viewer: Viewer) -> Option<u64> {
        let relations = self.relations(access, viewer);
        (relations.conflicts == 0).then(|| self.keep(access, relations, viewer))
    }

    /// Stores a plain access if it conflicts with no earlier one, like
    /// [`Word::store_if_no_conflict`], but tries the common case first.
    #[inline]
    pub(crate) fn store_plain(
        &self,
        now: Head,
        mask: u8,
        writes: bool,
        site: u64,
        viewer: Viewer,
    ) -> Option<u64> {
        self.store_if_ordered(now, mask, writes, site, viewer)
            .or_else(|| self.store_if_no_conflict(&now.slot(mask, writes, site), viewer))
    }

    /// Whether another task has accessed these bytes since the task of this access was created, and one of
    /// the two writes. Unlike for a conflict, it does not matter whether they are ordered otherwise.
    pub(crate) fn is_shared(&self, access: &Slot, clocks: &Clocks) -> bool {
        let since = clocks.first().max(clocks.created(usize::from(access.task)) + 1);
        let meets =
            |head: Head| head.clock() >= since && head.task() != access.task && access.meets(head);
        self.heads.iter().map(Cell::get).any(meets)
    }

    /// Calls `conflict` for each earlier access that conflicts with this one, then stores it.
    pub(crate) fn note(&self, access: &Slot, viewer: Viewer, mut conflict: impl FnMut(&Slot)) {
        let relations = self.relations(access, viewer);
        for at in (0..SLOTS).filter(|at| relations.conflicts & 1 << at != 0) {
            let head = self.heads[at].get();
            let (clock, task, mask, kind) = (head.clock(), head.task(), head.mask(), head.kind());
            conflict(&Slot { clock, task, mask, kind, site: self.site(at) });
        }
        self.keep(access, relations, viewer);
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Recent {
    page: u64,
    words: u64,
}

/// The shadow memory of a process.
pub(crate) struct Shadow {
    /// The pages in the order in which they were first touched.
    order: Cell<u64>,
    recent: UnsafeCell<[Recent; RECENT]>,
    pages: Table,
    base: Cell<u64>,
    used: Cell<usize>,
    generation: Cell<u32>,
}

impl Shadow {
    pub(crate) const fn new() -> Shadow {
        Shadow {
            order: Cell::new(0),
            recent: UnsafeCell::new([Recent { page: u64::MAX, words: 0 }; RECENT]),
            pages: Table::new(),
            base: Cell::new(0),
            used: Cell::new(0),
            generation: Cell::new(0),
        }
    }

    const LEN: usize = PAGES * PAGE_LEN;
    const ORDER_LEN: usize = PAGES * size_of::<u64>();

    /// Maps the memory; false if there is none.
    pub(crate) fn map(&self) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = raw::map(0, Self::LEN, prot, libc::MAP_NORESERVE);
        self.base.set(mapped.unwrap_or(0) as u64);
        let order = raw::map(0, Self::ORDER_LEN, prot, libc::MAP_NORESERVE);
        self.order.set(order.unwrap_or(0) as u64);
        mapped.is_some() && order.is_some() && self.pages.map(16)
    }

    /// The ranges of the memory.
    pub(crate) fn ranges(&self) -> [(u64, u64); 3] {
        let range = |start: u64, len: usize| (start, start + len as u64);
        let order = range(self.order.get(), Self::ORDER_LEN);
        [range(self.base.get(), Self::LEN), order, self.pages.range()]
    }

    /// The range of the words.
    pub(crate) fn words(&self) -> (u64, u64) {
        (self.base.get(), self.base.get() + Self::LEN as u64)
    }

    /// Removes all entries of the words in a page of memory within [`Shadow::words`].
    pub(crate) fn clear(&self, page: u64) {
        for at in (page..page + 4096).step_by(size_of::<Word>()) {
            // SAFETY: the address is that of a word in the mapping.
            unsafe { (*(at as *const Word)).clear() };
        }
    }

    /// An execution begins. With `anew` the clocks restart, so all entries are removed.
    pub(crate) fn begin(&self, anew: bool) {
        self.generation.set(self.generation.get().wrapping_add(1));
        if anew {
            for at in 0..self.used.get() * CELLS {
                // SAFETY: `used` pages were handed out, each with `CELLS` words, within the
                // mapping.
                unsafe { (*(self.base.get() as *const Word).add(at)).clear() };
            }
        }
    }

    /// Memory was mapped or unmapped that has several addresses.
    pub(crate) fn views_changed(&self) {
        // SAFETY: as in `word`.
        unsafe { *self.recent.get() = [Recent { page: u64::MAX, words: 0 }; RECENT] };
    }

    /// The number of executions of this process.
    pub(crate) fn generation(&self) -> u32 {
        self.generation.get()
    }

    /// The word of an address; none if there is no more room.
    #[inline]
    pub(crate) fn word(&self, address: u64) -> Option<&Word> {
        let page = address >> 12;
        // SAFETY: the list is copied out in this expression and written only in `find`, so no
        // reference to it lives longer; the controlled process has one kernel thread.
        let recent = unsafe { (*self.recent.get())[page as usize % RECENT] };
        let words = if recent.page == page { recent.words } else { self.find(page)? };
        // SAFETY: a page has `CELLS` words, initialised to zeros by the mapping, which is a valid
        // `Word`. Its fields are cells, and one kernel thread accesses them.
        Some(unsafe { &*(words as *const Word).add((address >> 3) as usize % CELLS) })
    }

    /// Like `word`, but also none if the page is not in the cache of recent pages.
    #[inline]
    pub(crate) fn recent(&self, address: u64) -> Option<&Word> {
        let page = address >> 12;
        // SAFETY: as in `word`. The pointer is computed from an unused entry as well, but only
        // dereferenced if the page is the cached one.
        unsafe {
            let recent = (*self.recent.get())[page as usize % RECENT];
            let word = (recent.words as *const Word).add((address >> 3) as usize % CELLS);
            (recent.page == page).then(|| &*word)
        }
    }

    #[cold]
    #[inline(never)]
    fn find(&self, page: u64) -> Option<u64> {
        // Memory that is mapped at several addresses has one shadow.
        let key = shared_views::canonical(page << 12) >> 12;
        let words = match self.pages.get(key) {
            Some(words) => words,
            None => {
                let used = self.used.get();
                let words = self.base.get() + (used * PAGE_LEN) as u64;
                if used >= PAGES || !self.pages.insert(key, words) {
                    return None;
                }
                // SAFETY: the array has `PAGES` entries, and `used` is below that.
                unsafe { (self.order.get() as *mut u64).add(used).write(key) };
                self.used.set(used + 1);
                self.mark_freed(key, words);
                words
            }
        };
        // SAFETY: as in `word`.
        unsafe { (*self.recent.get())[page as usize % RECENT] = Recent { page, words } };
        Some(words)
    }

    /// Marks the words of a new page that are in freed blocks: no task touched the page before they
    /// were freed.
    fn mark_freed(&self, page: u64, words: u64) {
        let start = page << 12;
        arena::each_freed(start, start + 4096, |low, high| {
            for at in (low.max(start) & !7..high.min(start + 4096)).step_by(8) {
                // SAFETY: as in `word`.
                unsafe {
                    (*(words as *const Word).add((at >> 3) as usize % CELLS)).set_freed(true)
                };
            }
        });
    }

    /// The block of the heap in this range is being freed.
    pub(crate) fn freed(&self, address: u64, len: u64) {
        self.each(address, len, |_, word| word.set_freed(true));
    }

    /// Whether any task touched the address's page.
    #[inline]
    pub(crate) fn is_known(&self, address: u64) -> bool {
        let page = address >> 12;
        // SAFETY: as in `word`.
        let recent = unsafe { (*self.recent.get())[page as usize % RECENT].page };
        recent == page || self.pages.get(shared_views::canonical(address) >> 12).is_some()
    }

    /// Calls `each` with the address and the word of each eight bytes of a range, on pages that
    /// were touched.
    fn each(&self, address: u64, len: u64, each: impl Fn(u64, &Word)) {
        let end = address.saturating_add(len);
        let within = |page: u64| {
            let first = address.max(page << 12) & !7;
            for at in (first..end.min((page + 1) << 12)).step_by(8) {
                if let Some(word) = self.word(at) {
                    each(at, word);
                }
            }
        };
        let pages = address >> 12..end.div_ceil(1 << 12);
        if self.are_few(&pages) {
            pages.filter(|&page| self.pages.get(page).is_some()).for_each(within);
        } else {
            self.known().iter().copied().filter(|page| pages.contains(page)).for_each(within);
        }
    }

    /// Whether a lookup of each page is cheaper than a walk over all known pages: few pages of a
    /// large range were ever touched.
    fn are_few(&self, pages: &Range<u64>) -> bool {
        pages.end.saturating_sub(pages.start) <= self.used.get() as u64
    }

    /// The known pages, in the order in which they were first touched.
    fn known(&self) -> &[u64] {
        // SAFETY: `used` entries were written, and none is written again.
        unsafe { std::slice::from_raw_parts(self.order.get() as *const u64, self.used.get()) }
    }

    /// The start of the first known page that overlaps with this range.
    pub(crate) fn next_known(&self, address: u64, end: u64) -> Option<u64> {
        let mut pages = address >> 12..end.div_ceil(1 << 12);
        let first = if address >= end {
            None
        } else if self.are_few(&pages) {
            pages.find(|&page| self.pages.get(page).is_some())
        } else {
            self.known().iter().copied().filter(|page| pages.contains(page)).min()
        };
        first.map(|page| page << 12)
    }

    /// Removes all accesses and release information of `len` bytes from `address` on: the memory is
    /// new.
    pub(crate) fn forget(&self, clocks: &Clocks, address: u64, len: u64) {
        self.each(address, len, |at, word| {
            if word.orders() {
                order::forget(clocks, at, 0xff);
            }
            if word.marks.get() != 0 {
                word.marks.set(0);
            }
            word.clear();
        });
    }
}
