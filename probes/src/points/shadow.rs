//! Who touched which memory: for each eight bytes the last accesses, found by the page they lie in.
//!
//! A cell remembers up to four accesses, each by its epoch: a task, and its clock. What the running task did
//! since it was last switched to, or last released anything, need not be looked at twice: that *stretch* has
//! a clock of its own, so an access that it has made before is known by one comparison. Clocks never go
//! back while the process lives, and so nothing is cleared between executions: what is older than the first
//! clock of this one is past.

use super::clocks::Clocks;
use super::order;
use super::table::Table;
use crate::raw;
use std::cell::{Cell, UnsafeCell};
use std::ops::Range;
use std::ptr::NonNull;

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

    /// Those that need not be remembered where this one is and came after: they touch no bytes but these, do not
    /// write where it only reads, and are atomic if it is.
    #[inline]
    const fn covered(&self) -> Covered {
        let beside = (!self.mask as u64) << Head::MASK;
        let reads = Head(0).writing(self.kind & WRITE == 0).0;
        let atomic = ((self.kind & ATOMIC) as u64) << Head::KIND;
        Covered { bits: beside | reads | atomic, are: atomic }
    }
}

/// Accesses by some bits of their heads.
#[derive(Clone, Copy)]
struct Covered {
    bits: u64,
    are: u64,
}

impl Covered {
    #[inline]
    const fn has(self, head: Head) -> bool {
        head.0 & self.bits == self.are
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

    /// One such access, from a place in the code.
    #[inline]
    pub(super) const fn slot(self, mask: u8, writes: bool, site: u64) -> Slot {
        let kind = self.writing(writes).kind();
        Slot { clock: self.clock(), task: self.task(), mask, kind, site }
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

    /// Whether a plain access to these bytes, a write if `writes`, makes it needless where it came before: it
    /// touches no others, and does not write where that one only reads.
    #[inline]
    const fn is_within(self, mask: u8, writes: bool) -> bool {
        self.0 & ((!mask as u64) << Head::MASK | Head(0).writing(!writes).0) == 0
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

/// Which bytes of the word that begins at `word` lie between these addresses.
#[inline]
pub(super) fn bytes_within(word: u64, address: u64, end: u64) -> u8 {
    let (low, high) = (address.max(word) - word, end.min(word + 8) - word);
    (((1u32 << high) - 1) & !((1u32 << low) - 1)) as u8
}

/// What is known of eight bytes: one line of the processor's cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Word {
    /// What was done last, in places that [`place_of`] prefers; and from where, in two parts.
    heads: [Head; SLOTS],
    sites_low: [u32; SLOTS],
    sites_high: [u16; SLOTS],
    /// Where the last access stands, if all others that are remembered come before it; [`NOWHERE`] if not.
    last: u8,
    /// Whether accesses from certain sites are scheduling points.
    pub(super) hot: bool,
    /// Which of the bytes an atomic read-modify-write touched, in code of which no more is known; and when.
    synchronises: u8,
    /// Whether tasks synchronise by something that begins in here.
    pub(super) orders: bool,
    synchronised: u32,
}

/// [`Word::last`]: some of what is remembered is unordered.
const NOWHERE: u8 = SLOTS as u8;

/// Where an access to these bytes is remembered, if it may be: halves of a word, which are variables of
/// their own more often than not, have places of their own, and reads beside writes.
#[inline]
const fn place_of(mask: u8, writes: bool) -> usize {
    let half = if mask & 0x0f == 0 { 2 } else { 0 };
    if writes { half } else { half + 1 }
}

/// Who is about to touch memory, as far as comparing needs it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Viewer {
    /// What came before: a row of clocks, one for each task that has any.
    known: NonNull<u32>,
    /// The first clock of this execution: what is older is past.
    first: u32,
}

impl Viewer {
    /// # Safety
    /// There is a clock for each task that has one, for as long as the viewer is used.
    pub(super) const unsafe fn new(known: NonNull<u32>, first: u32) -> Viewer {
        Viewer { known, first }
    }

    /// Whether it is of an earlier execution.
    #[inline]
    const fn is_past(self, head: Head) -> bool {
        head.clock() < self.first
    }

    /// Whether it came before.
    #[inline]
    pub(super) fn knows(self, head: Head) -> bool {
        // SAFETY: only accesses of tasks that have a clock are remembered.
        self.is_past(head)
            || unsafe { *self.known.add(usize::from(head.task())).as_ptr() } >= head.clock()
    }
}

/// How an access stands to those that a word remembers: a bit for each place.
#[derive(Debug, Clone, Copy, Default)]
struct Standing {
    /// Those that are not ordered, touch the same bytes, and of which one of the two writes.
    conflicts: u8,
    /// Those that need not be remembered any more.
    free: u8,
    /// Those that are not ordered, of whatever kind.
    apart: u8,
}

impl Word {
    /// Whether the stretch that `now` is of did to these bytes what an access is about to do.
    #[inline]
    pub(super) fn is_seen(&self, now: Head, mask: u8, writes: bool) -> bool {
        let wanted = now.to(mask).writing(writes);
        self.heads[place_of(mask, true)].tells(wanted, writes)
            || !writes && self.heads[place_of(mask, false)].tells(wanted, false)
    }

    /// Whether all that is remembered comes before what the viewer does: the last access does, and that came
    /// after all others.
    #[inline]
    fn is_passed(&self, viewer: Viewer) -> bool {
        self.last != NOWHERE && viewer.knows(self.heads[usize::from(self.last) % SLOTS])
    }

    /// Remembers a plain access in the common case: all others come before it, and what stands in its place says
    /// no more than it does. The site that stood there before; none, and nothing is done, where that is not so.
    ///
    /// What it does is what [`Word::keep_quietly`] would do.
    #[inline]
    pub(super) fn keep_next(
        &mut self,
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
        if self.heads[at].is_within(mask, writes) {
            let before = self.site(at);
            self.heads[at] = head;
            if before != site {
                self.set_site(at, site);
            }
            if writes {
                self.pass_read(at + 1, now.task(), mask);
            }
            self.last = at as u8;
            return Some(before);
        }
        // What goes on from byte to byte comes to the other half, too.
        let same = |at: &usize| self.heads[*at].bytes_apart(head) && self.site(*at) == site;
        let at = [at, at ^ 2].into_iter().find(same)?;
        self.heads[at] = Head(self.heads[at].0 | head.0);
        self.last = at as u8;
        Some(site)
    }

    /// A write stands for the reads of others that it came after.
    #[inline]
    fn pass_read(&mut self, at: usize, task: u16, mask: u8) {
        let read = self.heads[at];
        if read.task() != task && read.is_within(mask, true) {
            self.heads[at] = Head(0);
        }
    }

    /// Whether the task's access that stands where such a one would is of this execution.
    #[inline]
    pub(super) fn is_own(&self, now: Head, mask: u8, writes: bool, viewer: Viewer) -> bool {
        let head = self.heads[place_of(mask, writes)];
        head.task() == now.task() && !viewer.is_past(head)
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
        self.last = 0;
        self.synchronised = 0;
    }

    #[inline(always)]
    fn standing(&self, access: &Slot, viewer: Viewer) -> Standing {
        let mut standing = Standing::default();
        let covered = access.covered();
        if self.is_passed(viewer) {
            for (at, &head) in self.heads.iter().enumerate() {
                let free = viewer.is_past(head) | covered.has(head);
                standing.free |= u8::from(free) << at;
            }
            return standing;
        }
        for (at, &head) in self.heads.iter().enumerate() {
            let before = viewer.knows(head);
            let free = viewer.is_past(head) | before & covered.has(head);
            standing.free |= u8::from(free) << at;
            standing.conflicts |= u8::from(!before & access.meets(head)) << at;
            standing.apart |= u8::from(!before) << at;
        }
        standing
    }

    /// Remembers an access; the site that stood in its place before. What stands there is moved to where there is
    /// room, as what was done last is looked at first.
    #[inline(always)]
    fn keep(&mut self, access: &Slot, standing: Standing, viewer: Viewer) -> u64 {
        let head = Head::new(access.clock, access.task, access.kind);
        let writes = access.kind & WRITE != 0;
        let place = place_of(access.mask, writes);
        let Standing { free, mut apart, .. } = standing;
        let is_free = free & 1 << place != 0;
        if !is_free {
            // What one instruction does to byte after byte is one access.
            let same = |at: &usize| self.heads[*at].bytes_apart(head);
            let places = [place, place ^ 2, place ^ 1, place ^ 3];
            if let Some(at) =
                places.into_iter().filter(same).find(|&at| self.site(at) == access.site)
            {
                self.heads[at] = Head(self.heads[at].0 | head.to(access.mask).0);
                self.last = if apart == 0 { at as u8 } else { NOWHERE };
                return access.site;
            }
        }
        // What the task did itself may have been at another place in the code.
        let read = place | 1;
        if writes && free & 1 << read != 0 {
            self.pass_read(read, access.task, access.mask);
        }
        let before = self.site(place);
        if is_free {
            apart &= !(1 << place);
        } else {
            let room = match free {
                // Where all are needed one is forgotten: what the task did in another stretch, or else not
                // always the same, and the same on every run.
                0 if self.heads[place].task() == access.task => place,
                0 => (access.clock - viewer.first) as usize % SLOTS,
                free => free.trailing_zeros() as usize,
            };
            apart &= !(1 << room);
            if room != place {
                apart |= (apart >> place & 1) << room;
                apart &= !(1 << place);
                self.heads[room] = self.heads[place];
                self.set_site(room, before);
            }
        }
        self.heads[place] = head.to(access.mask);
        if before != access.site {
            self.set_site(place, access.site);
        }
        self.last = if apart == 0 { place as u8 } else { NOWHERE };
        before
    }

    /// Remembers an access if it conflicts with none before it: the site that stood in its place before; none,
    /// and nothing is done, if it does.
    #[inline]
    pub(super) fn keep_quietly(&mut self, access: &Slot, viewer: Viewer) -> Option<u64> {
        let standing = self.standing(access, viewer);
        (standing.conflicts == 0).then(|| self.keep(access, standing, viewer))
    }

    /// Remembers a plain access if it conflicts with none before it, the common case first: as
    /// [`Word::keep_quietly`].
    #[inline]
    pub(super) fn keep_plainly(
        &mut self,
        now: Head,
        mask: u8,
        writes: bool,
        site: u64,
        viewer: Viewer,
    ) -> Option<u64> {
        self.keep_next(now, mask, writes, site, viewer)
            .or_else(|| self.keep_quietly(&now.slot(mask, writes, site), viewer))
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

    /// Calls `each` with each word of a range, and its cell, on a page that is known.
    fn each(&self, address: u64, len: u64, each: impl Fn(u64, &mut Word)) {
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

    /// Whether it takes no longer to ask for each page than to go through those that are known: of large ranges
    /// few pages were ever touched.
    fn are_few(&self, pages: &Range<u64>) -> bool {
        pages.end.saturating_sub(pages.start) <= self.used.get() as u64
    }

    /// The pages that are known, in the order in which they came to be.
    fn known(&self) -> &[u64] {
        // SAFETY: so many were written, and none is again.
        unsafe { std::slice::from_raw_parts(self.order.get() as *const u64, self.used.get()) }
    }

    /// Where the first page begins that is known and has something of this range.
    pub(super) fn next_known(&self, address: u64, end: u64) -> Option<u64> {
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

    /// Forgets who touched `len` bytes from `address` on, and what was handed on there, as far as anybody did: they
    /// are new.
    pub(super) fn forget(&self, clocks: &Clocks, address: u64, len: u64) {
        self.each(address, len, |at, word| {
            if word.orders {
                word.orders = false;
                order::forget(clocks, at, 0xff);
            }
            word.clear();
        });
    }
}
