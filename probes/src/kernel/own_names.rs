//! Pipes with a name and POSIX message queues that the execution made.
//!
//! Any process may open such an object by its name. A wait for one is the program's own matter if the
//! execution made the object, the program has started no process that runs, and no other process has the object
//! open (`/proc`; processes of other users, whose files this one may not see, do not count). Once the name is
//! gone, no other process can come, and where no task can run, that is a deadlock at once. While there is a
//! name, the runtime waits for `--patience` first.
//!
//! Processes of this process's group are its own copies (checkpoints, the process that is forked for each
//! execution): what the program itself starts counts as long as it runs.

use crate::kernel::children;
use crate::kernel::descriptor_kind::{inode, own_path};
use crate::memory::runtime_heap::in_private;
use crate::state::exclusive::Exclusive;
use crate::sys::raw;

/// A file by its device and number.
pub(crate) type File = (u64, u64);

/// The most objects of an execution that are known.
const MOST: usize = 4096;

struct Made(Exclusive<Vec<File>>);
// SAFETY: `Exclusive` checks borrows, and the controlled process has one kernel thread.
unsafe impl Sync for Made {}

static MADE: Made = Made(Exclusive::new(Vec::new()));

/// An execution begins.
pub(crate) fn begin() {
    MADE.0.borrow().clear();
}

/// Whether this call, which is about to be made, makes a message queue that does not exist yet.
pub(crate) fn makes_queue(number: i64, args: [u64; 6]) -> bool {
    if number != libc::SYS_mq_open || args[1] as i32 & libc::O_CREAT == 0 {
        return false;
    }
    // SAFETY: opens a queue by the program's name, which the kernel checks, and closes it again.
    unsafe {
        let found = raw::call!(libc::SYS_mq_open, args[0], libc::O_RDONLY | libc::O_CLOEXEC, 0, 0);
        if found >= 0 {
            raw::call!(libc::SYS_close, found);
        }
        found == -i64::from(libc::ENOENT)
    }
}

/// A call of the program returned `answer`, which is no error. `made`: what [`makes_queue`] said before.
pub(crate) fn note(number: i64, args: [u64; 6], answer: i64, made: bool) {
    let (directory, path, mode) = match number {
        _ if made => return add(inode(answer as u64)),
        libc::SYS_mknod => (libc::AT_FDCWD as u64, args[0], args[1]),
        libc::SYS_mknodat => (args[0], args[1], args[2]),
        _ => return,
    };
    if mode as u32 & libc::S_IFMT == libc::S_IFIFO {
        add(at(directory, path));
    }
}

fn add(file: Option<File>) {
    let mut made = MADE.0.borrow();
    if let Some(file) = file.filter(|_| made.len() < MOST) {
        in_private(|| made.push(file));
    }
}

/// The file at a path of the program's; none if there is none.
pub(crate) fn at(directory: u64, path: u64) -> Option<File> {
    // SAFETY: `stat` is plain data, which the kernel writes; it checks the path.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_newfstatat, directory, path, &raw mut stat, 0);
        (answer == 0).then_some((stat.st_dev, stat.st_ino))
    }
}

/// Whether the execution made what the descriptor refers to, and no other process has it open now.
pub(crate) fn is_unshared(descriptor: u64) -> bool {
    inode(descriptor).is_some_and(|file| {
        MADE.0.borrow().contains(&file) && !children::are_there() && !is_open_elsewhere(file)
    })
}

/// Whether that is so, and no name leads to it any more, so that no other process can open it.
pub(crate) fn is_private(descriptor: u64) -> bool {
    // SAFETY: `stat` is plain data, and the kernel writes only to it.
    let names = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_fstat, descriptor, &raw mut stat);
        if answer == 0 { stat.st_nlink } else { 1 }
    };
    names == 0 && is_unshared(descriptor)
}

/// Whether a process outside of this one's group has the file open.
fn is_open_elsewhere(file: File) -> bool {
    // SAFETY: passes no pointer.
    let group = |process: u64| unsafe { raw::call!(libc::SYS_getpgid, process) };
    let own = group(0);
    any_entry(b"/proc\0", |_, name| {
        let Some(process) = number(name) else { return false };
        if group(process) == own {
            return false;
        }
        let mut path = own_path(b"/proc/", process);
        let end = path.iter().position(|&byte| byte == 0).unwrap_or(0);
        path[end..end + 3].copy_from_slice(b"/fd");
        any_entry(&path, |directory, name| {
            number(name).is_some() && at(directory, name.as_ptr() as u64) == Some(file)
        })
    })
}

/// The number that a name consists of, up to its zero byte.
fn number(name: &[u8]) -> Option<u64> {
    let digits = name.split(|&byte| byte == 0).next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether `found` holds for an entry of this directory: its descriptor, and the name with a zero byte.
/// False if the directory cannot be read.
fn any_entry(path: &[u8], mut found: impl FnMut(u64, &[u8]) -> bool) -> bool {
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut buffer = [0u64; 256];
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte.
    let directory = unsafe { raw::call!(libc::SYS_open, path.as_ptr(), flags, 0) };
    if directory < 0 {
        return false;
    }
    let directory = directory as u64;
    let mut is_found = false;
    while !is_found {
        let size = size_of_val(&buffer);
        // SAFETY: the kernel writes at most `size` bytes to the buffer.
        let len = unsafe { raw::call!(libc::SYS_getdents64, directory, buffer.as_mut_ptr(), size) };
        if len <= 0 {
            break;
        }
        // SAFETY: the kernel wrote `len` bytes there.
        let mut rest =
            unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), len as usize) };
        while let Some(&[low, high]) = rest.get(LENGTH..LENGTH + 2) {
            let entry = usize::from(u16::from_ne_bytes([low, high]));
            let Some(name) = rest.get(NAME..entry) else { break };
            is_found |= found(directory, name);
            rest = &rest[entry..];
        }
    }
    // SAFETY: passes no pointer; the descriptor is this function's own.
    unsafe { raw::call!(libc::SYS_close, directory) };
    is_found
}
