//! Going back in memory: the pages that an execution changed are copied back.
//!
//! All of the program's writable private memory is a [`Region`], and its pages are protected until
//! they are written for the first time; from then on a page is *hot*, and is copied back after each
//! execution, whether that one changed it or not. So nothing is missed, and a small program costs a
//! handful of page copies. What belongs to the runtime itself is left out: it is found by its own
//! program headers and by the mappings that it made.
//!
//! Some pages change in the first executions only, or in one: what a page looks like is compared with
//! its copy now and then, ever more seldom, and a page that did not change is protected again.
//!
//! A system call that writes to a protected page fails with `EFAULT` instead of faulting;
//! [`allow_all`] makes every page hot then, and the call is made again.

use crate::raw;
use crate::world::world;
use std::cell::{Cell, RefCell};

const PAGE: u64 = 4096;
/// How deep main's stack may become before memory reset is given up.
const MAIN_DEPTH: u64 = 256 << 10;
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
    pinned: Cell::new(false),
};

fn protect(start: u64, len: u64, writable: bool) {
    let prot = libc::PROT_READ | if writable { libc::PROT_WRITE } else { 0 };
    // SAFETY: pages of the program's own, which were readable and writable.
    unsafe {
        raw::call!(libc::SYS_mprotect, start, len, prot);
    }
}

/// Private memory of the runtime's own, committed by use.
fn private(len: usize) -> Result<u64, String> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    raw::map(0, len.max(1), prot, libc::MAP_NORESERVE)
        .map(|at| at as u64)
        .ok_or_else(|| "no memory to go back in".to_owned())
}

/// Reads the whole memory map.
fn maps() -> Result<String, String> {
    let mut text = Vec::new();
    // SAFETY: plain calls with buffers of our own.
    unsafe {
        let file = raw::call!(
            libc::SYS_open,
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC
        );
        if file < 0 {
            return Err("the memory map cannot be read: is /proc mounted?".into());
        }
        let mut buffer = [0u8; 4096];
        loop {
            let n = raw::call!(libc::SYS_read, file, buffer.as_mut_ptr(), buffer.len());
            if n <= 0 {
                break;
            }
            text.extend_from_slice(&buffer[..n as usize]);
        }
        raw::call!(libc::SYS_close, file);
    }
    String::from_utf8(text).map_err(|_| "the memory map is no text".into())
}

/// The writable private ranges of the map, without what is the runtime's.
fn ranges(text: &str, own: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut fields = line.split_ascii_whitespace();
        let (Some(range), Some(flags)) = (fields.next(), fields.next()) else { continue };
        let Some((start, end)) = range.split_once('-') else { continue };
        let parse = |text| u64::from_str_radix(text, 16);
        let (Ok(start), Ok(end)) = (parse(start), parse(end)) else { continue };
        if !flags.starts_with("rw") || !flags.ends_with('p') {
            continue;
        }
        // Cut out what is the runtime's own.
        let mut parts = vec![(start, end)];
        for &(low, high) in own {
            parts = parts
                .into_iter()
                .flat_map(|(a, b)| [(a, b.min(low)), (a.max(high), b)])
                .filter(|(a, b)| a < b)
                .collect();
        }
        found.extend(parts);
    }
    found
}

/// Keeps everything that the program can change, as it is now, and protects it. `own` are ranges of
/// the runtime's.
pub(super) fn take(own: &[(u64, u64)]) -> Result<(), String> {
    // Main's stack is made as deep as most programs need, so that it is a part of the snapshot; the
    // lowest page of that part tells when it was not enough (`write_fault`).
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
    let mut regions = Vec::new();
    for (start, end) in ranges(&maps()?, &own) {
        regions.push((start, end, true));
    }
    regions.push((arena.0, arena_end, true));
    for stack in &stacks {
        regions.push((stack.low + stack.guard, stack.high, false));
    }
    let mut kept = Vec::new();
    let mut pages = 0;
    for (start, end, has_contents) in regions {
        let len = end - start;
        let copy = if has_contents {
            let copy = private(len as usize)?;
            // SAFETY: the whole range is mapped and readable; the copy is as long.
            unsafe {
                std::ptr::copy_nonoverlapping(start as *const u8, copy as *mut u8, len as usize);
            }
            copy
        } else {
            0
        };
        let bits = (len / PAGE).div_ceil(64) as usize * 8;
        let hot = private(bits)?;
        pages += (len / PAGE) as usize;
        kept.push(Region { start, end, copy, hot });
    }
    kept.sort_by_key(|region| region.start);
    let spans: Vec<(u64, u64)> = kept.iter().map(|region| (region.start, region.end)).collect();
    *SNAPSHOT.regions.borrow_mut() = kept;
    SNAPSHOT.pages.set(private(pages * size_of::<Hot>())?);
    SNAPSHOT.taken.set(true);
    for (start, end) in spans {
        protect(start, end - start, false);
    }
    Ok(())
}

/// A write to a page of the snapshot: the page is hot from now on. False where it is none.
pub(crate) fn write_fault(address: u64) -> bool {
    if !SNAPSHOT.taken.get() {
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
    if page == region.start && (region.start..region.end).contains(&SNAPSHOT.main.get()) {
        crate::syscalls::leave_trace();
    }
    protect(page, PAGE, true);
    true
}

/// Marks a page; false if it was hot already.
fn heat(region: &Region, page: u64) -> bool {
    let index = (page - region.start) / PAGE;
    let copy = if region.copy == 0 { 0 } else { region.copy + index * PAGE };
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

/// Makes every page writable, and hot. Stacks that nobody used stay as they are.
pub(crate) fn allow_all() {
    if !SNAPSHOT.taken.get() {
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

/// Whether there is so much to copy back that a fork is cheaper.
pub(super) fn is_too_much() -> bool {
    SNAPSHOT.pages_len.get() > 512
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
        protect(hot.page, PAGE, false);
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
