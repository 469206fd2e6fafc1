//! Memory that is mapped at several addresses.
//!
//! Two shared mappings of one file (or memory file, or System V segment) are the same memory. Everything that
//! identifies memory by its address (shadow memory, clocks, objects) uses [`canonical`] addresses, which are
//! the same for all views of a byte. Addresses of other memory are canonical themselves.

use crate::memory::snapshot;
use crate::sys::raw;
use std::cell::Cell;

/// The most mappings at a time. Further ones are reported.
const VIEWS: usize = 256;
/// Canonical addresses of shared memory: above all addresses of programs, a range for each object.
const SHARED: u64 = 1 << 62;
const OBJECT: u32 = 44;

/// A range of addresses and what it is mapped to.
#[derive(Clone, Copy)]
struct View {
    start: u64,
    end: u64,
    /// An index of [`Table::objects`].
    object: u64,
    /// The offset of the start in the object.
    offset: u64,
}

const NOTHING: View = View { start: 0, end: 0, object: 0, offset: 0 };

struct Table {
    views: [Cell<View>; VIEWS],
    /// Device and inode of each object.
    objects: [Cell<(u64, u64)>; VIEWS],
    views_len: Cell<usize>,
    objects_len: Cell<usize>,
    /// The lengths before the first execution.
    first: Cell<(usize, usize)>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Table {}
static TABLE: Table = Table {
    views: [const { Cell::new(NOTHING) }; VIEWS],
    objects: [const { Cell::new((0, 0)) }; VIEWS],
    views_len: Cell::new(0),
    objects_len: Cell::new(0),
    first: Cell::new((0, 0)),
};

/// The canonical address of memory.
#[inline]
pub(crate) fn canonical(address: u64) -> u64 {
    if TABLE.views_len.get() == 0 { address } else { lookup(address) }
}

#[cold]
fn lookup(address: u64) -> u64 {
    let views = TABLE.views[..TABLE.views_len.get()].iter().map(Cell::get);
    let found = views.into_iter().find(|view| (view.start..view.end).contains(&address));
    found.map_or(address, |view| {
        SHARED | view.object << OBJECT | (view.offset + address - view.start)
    })
}

/// Whether any file is mapped.
#[inline]
pub(crate) fn are_any() -> bool {
    TABLE.views_len.get() > 0
}

/// Device and inode of a file.
pub(crate) type File = (u64, u64);

/// The part of a file from an offset on that is mapped, in one mapping of the file after `skip` others: its address
/// and its length.
pub(crate) fn of_file(file: File, offset: u64, len: u64, skip: usize) -> Option<(u64, u64)> {
    let end = offset.saturating_add(len);
    let views = TABLE.views[..TABLE.views_len.get()].iter().map(Cell::get);
    let parts = views.into_iter().filter_map(|view| {
        let view_end = view.offset + (view.end - view.start);
        let (low, high) = (offset.max(view.offset), end.min(view_end));
        let is_it = TABLE.objects[view.object as usize].get() == file;
        (is_it && low < high).then(|| (view.start + low - view.offset, high - low))
    });
    parts.into_iter().nth(skip)
}

/// The program begins: notes the mappings that exist. Whether there was room.
pub(crate) fn prepare() -> bool {
    let all = snapshot::shared_files();
    let there = all
        .into_iter()
        .all(|file| map((file.start, file.end), (file.device, file.inode), file.offset));
    TABLE.first.set((TABLE.views_len.get(), TABLE.objects_len.get()));
    there
}

/// An execution begins, with the mappings of the program's beginning. Whether there were others.
pub(crate) fn begin() -> bool {
    let (views, objects) = TABLE.first.get();
    TABLE.objects_len.set(objects);
    TABLE.views_len.replace(views) != views
}

fn map((start, end): (u64, u64), identity: (u64, u64), offset: u64) -> bool {
    let known = TABLE.objects[..TABLE.objects_len.get()].iter();
    let object = known.into_iter().position(|object| object.get() == identity);
    let object = object.unwrap_or_else(|| {
        let next = TABLE.objects_len.get();
        if next < VIEWS {
            TABLE.objects[next].set(identity);
            TABLE.objects_len.set(next + 1);
        }
        next
    });
    let next = TABLE.views_len.get();
    if object == VIEWS || next == VIEWS {
        return false;
    }
    TABLE.views[next].set(View { start, end, object: object as u64, offset });
    TABLE.views_len.set(next + 1);
    true
}

/// Removes a range; the parts of mappings outside it remain.
fn unmap(start: u64, end: u64) -> bool {
    let mut there = true;
    let mut index = 0;
    while index < TABLE.views_len.get() {
        let view = TABLE.views[index].get();
        if view.end <= start || end <= view.start {
            index += 1;
            continue;
        }
        let last = TABLE.views_len.get() - 1;
        TABLE.views[index].set(TABLE.views[last].get());
        TABLE.views_len.set(last);
        let parts = [(view.start, start.min(view.end)), (end.max(view.start), view.end)];
        for (low, high) in parts.into_iter().filter(|(low, high)| low < high) {
            let next = TABLE.views_len.get();
            there &= next < VIEWS;
            if next < VIEWS {
                let offset = view.offset + low - view.start;
                TABLE.views[next].set(View { start: low, end: high, offset, ..view });
                TABLE.views_len.set(next + 1);
            }
        }
    }
    there
}

fn page_end(start: u64, len: u64) -> u64 {
    start.saturating_add(len).next_multiple_of(4096)
}

/// The effect of a system call on the mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    Changed,
    /// There are more shared mappings than the table holds.
    Full,
}

/// Notes a call that was made and succeeded.
pub(crate) fn note(number: i64, args: [u64; 6], answer: u64) -> Change {
    let there = match number {
        libc::SYS_mmap => {
            let (flags, end) = (args[3] as i32, page_end(answer, args[1]));
            let kind = flags & libc::MAP_TYPE;
            let is_shared = matches!(kind, libc::MAP_SHARED | libc::MAP_SHARED_VALIDATE);
            let file = (is_shared && flags & libc::MAP_ANONYMOUS == 0)
                .then(|| identity(args[4]))
                .flatten();
            if file.is_none() && TABLE.views_len.get() == 0 {
                return Change::None;
            }
            unmap(answer, end) && file.is_none_or(|file| map((answer, end), file, args[5]))
        }
        libc::SYS_munmap if TABLE.views_len.get() > 0 => unmap(args[0], page_end(args[0], args[1])),
        libc::SYS_mremap if TABLE.views_len.get() > 0 => moved(args, answer),
        libc::SYS_shmat => {
            let size = segment_size(args[0]);
            // The number of a segment is its inode; no file has this device.
            map((answer, page_end(answer, size)), (u64::MAX, args[0]), 0)
        }
        libc::SYS_shmdt if TABLE.views_len.get() > 0 => {
            let views = TABLE.views[..TABLE.views_len.get()].iter().map(Cell::get);
            let found = views.into_iter().find(|view| view.start == args[0]);
            found.is_none_or(|view| unmap(view.start, view.end))
        }
        _ => return Change::None,
    };
    if there { Change::Changed } else { Change::Full }
}

/// `mremap`: a mapping moves or changes its size. With an old size of 0 it gets a second address.
fn moved(args: [u64; 6], answer: u64) -> bool {
    let views = TABLE.views[..TABLE.views_len.get()].iter().map(Cell::get);
    let Some(view) = views.into_iter().find(|view| (view.start..view.end).contains(&args[0]))
    else {
        return unmap(answer, page_end(answer, args[2]));
    };
    let offset = view.offset + args[0] - view.start;
    let old = page_end(args[0], args[1]);
    let new = page_end(answer, args[2]);
    let object = TABLE.objects[view.object as usize].get();
    (args[1] == 0 || unmap(args[0], old))
        && unmap(answer, new)
        && map((answer, new), object, offset)
}

/// Device and inode of an open file.
pub(crate) fn identity(descriptor: u64) -> Option<File> {
    // SAFETY: `stat` is plain data, and the kernel writes it.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_fstat, descriptor, &raw mut stat);
        (answer == 0).then_some((stat.st_dev, stat.st_ino))
    }
}

/// Device and inode of the file with a path.
pub(crate) fn identity_of_path(directory: u64, path: u64) -> Option<File> {
    // SAFETY: `stat` is plain data, and the kernel writes it. The kernel checks the path.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_newfstatat, directory, path, &raw mut stat, 0);
        (answer == 0).then_some((stat.st_dev, stat.st_ino))
    }
}

/// The size of a System V segment.
fn segment_size(number: u64) -> u64 {
    // SAFETY: `shmid_ds` is plain data, and the kernel writes it.
    unsafe {
        let mut about: libc::shmid_ds = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_shmctl, number, libc::IPC_STAT, &raw mut about);
        if answer < 0 { 0 } else { about.shm_segsz as u64 }
    }
}
