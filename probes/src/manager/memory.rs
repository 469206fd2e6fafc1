//! Going back in memory: the pages that an execution changed are copied back.
//!
//! All of the program's writable private memory is a [`Region`], whose pages are watched until they
//! are written for the first time; from then on a page is *hot*, and is copied back after each
//! execution, whether that one changed it or not. So nothing is missed, and a small program costs a
//! handful of page copies. What belongs to the runtime itself is left out: it is found by its own
//! program headers and by the mappings that it made.
//!
//! Some pages change in the first executions only, or in one: what a page looks like is compared with
//! its copy now and then, ever more seldom, and a page that did not change is watched again.
//!
//! How pages are watched ([`track`]): by protection, which costs nothing while no new page is
//! written; by the kernel's own account, where so many pages would have to be hot that protection
//! is of no use; or not at all, and everything is compared each time.

mod map;
mod track;

use crate::raw;
use crate::world::world;
use std::cell::{Cell, RefCell};
use traces::wire::Tracking;
use track::{Track, protect};

const PAGE: u64 = 4096;
/// How deep main's stack may become before memory reset is given up.
const MAIN_DEPTH: u64 = 256 << 10;
/// With more pages to copy back a fork is cheaper.
const MOST_HOT: usize = 512;
/// The first execution after which pages may cool; then at each power of two.
const FIRST_COOLING: u64 = 64;

/// A range of the program's memory.
struct Region {
    start: u64,
    end: u64,
    /// Where its contents are kept; 0 where they are all zero.
    copy: u64,
    /// One bit for each page that was written since the snapshot: the address of the bits, which
    /// are private memory. (A child that runs an execution for comparison heats pages of its own;
    /// in the shared heap its bits would speak for this process, too.)
    hot: u64,
}

impl Region {
    /// Where a page's contents are kept.
    fn copy_of(&self, page: u64) -> u64 {
        if self.copy == 0 { 0 } else { self.copy + (page - self.start) }
    }
}

/// A page to copy back.
#[derive(Clone, Copy)]
struct Hot {
    page: u64,
    copy: u64,
}

struct Snapshot {
    regions: RefCell<Vec<Region>>,
    /// The hot pages: the address of an array in private memory, and its length.
    pages: Cell<u64>,
    pages_len: Cell<usize>,
    /// Where the program's heap ended.
    arena_end: Cell<u64>,
    taken: Cell<bool>,
    /// An address on main's stack.
    main: Cell<u64>,
    /// How often memory was put back.
    restored: Cell<u64>,
    /// How pages are watched.
    track: Cell<Track>,
    /// Whether pages stay hot for good, since system calls write to them.
    pinned: Cell<bool>,
}
// SAFETY: there is one kernel thread; the fault handler runs only while neither list is borrowed,
// since nothing here writes to the program's memory while it holds one but `restore`, to hot pages.
unsafe impl Sync for Snapshot {}
static SNAPSHOT: Snapshot = Snapshot {
    regions: RefCell::new(Vec::new()),
    pages: Cell::new(0),
    pages_len: Cell::new(0),
    arena_end: Cell::new(0),
    taken: Cell::new(false),
    main: Cell::new(0),
    restored: Cell::new(0),
    track: Cell::new(Track::Faults),
    pinned: Cell::new(false),
};

/// Private memory of the runtime's own, committed by use.
fn private(len: usize) -> Result<u64, String> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    raw::map(0, len.max(1), prot, libc::MAP_NORESERVE)
        .map(|at| at as u64)
        .ok_or_else(|| "no memory to go back in".to_owned())
}

/// The program's variables and mappings: its writable memory without its heap, the tasks' stacks and
/// what is the runtime's. `own` are ranges of the runtime's.
pub(super) fn of_program(own: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut own = own.to_vec();
    own.push(crate::arena::whole());
    let world = world();
    let stacks =
        world.tasks[..usize::from(world.created.get())].iter().map(|task| task.stack.get());
    // A stack that the program gave is memory of the program's.
    let stacks = stacks.enumerate().filter(|(task, stack)| *task == 0 || !stack.foreign);
    own.extend(stacks.map(|(_, stack)| (stack.low, stack.high)));
    own.extend(world.spare_stacks.all().iter().map(|stack| (stack.low, stack.high)));
    for region in SNAPSHOT.regions.borrow().iter() {
        let len = region.end - region.start;
        own.push((region.copy, region.copy + len));
        own.push((region.hot, region.hot + (len / PAGE).div_ceil(64) * 8));
    }
    let ranges = map::read().map(|text| map::writable(&text, &own)).unwrap_or_default();
    ranges.iter().map(|range| (range.start, range.end)).collect()
}

/// Keeps everything that the program can change, as it is now, and watches it. `own` are ranges of
/// the runtime's. An error says why this program is better forked.
pub(super) fn take(own: &[(u64, u64)], tracking: Tracking) -> Result<(), String> {
    // Main's stack is made as deep as most programs need, so that it is a part of the snapshot; the
    // lowest page of that part tells when it was not enough.
    let main = world().tasks[0].sp.get();
    SNAPSHOT.main.set(main);
    // SAFETY: within the limit of the stack, which the kernel extends.
    unsafe { ((main - MAIN_DEPTH) as *mut u8).write_volatile(0) };
    let arena = crate::arena::used();
    let arena_end = arena.1.next_multiple_of(PAGE);
    SNAPSHOT.arena_end.set(arena.1);
    let whole_arena = crate::arena::whole();
    let stacks = world().spare_stacks.all();
    let mut own = own.to_vec();
    own.push(whole_arena);
    for stack in &stacks {
        own.push((stack.low, stack.high));
    }
    let mut ranges = map::writable(&map::read()?, &own);
    ranges.push(map::Range { start: arena.0, end: arena_end, of_file: false });
    let mut kept = Vec::new();
    // As much as the heap may have is kept twice, and no more.
    let most = crate::manager::root().memory;
    let mut bytes = 0;
    for map::Range { start, end, of_file } in ranges {
        let copy = private((end - start) as usize)?;
        // Of gigabytes of zeros nothing is copied: a page that nobody touched is none yet.
        let mut keep = |page: u64| {
            bytes += PAGE;
            if bytes <= most {
                // SAFETY: both pages are mapped, and the range is readable.
                unsafe {
                    let to = (copy + (page - start)) as *mut u8;
                    std::ptr::copy_nonoverlapping(page as *const u8, to, PAGE as usize);
                }
            }
        };
        match of_file {
            true => (start..end).step_by(PAGE as usize).for_each(keep),
            false => map::touched(start, end, &mut keep),
        }
        kept.push(Region { start, end, copy, hot: bits(start, end)? });
    }
    if bytes > most {
        return Err(format!(
            "the program has {} MB when main begins, more than is kept twice",
            bytes >> 20
        ));
    }
    for stack in &stacks {
        let start = stack.low + stack.guard;
        kept.push(Region { start, end: stack.high, copy: 0, hot: bits(start, stack.high)? });
    }
    kept.sort_by_key(|region| region.start);
    let pages: u64 = kept.iter().map(|region| (region.end - region.start) / PAGE).sum();
    SNAPSHOT.pages.set(private(pages as usize * size_of::<Hot>())?);
    *SNAPSHOT.regions.borrow_mut() = kept;
    watch(tracking)?;
    SNAPSHOT.taken.set(true);
    Ok(())
}

/// A bit for each page.
fn bits(start: u64, end: u64) -> Result<u64, String> {
    private(((end - start) / PAGE).div_ceil(64) as usize * 8)
}

/// Begins to watch all regions.
fn watch(tracking: Tracking) -> Result<(), String> {
    let track = match tracking {
        Tracking::Faults => Track::Faults,
        Tracking::Scan => track::scan()?,
        Tracking::Compare => Track::Compare,
    };
    SNAPSHOT.track.set(track);
    for region in SNAPSHOT.regions.borrow().iter() {
        track.begin(region.start, region.end)?;
    }
    Ok(())
}

/// Finds the pages that the execution was the first to change, where writing them was not noticed.
pub(super) fn collect() {
    let track = SNAPSHOT.track.get();
    if matches!(track, Track::Faults) {
        return;
    }
    let regions = SNAPSHOT.regions.borrow();
    for region in regions.iter() {
        let mut found = |page: u64| {
            if heat(region, page) {
                note_depth(region, page);
            }
        };
        match track {
            Track::Compare => {
                // Where there is no copy everything was zero, and most still was never touched.
                let mut look = |page: u64| {
                    let copy = region.copy_of(page);
                    if is_changed(Hot { page, copy }) {
                        found(page);
                    }
                };
                match region.copy {
                    0 => map::touched(region.start, region.end, look),
                    _ => (region.start..region.end).step_by(PAGE as usize).for_each(&mut look),
                }
            }
            _ => track.written(region.start, region.end, &mut found),
        }
    }
}

/// A stack that became deeper than what is kept of it is the end of memory reset.
fn note_depth(region: &Region, page: u64) {
    if page == region.start && (region.start..region.end).contains(&SNAPSHOT.main.get()) {
        crate::syscalls::leave_trace();
    }
}

/// A write to a page of the snapshot: the page is hot from now on. False where it is none.
pub(crate) fn write_fault(address: u64) -> bool {
    if !SNAPSHOT.taken.get() || !matches!(SNAPSHOT.track.get(), Track::Faults) {
        return false;
    }
    let page = address & !(PAGE - 1);
    let Ok(regions) = SNAPSHOT.regions.try_borrow() else { return false };
    let at = regions.partition_point(|region| region.end <= page);
    let Some(region) = regions.get(at).filter(|region| region.start <= page) else {
        return false;
    };
    if !heat(region, page) {
        return false;
    }
    note_depth(region, page);
    protect(page, PAGE, true);
    true
}

/// Marks a page; false if it was hot already.
fn heat(region: &Region, page: u64) -> bool {
    let index = (page - region.start) / PAGE;
    let copy = region.copy_of(page);
    let len = SNAPSHOT.pages_len.get();
    // SAFETY: a bit for each page of the region, and room for each page of each region.
    unsafe {
        let word = (region.hot as *mut u64).add((index / 64) as usize);
        if *word >> (index % 64) & 1 != 0 {
            return false;
        }
        *word |= 1 << (index % 64);
        (SNAPSHOT.pages.get() as *mut Hot).add(len).write(Hot { page, copy });
    }
    SNAPSHOT.pages_len.set(len + 1);
    true
}

/// A system call could not write to the program's memory. From here on no page is protected any
/// more: with few pages every one is hot, with many the kernel keeps account of what is written.
pub(crate) fn allow_all() {
    if !SNAPSHOT.taken.get() || !matches!(SNAPSHOT.track.get(), Track::Faults) {
        return;
    }
    if is_large() && account().is_ok() {
        return;
    }
    SNAPSHOT.pinned.set(true);
    let regions = SNAPSHOT.regions.borrow();
    for region in regions.iter().filter(|region| region.copy != 0) {
        for page in (region.start..region.end).step_by(PAGE as usize) {
            heat(region, page);
        }
        protect(region.start, region.end - region.start, true);
    }
    // A stack's buffer that a call writes to: the pages around the running task's stack pointer.
    let stack = world().task().stack.get();
    if let Some(region) = regions.iter().find(|region| region.copy == 0 && region.end == stack.high)
    {
        let low = region.start.max(region.end.saturating_sub(1 << 20));
        for page in (low..region.end).step_by(PAGE as usize) {
            heat(region, page);
        }
        protect(low, region.end - low, true);
    }
}

/// Whether there are more pages than can be hot.
fn is_large() -> bool {
    let regions = SNAPSHOT.regions.borrow();
    let with_contents = regions.iter().filter(|region| region.copy != 0);
    with_contents.map(|region| (region.end - region.start) / PAGE).sum::<u64>() > MOST_HOT as u64
}

/// Lets the kernel keep account of what is written, instead of protecting it.
fn account() -> Result<(), String> {
    let scan = track::scan()?;
    let regions = SNAPSHOT.regions.borrow();
    for region in regions.iter() {
        scan.begin(region.start, region.end)?;
    }
    for region in regions.iter() {
        protect(region.start, region.end - region.start, true);
    }
    // What is hot already is known.
    SNAPSHOT.track.set(scan);
    Ok(())
}

/// Whether there is so much to copy back that a fork is cheaper.
pub(super) fn is_too_much() -> bool {
    SNAPSHOT.pages_len.get() > MOST_HOT
}

/// Puts everything back as it was.
pub(super) fn restore() {
    let used = crate::arena::used().1;
    let before = SNAPSHOT.arena_end.get();
    if used > before {
        // What the program allocated beyond was zero, and is again.
        let first_whole = before.next_multiple_of(PAGE);
        if used > first_whole {
            let len = used.next_multiple_of(PAGE) - first_whole;
            // SAFETY: beyond the heap's old end; nobody has anything there.
            unsafe {
                if len <= 64 * PAGE {
                    std::ptr::write_bytes(first_whole as *mut u8, 0, (used - first_whole) as usize);
                } else {
                    raw::call!(libc::SYS_madvise, first_whole, len, libc::MADV_DONTNEED);
                }
            }
        }
    }
    crate::arena::set_used(before);
    let restored = SNAPSHOT.restored.get() + 1;
    SNAPSHOT.restored.set(restored);
    if restored >= FIRST_COOLING && restored.is_power_of_two() && !SNAPSHOT.pinned.get() {
        cool();
    }
    for index in 0..SNAPSHOT.pages_len.get() {
        // SAFETY: below the length.
        let hot = unsafe { *(SNAPSHOT.pages.get() as *const Hot).add(index) };
        let page = hot.page as *mut u8;
        // SAFETY: written by `heat`; hot pages are writable, and copies are whole pages.
        unsafe {
            if hot.copy == 0 {
                std::ptr::write_bytes(page, 0, PAGE as usize);
            } else {
                std::ptr::copy_nonoverlapping(hot.copy as *const u8, page, PAGE as usize);
            }
        }
    }
}

/// Protects the hot pages again that the last execution left as they were.
fn cool() {
    let regions = SNAPSHOT.regions.borrow();
    let pages = SNAPSHOT.pages.get() as *mut Hot;
    let mut kept = 0;
    for index in 0..SNAPSHOT.pages_len.get() {
        // SAFETY: below the length.
        let hot = unsafe { *pages.add(index) };
        if is_changed(hot) {
            // SAFETY: not beyond `index`.
            unsafe { pages.add(kept).write(hot) };
            kept += 1;
            continue;
        }
        let at = regions.partition_point(|region| region.end <= hot.page);
        let bit = (hot.page - regions[at].start) / PAGE;
        // SAFETY: a bit for each page of the region.
        unsafe { *(regions[at].hot as *mut u64).add((bit / 64) as usize) &= !(1 << (bit % 64)) };
        SNAPSHOT.track.get().again(hot.page);
    }
    SNAPSHOT.pages_len.set(kept);
}

fn is_changed(hot: Hot) -> bool {
    const ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
    // SAFETY: hot pages are readable, copies are whole pages, and nobody writes to either now.
    unsafe {
        let now = std::slice::from_raw_parts(hot.page as *const u8, PAGE as usize);
        let before = match hot.copy {
            0 => &ZEROS,
            copy => std::slice::from_raw_parts(copy as *const u8, PAGE as usize),
        };
        now != before
    }
}
