//! Who touched which memory: for each eight bytes the last accesses, found by the page they lie in.
//!
//! A cell remembers up to four accesses, each by its epoch: a task, and its clock. What the running task did
//! since it was last switched to, or last released anything, need not be looked at twice: that *stretch* has
//! a clock of its own, so an access that it has made before is known by one comparison. Clocks never go
//! back while the process lives, and so nothing is cleared between executions: what is older than the first
//! clock of this one is past.

use super::clocks::{Clocks, TASKS};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) clock: u32,
    pub(super) task: u16,
    /// Which of the eight bytes.
    pub(super) mask: u8,
    pub(super) kind: u8,
    /// Of the 64 bits of an address 48 are kept.
    pub(super) site: u64,
}

impl Slot {
    /// Whether both touch the same bytes, and one of them writes.
    #[inline]
    fn meets(&self, other: Head) -> bool {
        self.mask & other.mask() != 0 && (self.kind | other.kind()) & WRITE != 0
    }

    /// Whether what it says of later accesses makes what the other one says of them needless.
    #[inline]
    fn covers(&self, other: Head) -> bool {
        other.mask() & !self.mask == 0
            && (other.kind() & WRITE == 0 || self.kind & WRITE != 0)
            && (other.kind() & ATOMIC != 0 || self.kind & ATOMIC == 0)
    }
}

/// An access without its site in one number, so that it is compared and written at once: from the lowest bit
/// up its clock, which bytes, kind and task. That of an access that never was is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Head(u64);

impl Head {
    const MASK: u32 = 32;
    const KIND: u32 = 40;
    const TASK: u32 = 48;

    /// What a task does in the stretch with this clock, but for the bytes.
    #[inline]
    pub(super) const fn new(clock: u32, task: u16, kind: u8) -> Head {
        Head(clock as u64 | (kind as u64) << Head::KIND | (task as u64) << Head::TASK)
    }

    /// The same to these bytes.
    #[inline]
    const fn to(self, mask: u8) -> Head {
        Head(self.0 | (mask as u64) << Head::MASK)
    }

    /// The same as a write.
    #[inline]
    const fn writing(self, writes: bool) -> Head {
        Head(self.0 | if writes { (WRITE as u64) << Head::KIND } else { 0 })
    }

    #[inline]
    const fn clock(self) -> u32 {
        self.0 as u32
    }

    #[inline]
    const fn mask(self) -> u8 {
        (self.0 >> Head::MASK) as u8
    }

    #[inline]
    const fn kind(self) -> u8 {
        (self.0 >> Head::KIND) as u8
    }

    #[inline]
    const fn task(self) -> u16 {
        (self.0 >> Head::TASK) as u16
    }

    /// Whether both are of one stretch and sort, whichever bytes they touch.
    #[inline]
    const fn bytes_apart(self, other: Head) -> bool {
        (self.0 ^ other.0) & !(0xff << Head::MASK) == 0
    }

    /// Whether it tells all that an access of the same stretch and sort would tell: these bytes, written if
    /// that one writes.
    #[inline]
    const fn tells(self, wanted: Head, writes: bool) -> bool {
        let free = 0xff << Head::MASK | (WRITE as u64) << Head::KIND;
        let care = !free | wanted.0 & 0xff << Head::MASK | Head(0).writing(writes).0;
        (self.0 ^ wanted.0) & care == 0
    }
}

/// What is known of eight bytes: one line of the processor's cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Word {
    /// What was done last, in places that [`place_of`] prefers; and from where, in two parts.
    heads: [Head; SLOTS],
    sites_low: [u32; SLOTS],
    sites_high: [u16; SLOTS],
    /// Whose the accesses are that are remembered of this execution; [`NOBODY`] if they are not one task's.
    owner: u16,
    /// Whether accesses from certain sites are scheduling points.
    pub(super) hot: bool,
    /// Which of the bytes an atomic read-modify-write touched, in code of which no more is known; and when.
    synchronises: u8,
    synchronised: u32,
}

/// [`Word::owner`]: several tasks.
const NOBODY: u16 = u16::MAX;

/// Where an access to these bytes is remembered, if it may be: halves of a word, which are variables of
/// their own more often than not, have places of their own, and reads beside writes.
#[inline]
const fn place_of(mask: u8, writes: bool) -> usize {
    let half = if mask & 0x0f == 0 { 2 } else { 0 };
    if writes { half } else { half + 1 }
}

/// Who is about to touch memory, as far as comparing needs it.
#[derive(Clone, Copy)]
pub(super) struct Viewer<'a> {
    /// What came before, by task.
    pub(super) known: &'a [u32; TASKS],
    /// The first clock of this execution: what is older is past.
    pub(super) first: u32,
}

/// How an access stands to those that a word remembers: a bit for each place.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Those that are not ordered, touch the same bytes, and of which one of the two writes.
    conflicts: u8,
    /// Those that need not be remembered any more.
    free: u8,
    /// Those of others.
    others: u8,
}

impl Word {
    /// Whether the stretch that `now` is of did to these bytes what an access is about to do.
    #[inline]
    pub(super) fn is_seen(&self, now: Head, mask: u8, writes: bool) -> bool {
        let wanted = now.to(mask).writing(writes);
        self.heads[place_of(mask, true)].tells(wanted, writes)
            || !writes && self.heads[place_of(mask, false)].tells(wanted, false)
    }

    /// Remembers a plain access to memory that nobody else touched. The site that stood in its place before;
    /// none, and nothing is done, where that is not all.
    #[inline]
    pub(super) fn keep_own(&mut self, now: Head, mask: u8, writes: bool, site: u64) -> Option<u64> {
        let at = place_of(mask, writes);
        let head = now.to(mask).writing(writes);
        // What stands there is of the same task, or past; a plain access covers an atomic one.
        let beside = u64::from(!mask) << Head::MASK | Head(0).writing(!writes).0;
        if self.owner != now.task() {
            return None;
        }
        let before = self.site(at);
        if self.heads[at].0 & beside == 0 {
            self.heads[at] = head;
            if before != site {
                self.set_site(at, site);
            }
        } else if before == site && self.heads[at].bytes_apart(head) {
            self.heads[at] = Head(self.heads[at].0 | head.0);
        } else {
            return None;
        }
        Some(before)
    }

    /// Whether something of this execution, which began with the clock `first`, is remembered where such an access
    /// would be.
    #[inline]
    pub(super) fn is_live(&self, mask: u8, writes: bool, first: u32) -> bool {
        self.heads[place_of(mask, writes)].clock() >= first
    }

    #[inline]
    fn site(&self, at: usize) -> u64 {
        u64::from(self.sites_high[at]) << 32 | u64::from(self.sites_low[at])
    }

    #[inline]
    fn set_site(&mut self, at: usize, site: u64) {
        self.sites_low[at] = site as u32;
        self.sites_high[at] = (site >> 32) as u16;
    }

    /// Which bytes an atomic read-modify-write touched in this execution: of this one alone, since what one
    /// process saw before, another may not have.
    #[inline]
    pub(super) fn synchronises(&self, clocks: &Clocks) -> u8 {
        if self.synchronised >= clocks.first() { self.synchronises } else { 0 }
    }

    /// Notes that one touches these bytes.
    pub(super) fn synchronise(&mut self, mask: u8, clocks: &Clocks) {
        self.synchronises = self.synchronises(clocks) | mask;
        self.synchronised = clocks.stamp();
    }

    /// Nobody touched it.
    fn clear(&mut self) {
        self.heads = [Head(0); SLOTS];
        self.synchronised = 0;
    }

    #[inline]
    fn standing(&self, access: &Slot, viewer: Viewer) -> Standing {
        let mut standing = Standing::default();
        for (at, &head) in self.heads.iter().enumerate() {
            let bit = 1 << at;
            if head.clock() < viewer.first {
                standing.free |= bit;
                continue;
            }
            if head.task() != access.task {
                standing.others |= bit;
            }
            // What a task did itself it knows of.
            if viewer.known[usize::from(head.task())] >= head.clock() {
                standing.free |= if access.covers(head) { bit } else { 0 };
            } else if access.meets(head) {
                standing.conflicts |= bit;
            }
        }
        standing
    }

    /// Remembers an access; the site that stood in its place before.
    #[inline]
    fn keep(&mut self, access: &Slot, standing: Standing, viewer: Viewer) -> u64 {
        let head = Head::new(access.clock, access.task, access.kind);
        let mut place = place_of(access.mask, access.kind & WRITE != 0);
        if standing.free & 1 << place == 0 {
            // What one instruction does to byte after byte is one access.
            let same = |at: &usize| self.heads[*at].bytes_apart(head);
            if let Some(at) = (0..SLOTS).filter(same).find(|&at| self.site(at) == access.site) {
                self.heads[at] = Head(self.heads[at].0 | head.to(access.mask).0);
                return access.site;
            }
            place = match standing.free {
                // Where all are needed one is forgotten: what the task did in another stretch, or else not
                // always the same, and the same on every run.
                0 if self.heads[place].task() == access.task => place,
                0 => (access.clock - viewer.first) as usize % SLOTS,
                free => free.trailing_zeros() as usize,
            };
        }
        // Others' need not be compared with again; its own may have been at another place in the code.
        let over = standing.free & standing.others;
        if over != 0 {
            for at in (0..SLOTS).filter(|at| over & 1 << at != 0) {
                self.heads[at] = Head(0);
            }
        }
        let before = self.site(place);
        self.heads[place] = head.to(access.mask);
        self.set_site(place, access.site);
        let left = standing.others & !over & !(1 << place);
        self.owner = if left == 0 { access.task } else { NOBODY };
        before
    }

    /// Remembers an access if it conflicts with none before it: the site that stood in its place before; none,
    /// and nothing is done, if it does.
    #[inline]
    pub(super) fn keep_quietly(&mut self, access: &Slot, viewer: Viewer) -> Option<u64> {
        let standing = self.standing(access, viewer);
        (standing.conflicts == 0).then(|| self.keep(access, standing, viewer))
    }

    /// Remembers an access, after `conflict` was called for each earlier one that conflicts with it.
    pub(super) fn note(&mut self, access: &Slot, viewer: Viewer, mut conflict: impl FnMut(&Slot)) {
        let standing = self.standing(access, viewer);
        for at in (0..SLOTS).filter(|at| standing.conflicts & 1 << at != 0) {
            let head = self.heads[at];
            let (clock, task, mask, kind) = (head.clock(), head.task(), head.mask(), head.kind());
            conflict(&Slot { clock, task, mask, kind, site: self.site(at) });
        }
        self.keep(access, standing, viewer);
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
    /// The pages in the order in which they came in.
    order: Cell<u64>,
    recent: UnsafeCell<[Recent; RECENT]>,
    pages: Table,
    base: Cell<u64>,
    used: Cell<usize>,
    generation: Cell<u32>,
}

impl Shadow {
    pub(super) const fn new() -> Shadow {
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
    pub(super) fn map(&self) -> bool {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let mapped = raw::map(0, Self::LEN, prot, libc::MAP_NORESERVE);
        self.base.set(mapped.unwrap_or(0) as u64);
        let order = raw::map(0, Self::ORDER_LEN, prot, libc::MAP_NORESERVE);
        self.order.set(order.unwrap_or(0) as u64);
        mapped.is_some() && order.is_some() && self.pages.map(16)
    }

    /// Where the memory lies.
    pub(super) fn ranges(&self) -> [(u64, u64); 3] {
        let range = |start: u64, len: usize| (start, start + len as u64);
        let order = range(self.order.get(), Self::ORDER_LEN);
        [range(self.base.get(), Self::LEN), order, self.pages.range()]
    }

    /// An execution begins. With `anew`, clocks begin anew, too: nothing that is known counts any more.
    pub(super) fn begin(&self, anew: bool) {
        self.generation.set(self.generation.get().wrapping_add(1));
        if anew {
            for at in 0..self.used.get() * CELLS {
                // SAFETY: so many were handed out.
                unsafe { (*(self.base.get() as *mut Word).add(at)).clear() };
            }
        }
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

    /// The same; none, too, where its page was not among those found last.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "as in `word`")]
    pub(super) fn recent(&self, address: u64) -> Option<&mut Word> {
        let page = address >> 12;
        // SAFETY: as in `word`.
        unsafe {
            let recent = (*self.recent.get())[page as usize % RECENT];
            let word = (recent.words as *mut Word).add((address >> 3) as usize % CELLS);
            (recent.page == page).then(|| &mut *word)
        }
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
                // SAFETY: there is room for so many.
                unsafe { (self.order.get() as *mut u64).add(used).write(page) };
                self.used.set(used + 1);
                words
            }
        };
        // SAFETY: as in `word`.
        unsafe { (*self.recent.get())[page as usize % RECENT] = Recent { page, words } };
        Some(words)
    }

    /// Whether anybody touched anything near the address: its page is known.
    #[inline]
    pub(super) fn is_known(&self, address: u64) -> bool {
        let page = address >> 12;
        // SAFETY: as in `word`.
        let recent = unsafe { (*self.recent.get())[page as usize % RECENT].page };
        recent == page || self.pages.get(page).is_some()
    }

    /// Calls `each` with the cell of each word of a range on a page that is known.
    fn each(&self, address: u64, len: u64, each: impl Fn(&mut Word)) {
        let end = address.saturating_add(len);
        let within = |page: u64| {
            let first = address.max(page << 12) & !7;
            for at in (first..end.min((page + 1) << 12)).step_by(8) {
                if let Some(word) = self.word(at) {
                    each(word);
                }
            }
        };
        let pages = address >> 12..end.div_ceil(1 << 12);
        if pages.end - pages.start <= self.used.get() as u64 {
            pages.filter(|&page| self.pages.get(page).is_some()).for_each(within);
        } else {
            // Of large ranges few pages were ever touched.
            // SAFETY: so many were written.
            let known = unsafe {
                std::slice::from_raw_parts(self.order.get() as *const u64, self.used.get())
            };
            known.iter().copied().filter(|page| pages.contains(page)).for_each(within);
        }
    }

    /// Forgets who touched `len` bytes from `address` on, as far as anybody did: they are new.
    pub(super) fn forget(&self, address: u64, len: u64) {
        self.each(address, len, Word::clear);
    }
}
