//! Copies of all changed pages in the middle of an execution, to which memory is restored instead of the
//! snapshot.
//!
//! An image has the contents of the pages that are hot when it is made; what becomes hot later was then
//! as in the snapshot. It also has the part of the program's heap that is beyond the snapshot, and the
//! changed pages of one range of the runtime's own memory, which is watched like the program's.
//!
//! Images form a stack, in one mapping: they are dropped in the opposite order in which they were made.

use crate::memory::arena;
use crate::memory::snapshot::page_tracking::{Track, protect};
use crate::memory::snapshot::{Hot, PAGE, Region, SNAPSHOT, bits, bits_len, clear_heap, private};
use crate::state::stack::Stack;
use crate::state::world::world;
use std::cell::Cell;

/// The most bytes of all images together.
const ROOM: usize = 64 << 20;
/// The most bytes of one image: copying more would cost more than a fork.
const MOST: usize = 4 << 20;
/// The most hot pages of the runtime's own memory.
const MOST_OWN: usize = 512;

/// The range of the runtime's memory that is watched.
struct Own {
    range: Cell<(u64, u64)>,
    /// The address of one bit for each page, set if it was written.
    bits: Cell<u64>,
    hot: [Cell<u64>; MOST_OWN],
    len: Cell<usize>,
    /// Whether more pages were written than can be restored.
    overflowed: Cell<bool>,
}

struct Images {
    /// The address of the mapping; 0 if there is none.
    memory: Cell<u64>,
    used: Cell<usize>,
    own: Own,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Images {}
static IMAGES: Images = Images {
    memory: Cell::new(0),
    used: Cell::new(0),
    own: Own {
        range: Cell::new((0, 0)),
        bits: Cell::new(0),
        hot: [const { Cell::new(0) }; MOST_OWN],
        len: Cell::new(0),
        overflowed: Cell::new(false),
    },
};

/// A copy of what an execution had changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Image {
    start: usize,
    /// The number of hot pages, of the program and of the runtime.
    hot: usize,
    own: usize,
    heap_end: u64,
}

/// The memory of the images, and of the bits for watched pages.
pub(super) fn ranges() -> [(u64, u64); 2] {
    let own = &IMAGES.own;
    let (start, end) = own.range.get();
    let sized =
        |address: u64, len: u64| if address == 0 { (0, 0) } else { (address, address + len) };
    [sized(IMAGES.memory.get(), ROOM as u64), sized(own.bits.get(), bits_len(end - start))]
}

/// Starts to watch a range of the runtime's memory, unless that was done; false if it cannot be watched.
pub(crate) fn watch_own(start: u64, end: u64) -> bool {
    let own = &IMAGES.own;
    if own.bits.get() == 0 {
        let Ok(bits) = bits(start, end) else { return false };
        own.bits.set(bits);
        own.range.set((start, end));
        protect(start, end - start, false);
    }
    !own.overflowed.get()
}

/// Handles a write to a watched page of the runtime; false if it is none.
pub(super) fn own_fault(page: u64) -> bool {
    let own = &IMAGES.own;
    let (start, end) = own.range.get();
    if !(start..end).contains(&page) || own.overflowed.get() {
        return false;
    }
    let (index, len) = ((page - start) / PAGE, own.len.get());
    let Some(slot) = own.hot.get(len) else {
        own.overflowed.set(true);
        protect(start, end - start, true);
        return true;
    };
    // SAFETY: `watch_own` mapped a bit for each page of the range.
    unsafe {
        let word = (own.bits.get() as *mut u64).add((index / 64) as usize);
        if *word >> (index % 64) & 1 != 0 {
            return false;
        }
        *word |= 1 << (index % 64);
    }
    slot.set(page);
    own.len.set(len + 1);
    protect(page, PAGE, true);
    true
}

/// Where the part of the program's heap begins that is in no region of the snapshot.
fn heap_start() -> u64 {
    SNAPSHOT.arena_end.get().next_multiple_of(PAGE)
}

/// Copies what the running execution has changed; none if that is too much, or not known before the
/// execution ends. No task runs.
pub(crate) fn save() -> Option<Image> {
    let own = &IMAGES.own;
    let is_known = SNAPSHOT.taken.get() && matches!(SNAPSHOT.track.get(), Track::Faults);
    if !is_known || own.overflowed.get() {
        return None;
    }
    let (hot, own_len, heap_end) = (SNAPSHOT.pages_len.get(), own.len.get(), arena::used().1);
    let tail = heap_end.saturating_sub(heap_start()) as usize;
    let len = (hot + own_len) * PAGE as usize + tail;
    let start = IMAGES.used.get();
    let end = (start + len).next_multiple_of(PAGE as usize);
    if len > MOST || end > ROOM {
        return None;
    }
    if IMAGES.memory.get() == 0 {
        IMAGES.memory.set(private(ROOM).ok()?);
    }
    let image = Image { start, hot, own: own_len, heap_end };
    image.each_part(|page, copy, len| {
        // SAFETY: the parts are readable memory of the program and of the runtime, the copies are in
        // the mapping, and nothing else accesses either meanwhile.
        unsafe { std::ptr::copy_nonoverlapping(page as *const u8, copy as *mut u8, len) };
    });
    IMAGES.used.set(end);
    Some(image)
}

impl Image {
    /// Calls `part` with the address of each part in memory and in the image, and its length.
    fn each_part(&self, part: impl Fn(u64, u64, usize)) {
        let mut copy = IMAGES.memory.get() + self.start as u64;
        for index in 0..self.hot {
            // SAFETY: the index is below the array's length, which never falls while there are images.
            let hot = unsafe { *(SNAPSHOT.pages.get() as *const Hot).add(index) };
            part(hot.page, copy, PAGE as usize);
            copy += PAGE;
        }
        for hot in &IMAGES.own.hot[..self.own] {
            part(hot.get(), copy, PAGE as usize);
            copy += PAGE;
        }
        let tail = self.heap_end.saturating_sub(heap_start());
        part(heap_start(), copy, tail as usize);
    }

    /// Restores the memory. `clear_own` removes what executions wrote to a page of the runtime.
    pub(crate) fn restore(&self, clear_own: impl Fn(u64)) {
        clear_heap(self.heap_end.max(heap_start()), arena::used().1);
        arena::set_used(self.heap_end);
        self.each_part(|page, copy, len| {
            // SAFETY: hot pages are writable, and so is the program's heap; `save` filled in the
            // copies, and no task runs.
            unsafe { std::ptr::copy_nonoverlapping(copy as *const u8, page as *mut u8, len) };
        });
        for index in self.hot..SNAPSHOT.pages_len.get() {
            // SAFETY: the index is below the array's length.
            unsafe { *(SNAPSHOT.pages.get() as *const Hot).add(index) }.restore();
        }
        for hot in &IMAGES.own.hot[self.own..IMAGES.own.len.get()] {
            clear_own(hot.get());
        }
    }

    /// Drops this image, and those that were made later.
    pub(crate) fn drop(&self) {
        IMAGES.used.set(self.start);
    }
}

/// A hash of all memory of the program that differs from the snapshot, after
/// [`collect`](crate::memory::snapshot::collect), except the tasks' stacks: what calls left there depends
/// on what the runtime did.
pub(crate) fn digest() -> u64 {
    let world = world();
    let tasks = &world.tasks[..usize::from(world.created.get())];
    let main = SNAPSHOT.main.get();
    let is_main = |address: u64| {
        let regions = SNAPSHOT.regions.borrow();
        let holds = |region: &&Region, at: u64| (region.start..region.end).contains(&at);
        regions.iter().find(|region| holds(region, main)).is_some_and(|it| holds(&it, address))
    };
    let is_stack = |address: u64| {
        let within = |stack: Stack| (stack.low..stack.high).contains(&address);
        tasks.iter().any(|task| within(task.stack.get())) || world.spare_stacks.each().any(within)
    };
    let words = |address: u64, len: u64| {
        let words = std::ptr::slice_from_raw_parts(address as *const u64, len as usize / 8);
        // SAFETY: hot pages and the heap are readable, and no task runs.
        let words = (address..).step_by(8).zip(unsafe { &*words });
        words.filter(|(at, _)| !is_stack(*at)).fold(address, |hash, (_, &word)| {
            let x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x ^ (x >> 29)
        })
    };
    let tail = arena::used().1.saturating_sub(heap_start());
    let mut sum = words(heap_start(), tail);
    for index in 0..SNAPSHOT.pages_len.get() {
        // SAFETY: the index is below the array's length.
        let hot = unsafe { *(SNAPSHOT.pages.get() as *const Hot).add(index) };
        let is_own = |at: u64| is_stack(at) || is_main(at);
        if super::is_changed(hot) && !(is_own(hot.page) && is_own(hot.page + PAGE - 8)) {
            sum = sum.wrapping_add(words(hot.page, PAGE));
        }
    }
    sum
}
