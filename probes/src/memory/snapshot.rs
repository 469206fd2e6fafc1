//! Memory reset: the pages that an execution changed are copied back.
//!
//! All of the program's writable private memory is divided into [`Region`]s, whose pages are
//! watched until they are written for the first time. From then on a page is *hot*, and is copied
//! back after each execution, whether that changed it or not. So no change is missed, and a small
//! program costs a handful of page copies. The runtime's own memory is excluded: it is known by its
//! program headers and by the mappings that it made.
//!
//! Some pages change only in the first executions, or in one. So hot pages are compared with their
//! copy now and then, at growing intervals, and a page that did not change is watched again.
//!
//! Pages are watched ([`track`]) by protection, which costs nothing while no new page is written;
//! by the kernel's write tracking, if so many pages would be hot that protection is useless; or not
//! at all, and all pages are compared each time.

pub(crate) mod images;
pub(crate) mod mappings;
pub(crate) mod page_tracking;

use crate::memory::snapshot::page_tracking::{Track, protect};
use crate::state::world::world;
use crate::sys::raw;
use std::cell::{Cell, RefCell};
use traces::wire::Tracking;

const PAGE: u64 = 4096;
/// How deep main's stack may become before memory reset is given up.
const MAIN_DEPTH: u64 = 256 << 10;
/// With more pages than this to copy back, a fork is cheaper.
const MOST_HOT: usize = 512;
/// The first execution after which unchanged hot pages are watched again; after that, at each power
/// of two.
const FIRST_COOLING: u64 = 64;

/// A range of the program's memory.
struct Region {
    start: u64,
    end: u64,
    /// The address of the copy of its contents; 0 if they are all zero.
    copy: u64,
    /// The address of one bit for each page, set if it was written since the snapshot. The bits are
    /// in private memory: a child that runs an execution for comparison writes other pages, and in
    /// the shared heap its bits would count for this process, too.
    hot: u64,
}

impl Region {
    /// The address of the copy of a page.
    fn copy_of(&self, page: u64) -> u64 {
        if self.copy == 0 { 0 } else { self.copy + (page - self.start) }
    }

    /// The start and length of the runtime's memory for this region. The stacks of further tasks have no
    /// copy: they are empty in the state that is restored.
    fn own_memory(&self) -> impl Iterator<Item = (u64, u64)> {
        let len = self.end - self.start;
        let copy = (self.copy != 0).then_some((self.copy, len));
        copy.into_iter().chain([(self.hot, bits_len(len))])
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
    /// The end of the program's heap at the snapshot.
    arena_end: Cell<u64>,
    taken: Cell<bool>,
    /// An address on main's stack.
    main: Cell<u64>,
    /// The number of resets so far.
    restored: Cell<u64>,
    /// How pages are watched.
    track: Cell<Track>,
    /// Whether pages stay hot forever, since system calls write to them.
    pinned: Cell<bool>,
}
// SAFETY: the controlled process has one kernel thread. The fault handler can interrupt this
// module, but it runs only at a write to a watched page of the program. While `regions` is borrowed
// mutably, nothing here writes to the program's memory; `restore` writes to hot pages, which are
// not watched. The handler itself uses `try_borrow`.
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

/// Maps private memory of the runtime, committed by use.
fn private(len: usize) -> Result<u64, String> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    raw::map(0, len.max(1), prot, libc::MAP_NORESERVE)
        .map(|at| at as u64)
        .ok_or_else(|| "no memory for the snapshot".to_owned())
}

/// The ranges that belong to the snapshot itself, and those of its images. Images remain when another snapshot
/// replaces this one.
pub(crate) fn ranges() -> Vec<(u64, u64)> {
    let mut own = images::ranges().to_vec();
    let regions = SNAPSHOT.regions.borrow();
    for region in regions.iter() {
        own.extend(region.own_memory().map(|(start, len)| (start, start + len)));
    }
    own.push((SNAPSHOT.pages.get(), SNAPSHOT.pages.get() + pages_room(&regions)));
    own
}

/// How many bytes the array of hot pages needs, at most.
fn pages_room(regions: &[Region]) -> u64 {
    let pages: u64 = regions.iter().map(|region| (region.end - region.start) / PAGE).sum();
    pages * size_of::<Hot>() as u64
}

/// The program's variables and mappings: its writable memory without its heap, the tasks' stacks
/// and the runtime's memory. `own` are ranges of the runtime.
pub(crate) fn of_program(own: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut own = own.to_vec();
    own.push(crate::memory::arena::whole());
    let world = world();
    let stacks =
        world.tasks[..usize::from(world.created.get())].iter().map(|task| task.stack.get());
    // A stack that the program provided is memory of the program.
    let stacks = stacks.enumerate().filter(|(task, stack)| *task == 0 || !stack.foreign);
    own.extend(stacks.map(|(_, stack)| (stack.low, stack.high)));
    own.extend(world.spare_stacks.all().iter().map(|stack| (stack.low, stack.high)));
    let ranges = mappings::read().map(|text| mappings::writable(&text, &own)).unwrap_or_default();
    ranges.iter().map(|range| (range.start, range.end)).collect()
}

/// A shared writable mapping of the program, if it has one.
pub(crate) fn shared_mapping() -> Option<String> {
    let own = (traces::wire::ARENA_ADDRESS as u64, traces::wire::COMMON_ADDRESS as u64 + (1 << 40));
    mappings::read().ok().and_then(|text| mappings::shared(&text, own))
}

/// The mappings of files that the program has, without those of code.
pub(crate) fn mapped_files() -> Vec<mappings::MappedFile> {
    let own = (traces::wire::ARENA_ADDRESS as u64, traces::wire::COMMON_ADDRESS as u64 + (1 << 40));
    mappings::read().map(|text| mappings::mapped_files(&text, own)).unwrap_or_default()
}

/// Takes a snapshot of everything that the program can change, and starts to watch it. `own` are
/// ranges of the runtime. An error says why forks are better for this program.
pub(crate) fn take(own: &[(u64, u64)], tracking: Tracking) -> Result<(), String> {
    // Main's stack is extended as deep as most programs need, so that this part belongs to the
    // snapshot. A write to the lowest page of that part shows that it was not enough.
    let main = world().tasks[0].sp.get();
    SNAPSHOT.main.set(main);
    // SAFETY: the address is within the limit of main's stack, which the kernel extends at the
    // first access, and below all its frames.
    unsafe { ((main - MAIN_DEPTH) as *mut u8).write_volatile(0) };
    let arena = crate::memory::arena::used();
    let arena_end = arena.1.next_multiple_of(PAGE);
    SNAPSHOT.arena_end.set(arena.1);
    let whole_arena = crate::memory::arena::whole();
    let stacks = world().spare_stacks.all();
    let mut own = own.to_vec();
    own.push(whole_arena);
    for stack in &stacks {
        own.push((stack.low, stack.high));
    }
    let mut ranges = mappings::writable(&mappings::read()?, &own);
    ranges.push(mappings::Range { start: arena.0, end: arena_end, of_file: false });
    let mut regions = Vec::new();
    // The copy may be as large as the program's heap may be, but not larger.
    let most = crate::state::root::root().memory;
    let mut bytes = 0;
    for mappings::Range { start, end, of_file } in ranges {
        let copy = private((end - start) as usize)?;
        // Of gigabytes of zeros nothing is copied: untouched pages are not allocated yet.
        let mut keep = |page: u64| {
            bytes += PAGE;
            if bytes <= most {
                // SAFETY: both pages are mapped, the source is in a readable range, and no task
                // runs.
                unsafe {
                    let to = (copy + (page - start)) as *mut u8;
                    std::ptr::copy_nonoverlapping(page as *const u8, to, PAGE as usize);
                }
            }
        };
        match of_file {
            true => (start..end).step_by(PAGE as usize).for_each(keep),
            false => mappings::for_each_allocated(start, end, &mut keep),
        }
        regions.push(Region { start, end, copy, hot: bits(start, end)? });
    }
    if bytes > most {
        return Err(format!(
            "the program has {} MB when main begins, too much for a snapshot",
            bytes >> 20
        ));
    }
    for stack in &stacks {
        let start = stack.low + stack.guard;
        regions.push(Region { start, end: stack.high, copy: 0, hot: bits(start, stack.high)? });
    }
    regions.sort_by_key(|region| region.start);
    SNAPSHOT.pages.set(private(pages_room(&regions) as usize)?);
    *SNAPSHOT.regions.borrow_mut() = regions;
    watch(tracking)?;
    SNAPSHOT.taken.set(true);
    Ok(())
}

/// Takes a new snapshot in place of the current one: later resets restore the present state.
pub(crate) fn take_anew(own: &[(u64, u64)], tracking: Tracking) -> Result<(), String> {
    SNAPSHOT.taken.set(false);
    let track = SNAPSHOT.track.get();
    let regions = std::mem::take(&mut *SNAPSHOT.regions.borrow_mut());
    for region in &regions {
        let len = region.end - region.start;
        // The map of the process shows protected memory as not writable.
        if matches!(track, Track::Faults) {
            protect(region.start, len, true);
        }
        region.own_memory().for_each(|(start, len)| forget(start, len));
    }
    forget(SNAPSHOT.pages.get(), pages_room(&regions));
    SNAPSHOT.pages_len.set(0);
    SNAPSHOT.restored.set(0);
    SNAPSHOT.pinned.set(false);
    track.end();
    take(own, tracking)
}

/// Unmaps memory that [`private`] mapped.
fn forget(start: u64, len: u64) {
    // SAFETY: the caller passes a mapping of `private`, to which nothing refers any more.
    unsafe {
        raw::call!(libc::SYS_munmap, start, len.max(1).next_multiple_of(PAGE));
    }
}

/// Allocates a bit for each page.
fn bits(start: u64, end: u64) -> Result<u64, String> {
    private(bits_len(end - start) as usize)
}

/// How many bytes the bits for the pages of this much memory need.
fn bits_len(len: u64) -> u64 {
    (len / PAGE).div_ceil(64) * 8
}

/// Starts to watch all regions.
fn watch(tracking: Tracking) -> Result<(), String> {
    let track = match tracking {
        Tracking::Faults | Tracking::Whole | Tracking::Checked => Track::Faults,
        Tracking::Scan => page_tracking::scan()?,
        Tracking::Compare => Track::Compare,
    };
    SNAPSHOT.track.set(track);
    for region in SNAPSHOT.regions.borrow().iter() {
        track.begin(region.start, region.end)?;
    }
    Ok(())
}

/// Finds the pages that were written for the first time, unless writes are noticed when they
/// happen.
pub(crate) fn collect() {
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
                // Without a copy all pages were zero, and most are still untouched.
                let mut look = |page: u64| {
                    let copy = region.copy_of(page);
                    if is_changed(Hot { page, copy }) {
                        found(page);
                    }
                };
                match region.copy {
                    0 => mappings::for_each_allocated(region.start, region.end, look),
                    _ => (region.start..region.end).step_by(PAGE as usize).for_each(&mut look),
                }
            }
            _ => track.for_each_written(region.start, region.end, &mut found),
        }
    }
}

/// Main's stack became deeper than the snapshot covers, which ends memory reset.
fn note_depth(region: &Region, page: u64) {
    if page == region.start && (region.start..region.end).contains(&SNAPSHOT.main.get()) {
        crate::state::upcalls::get().state_left();
    }
}

/// Handles a write fault: if the page is watched, it becomes hot. False if it is not.
pub(crate) fn write_fault(address: u64) -> bool {
    if images::own_fault(address & !(PAGE - 1)) {
        return true;
    }
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

/// Marks a page as hot; false if it is already.
fn heat(region: &Region, page: u64) -> bool {
    let index = (page - region.start) / PAGE;
    let copy = region.copy_of(page);
    let len = SNAPSHOT.pages_len.get();
    // SAFETY: `bits` allocated a bit for each page of the region, and the array has room for every
    // page of every region.
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

/// A system call failed to write to the program's memory. From here on no page is protected any
/// more: in a small program all pages become hot, in a large one the kernel tracks writes.
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
    // A call may write to a buffer on the stack: the pages around the running task's stack pointer.
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

/// Uses the kernel's write tracking instead of protection.
fn account() -> Result<(), String> {
    let scan = page_tracking::scan()?;
    let regions = SNAPSHOT.regions.borrow();
    for region in regions.iter() {
        scan.begin(region.start, region.end)?;
    }
    for region in regions.iter() {
        protect(region.start, region.end - region.start, true);
    }
    // Pages that are hot already stay so.
    SNAPSHOT.track.set(scan);
    Ok(())
}

/// Whether so many pages have to be copied back that a fork is cheaper.
pub(crate) fn is_too_much() -> bool {
    SNAPSHOT.pages_len.get() > MOST_HOT
}

/// Restores the snapshot.
pub(crate) fn restore() {
    let before = SNAPSHOT.arena_end.get();
    clear_heap(before.next_multiple_of(PAGE), crate::memory::arena::used().1);
    crate::memory::arena::set_used(before);
    let restored = SNAPSHOT.restored.get() + 1;
    SNAPSHOT.restored.set(restored);
    if restored >= FIRST_COOLING && restored.is_power_of_two() && !SNAPSHOT.pinned.get() {
        cool();
    }
    for index in 0..SNAPSHOT.pages_len.get() {
        // SAFETY: the index is below the array's length.
        let hot = unsafe { *(SNAPSHOT.pages.get() as *const Hot).add(index) };
        hot.restore();
    }
}

/// Clears the part of the program's heap that was allocated beyond `end`: it was zero, and must be again.
fn clear_heap(end: u64, used: u64) {
    if used <= end {
        return;
    }
    let page = end.next_multiple_of(PAGE).min(used);
    let len = used.next_multiple_of(PAGE).saturating_sub(page);
    // SAFETY: the range is beyond the restored end of the heap and within the arena; after the reset,
    // no block is there.
    unsafe {
        std::ptr::write_bytes(end as *mut u8, 0, (page - end) as usize);
        if len <= 64 * PAGE {
            std::ptr::write_bytes(page as *mut u8, 0, (used - page) as usize);
        } else {
            raw::call!(libc::SYS_madvise, page, len, libc::MADV_DONTNEED);
        }
    }
}

impl Hot {
    /// Copies the page back.
    fn restore(self) {
        let page = self.page as *mut u8;
        // SAFETY: `heat` wrote the entry; hot pages are writable, copies are whole pages, and no task
        // runs.
        unsafe {
            if self.copy == 0 {
                std::ptr::write_bytes(page, 0, PAGE as usize);
            } else {
                std::ptr::copy_nonoverlapping(self.copy as *const u8, page, PAGE as usize);
            }
        }
    }
}

/// Whether a range is in the snapshot.
pub(crate) fn covers(start: u64, end: u64) -> bool {
    let regions = SNAPSHOT.regions.borrow();
    let at = regions.partition_point(|region| region.end <= start);
    regions.get(at).is_some_and(|region| region.start <= start && end <= region.end)
}

/// Watches hot pages again that the last execution did not change.
fn cool() {
    let regions = SNAPSHOT.regions.borrow();
    let pages = SNAPSHOT.pages.get() as *mut Hot;
    let mut still_hot = 0;
    for index in 0..SNAPSHOT.pages_len.get() {
        // SAFETY: the index is below the array's length.
        let hot = unsafe { *pages.add(index) };
        if is_changed(hot) {
            // SAFETY: `still_hot` is at most `index`.
            unsafe { pages.add(still_hot).write(hot) };
            still_hot += 1;
            continue;
        }
        let at = regions.partition_point(|region| region.end <= hot.page);
        let bit = (hot.page - regions[at].start) / PAGE;
        // SAFETY: `bits` allocated a bit for each page of the region.
        unsafe { *(regions[at].hot as *mut u64).add((bit / 64) as usize) &= !(1 << (bit % 64)) };
        SNAPSHOT.track.get().again(hot.page);
    }
    SNAPSHOT.pages_len.set(still_hot);
}

fn is_changed(hot: Hot) -> bool {
    const ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
    // SAFETY: hot pages are readable, copies are whole pages, and nothing writes to either while no
    // task runs.
    unsafe {
        let now = std::slice::from_raw_parts(hot.page as *const u8, PAGE as usize);
        let before = match hot.copy {
            0 => &ZEROS,
            copy => std::slice::from_raw_parts(copy as *const u8, PAGE as usize),
        };
        now != before
    }
}
