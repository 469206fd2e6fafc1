//! Memory that is mapped at several addresses, and memory that shows a file.
//!
//! Two shared mappings of one file (or memory file, or System V segment) are the same memory. Everything that
//! identifies memory by its address (shadow memory, clocks, objects) uses [`canonical`] addresses, which are
//! the same for all views of a byte. Addresses of other memory are canonical themselves.
//!
//! A page of a private mapping shows what is written to the file until the program writes to the page. Such
//! mappings are in a separate table: they are not the same memory, but a write to the file is a write to
//! them.

use crate::memory::snapshot;
use crate::sys::raw;
use std::cell::Cell;

/// The most mappings of a kind at a time. Further ones are reported.
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

/// Mappings, all shared or all private.
struct Table {
    views: [Cell<View>; VIEWS],
    /// Device and inode of each object.
    objects: [Cell<File>; VIEWS],
    /// Whether the object is a program or a library, whose mappings are left out.
    is_code: [Cell<bool>; VIEWS],
    views_len: Cell<usize>,
    objects_len: Cell<usize>,
    /// The lengths before the first execution.
    first: Cell<(usize, usize)>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Table {}
static TABLE: Table = Table::new();
static PRIVATE: Table = Table::new();

impl Table {
    const fn new() -> Table {
        Table {
            views: [const { Cell::new(NOTHING) }; VIEWS],
            objects: [const { Cell::new((0, 0)) }; VIEWS],
            is_code: [const { Cell::new(false) }; VIEWS],
            views_len: Cell::new(0),
            objects_len: Cell::new(0),
            first: Cell::new((0, 0)),
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.views_len.get() == 0
    }

    fn views(&self) -> impl Iterator<Item = View> {
        self.views[..self.views_len.get()].iter().map(Cell::get)
    }

    fn starting_at(&self, address: u64) -> Option<View> {
        self.views().find(|view| view.start == address)
    }

    fn file(&self, view: View) -> File {
        self.objects[view.object as usize].get()
    }

    /// The mapping that contains an address.
    fn at(&self, address: u64) -> Option<View> {
        self.views().find(|view| (view.start..view.end).contains(&address))
    }

    /// Whether a file is mapped.
    fn shows(&self, file: File) -> bool {
        self.views().any(|view| self.file(view) == file)
    }

    /// Keeps the mappings of the program's beginning.
    fn keep(&self) {
        self.first.set((self.views_len.get(), self.objects_len.get()));
    }

    /// Returns to the mappings of the program's beginning. Whether there were others.
    fn begin(&self) -> bool {
        let (views, objects) = self.first.get();
        self.objects_len.set(objects);
        self.views_len.replace(views) != views
    }

    /// The index of a file among the objects; [`VIEWS`] if there is no room.
    fn object(&self, identity: File) -> usize {
        let known = self.objects[..self.objects_len.get()].iter();
        let object = known.into_iter().position(|object| object.get() == identity);
        object.unwrap_or_else(|| {
            let next = self.objects_len.get();
            if next < VIEWS {
                self.objects[next].set(identity);
                self.is_code[next].set(false);
                self.objects_len.set(next + 1);
            }
            next
        })
    }

    /// Leaves a file out: programs and libraries have many mappings, and no program writes to the files.
    fn leave_out(&self, identity: File) -> bool {
        let object = self.object(identity);
        if object == VIEWS {
            return false;
        }
        self.is_code[object].set(true);
        let mut there = true;
        while let Some(view) = self.views().find(|view| view.object == object as u64) {
            there &= self.unmap(view.start, view.end);
        }
        there
    }

    fn map(&self, (start, end): (u64, u64), identity: File, offset: u64) -> bool {
        let object = self.object(identity);
        if object < VIEWS && self.is_code[object].get() {
            return true;
        }
        let next = self.views_len.get();
        if object == VIEWS || next == VIEWS {
            return false;
        }
        self.views[next].set(View { start, end, object: object as u64, offset });
        self.views_len.set(next + 1);
        true
    }

    /// Memory without a file that has another address from now on.
    fn map_twice(&self, first: u64, second: u64, len: u64) -> bool {
        // No file has this device, and the number was not used for another object.
        let identity = (u64::MAX - 1, self.objects_len.get() as u64);
        let start = first & !(PAGE - 1);
        let (first, second) = ((start, page_end(start, len)), (second, page_end(second, len)));
        PRIVATE.unmap(second.0, second.1)
            && self.unmap(second.0, second.1)
            && self.map(first, identity, 0)
            && self.map(second, identity, 0)
    }

    /// Removes a range; the parts of mappings outside it remain.
    fn unmap(&self, start: u64, end: u64) -> bool {
        let mut there = true;
        let mut index = 0;
        while index < self.views_len.get() {
            let view = self.views[index].get();
            if view.end <= start || end <= view.start {
                index += 1;
                continue;
            }
            let last = self.views_len.get() - 1;
            self.views[index].set(self.views[last].get());
            self.views_len.set(last);
            let parts = [(view.start, start.min(view.end)), (end.max(view.start), view.end)];
            for (low, high) in parts.into_iter().filter(|(low, high)| low < high) {
                let next = self.views_len.get();
                there &= next < VIEWS;
                if next < VIEWS {
                    let offset = view.offset + low - view.start;
                    self.views[next].set(View { start: low, end: high, offset, ..view });
                    self.views_len.set(next + 1);
                }
            }
        }
        there
    }

    /// `mremap`: a mapping moves or changes its size. With an old size of 0 it gets a second address.
    fn remap(&self, args: [u64; 6], answer: u64) -> bool {
        let Some(view) = self.at(args[0]) else {
            return self.unmap(answer, page_end(answer, args[2]));
        };
        let offset = view.offset + args[0] - view.start;
        let old = page_end(args[0], args[1]);
        let new = page_end(answer, args[2]);
        let file = self.file(view);
        (args[1] == 0 || self.unmap(args[0], old))
            && self.unmap(answer, new)
            && self.map((answer, new), file, offset)
    }
}

/// The canonical address of memory.
#[inline]
pub(crate) fn canonical(address: u64) -> u64 {
    if TABLE.is_empty() { address } else { lookup(address) }
}

#[cold]
fn lookup(address: u64) -> u64 {
    TABLE.at(address).map_or(address, |view| {
        SHARED | view.object << OBJECT | (view.offset + address - view.start)
    })
}

/// Whether any file is mapped.
#[inline]
pub(crate) fn are_any() -> bool {
    !TABLE.is_empty() || !PRIVATE.is_empty()
}

/// Device and inode of a file.
pub(crate) type File = (u64, u64);

/// The part of a file from an offset on that is mapped, in one mapping of the file after `skip` others: its address
/// and its length. The mapping is one of the private ones, or one of the shared.
pub(crate) fn of_file(
    file: File,
    (offset, len): (u64, u64),
    is_private: bool,
    skip: usize,
) -> Option<(u64, u64)> {
    let table = if is_private { &PRIVATE } else { &TABLE };
    let end = offset.saturating_add(len);
    let parts = table.views().filter_map(|view| {
        let view_end = view.offset + (view.end - view.start);
        let (low, high) = (offset.max(view.offset), end.min(view_end));
        let is_it = table.file(view) == file;
        (is_it && low < high).then(|| (view.start + low - view.offset, high - low))
    });
    parts.into_iter().nth(skip)
}

/// The file that memory from an address on shows, in one mapping after `skip` others.
pub(crate) fn shown(start: u64, len: u64, skip: usize) -> Option<File> {
    let end = page_end(start, len);
    let files = |table: &'static Table| {
        let within = move |view: &View| view.start < end && start < view.end;
        table.views().filter(within).map(|view| table.file(view))
    };
    files(&TABLE).chain(files(&PRIVATE)).nth(skip)
}

/// The program begins: notes the mappings that exist. Whether there was room.
pub(crate) fn prepare() -> bool {
    let all = snapshot::mapped_files();
    let there = all.into_iter().all(|one| {
        let table = if one.is_private { &PRIVATE } else { &TABLE };
        table.map((one.start, one.end), (one.device, one.inode), one.offset)
    });
    TABLE.keep();
    PRIVATE.keep();
    there
}

/// An execution begins, with the mappings of the program's beginning. Whether there were others.
pub(crate) fn begin() -> bool {
    PRIVATE.begin();
    TABLE.begin()
}

const PAGE: u64 = 4096;

fn page_end(start: u64, len: u64) -> u64 {
    start.saturating_add(len).next_multiple_of(PAGE)
}

/// The effect of a system call on the mappings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    Changed,
    /// A file has both a shared mapping and a private one: a store to the first may change the second.
    Both,
    /// There are more mappings than the table holds.
    Full,
}

/// Notes a call that was made and succeeded.
pub(crate) fn note(number: i64, args: [u64; 6], answer: u64) -> Change {
    let (old, new) = (page_end(args[0], args[1]), page_end(answer, args[1]));
    let there = match number {
        libc::SYS_mmap => {
            let flags = args[3] as i32;
            let of_file = flags & libc::MAP_ANONYMOUS == 0;
            if !of_file && !are_any() {
                return Change::None;
            }
            let is_private = flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
            let (table, other) = if is_private { (&PRIVATE, &TABLE) } else { (&TABLE, &PRIVATE) };
            let file = if of_file { identity(args[4]) } else { None };
            let is_code = is_private && args[2] as i32 & libc::PROT_EXEC != 0;
            let there = TABLE.unmap(answer, new)
                && PRIVATE.unmap(answer, new)
                && file.is_none_or(|file| match is_code {
                    true => PRIVATE.leave_out(file),
                    false => table.map((answer, new), file, args[5]),
                });
            if there && file.is_some_and(|file| other.shows(file)) {
                return Change::Both;
            }
            there
        }
        libc::SYS_munmap if are_any() => TABLE.unmap(args[0], old) && PRIVATE.unmap(args[0], old),
        libc::SYS_mremap if args[1] == 0 && TABLE.at(args[0]).is_none() => {
            TABLE.map_twice(args[0], answer, args[2])
        }
        libc::SYS_mremap if are_any() => TABLE.remap(args, answer) && PRIVATE.remap(args, answer),
        libc::SYS_shmat => {
            let size = segment_size(args[0]);
            // The number of a segment is its inode; no file has this device.
            TABLE.map((answer, page_end(answer, size)), (u64::MAX, args[0]), 0)
        }
        libc::SYS_shmdt if !TABLE.is_empty() => {
            let found = TABLE.starting_at(args[0]);
            found.is_none_or(|view| TABLE.unmap(view.start, view.end))
        }
        _ => return Change::None,
    };
    if there { Change::Changed } else { Change::Full }
}

/// The size of the System V segment that is attached at an address.
pub(crate) fn segment_at(address: u64) -> Option<u64> {
    TABLE.starting_at(address).map(|view| view.end - view.start)
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
