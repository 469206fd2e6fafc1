//! Calls that change files in the working directory.
//!
//! Executions run in copies of that directory if one of them changes files there
//! ([`FilePolicy`]): the runtime detects the first such call, before the kernel sees it, and notes the
//! others, so that the controller restores the files before the next execution.

use crate::sys::channel::{self, header};
use crate::sys::raw;
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{FilePolicy, state};

/// The longest path of a working directory with which paths are compared.
const LONGEST: usize = 512;

/// The working directory before main, with a slash at its end; empty if its path is too long.
struct Directory(UnsafeCell<([u8; LONGEST], usize)>);

// SAFETY: written once before the program's code runs, and only read afterwards; the controlled process
// has one kernel thread.
unsafe impl Sync for Directory {}

static DIRECTORY: Directory = Directory(UnsafeCell::new(([0; LONGEST], 0)));

/// Stores the working directory.
pub(crate) fn begin() {
    // SAFETY: nothing else uses the buffer before the program's code runs; the kernel writes at most as
    // many bytes as it is given.
    unsafe {
        let (bytes, len) = &mut *DIRECTORY.0.get();
        let written = raw::call!(libc::SYS_getcwd, bytes.as_mut_ptr(), LONGEST - 1);
        // The result counts the zero at the end, which becomes the slash.
        *len = usize::try_from(written).unwrap_or(0);
        if *len > 0 {
            bytes[*len - 1] = b'/';
        }
    }
}

/// Notes a call that may change files in the working directory. Does not return if the execution is to
/// be held there.
pub(crate) fn before(number: i64, args: [u64; 6]) {
    let policy = header().files.load(Relaxed);
    let is_shared =
        [FilePolicy::Shared, FilePolicy::Unrestored].iter().any(|one| policy == one.code());
    if is_shared || !changes_files(number, args) {
        return;
    }
    if policy == FilePolicy::Hold.code() {
        channel::set_state(state::HELD);
        raw::exit_process(70);
    }
    header().files_changed.store(1, Relaxed);
}

/// Whether a call changes an entry of a directory, or may change a file, below the working directory.
fn changes_files(number: i64, args: [u64; 6]) -> bool {
    let below = |at: usize| is_below(args[at]);
    match number {
        libc::SYS_open => writes(args[1]) && below(0),
        libc::SYS_openat => writes(args[2]) && below(1),
        libc::SYS_openat2 => below(1),
        libc::SYS_creat
        | libc::SYS_unlink
        | libc::SYS_rmdir
        | libc::SYS_mkdir
        | libc::SYS_mknod
        | libc::SYS_truncate
        | libc::SYS_chmod
        | libc::SYS_chown
        | libc::SYS_lchown
        | libc::SYS_utime
        | libc::SYS_utimes => below(0),
        libc::SYS_symlink
        | libc::SYS_unlinkat
        | libc::SYS_mkdirat
        | libc::SYS_mknodat
        | libc::SYS_fchmodat
        | libc::SYS_fchownat
        | libc::SYS_futimesat
        | libc::SYS_utimensat => below(1),
        libc::SYS_bind => names_socket(args[1], args[2]),
        libc::SYS_rename | libc::SYS_link => below(0) || below(1),
        libc::SYS_symlinkat => below(2),
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_linkat => below(1) || below(3),
        _ => false,
    }
}

/// Whether a file that is opened with these flags may be changed.
pub(super) fn writes(flags: u64) -> bool {
    let flags = flags as i32;
    flags & libc::O_ACCMODE != libc::O_RDONLY || flags & (libc::O_CREAT | libc::O_TRUNC) != 0
}

/// Whether the address of a socket is a path below the working directory.
fn names_socket(address: u64, len: u64) -> bool {
    socket_path(address, len).is_some_and(is_below)
}

/// The path that the address of a socket consists of, if it does.
pub(super) fn socket_path(address: u64, len: u64) -> Option<u64> {
    const PATH: u64 = 2;
    let mut bytes = [0; PATH as usize + 1];
    let is_path = len > PATH
        && raw::read(address, &mut bytes)
        && i32::from(u16::from_le_bytes([bytes[0], bytes[1]])) == libc::AF_UNIX
        && bytes[2] != 0;
    is_path.then_some(address + PATH)
}

/// Whether each execution is to find the files that the first one found.
pub(super) fn are_restored() -> bool {
    let policy = header().files.load(Relaxed);
    [FilePolicy::Hold, FilePolicy::Private].iter().any(|one| policy == one.code())
}

/// The path of a call, from the root, if all executions share what is there: no file that shows the kernel's
/// state, and none below the working directory unless that should have been copied.
pub(super) fn shared_path(directory: u64, path: u64) -> Option<Vec<u8>> {
    if path == 0 {
        return None;
    }
    let mut bytes = [0u8; LONGEST];
    let path = from_root(directory, copy(path, &mut bytes)?)?;
    let is_kernel = [&b"/proc/"[..], b"/sys/"].iter().any(|one| path.starts_with(one));
    let is_device = path.starts_with(b"/dev/") && !path.starts_with(b"/dev/shm/");
    // SAFETY: written before the program's code ran, and not again.
    let (own, len) = unsafe { &*DIRECTORY.0.get() };
    let is_below = *len > 0 && path.starts_with(&own[..*len]);
    let is_left = !is_below || header().files.load(Relaxed) == FilePolicy::Unrestored.code();
    (!is_kernel && !is_device && is_left).then_some(path)
}

/// A path from the root, without `.` and `..`; none if it is relative to something unknown.
fn from_root(directory: u64, path: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    if path.first() != Some(&b'/') {
        let link = match directory as i32 {
            libc::AT_FDCWD => c"/proc/self/cwd".to_owned(),
            open => std::ffi::CString::new(format!("/proc/self/fd/{open}")).ok()?,
        };
        let mut to = [0u8; LONGEST];
        // SAFETY: the kernel reads a C string, and writes at most as many bytes as it is given.
        let len =
            unsafe { raw::call!(libc::SYS_readlink, link.as_ptr(), to.as_mut_ptr(), LONGEST) };
        whole.extend_from_slice(&to[..usize::try_from(len).ok()?]);
    }
    let mut parts: Vec<&[u8]> = whole.split(|&byte| byte == b'/').collect();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.retain(|part| !part.is_empty() && *part != b".");
    Some(parts.iter().flat_map(|part| [b"/", *part].concat()).collect())
}

/// Whether a path may be one below the working directory. A relative one counts as such, wherever the
/// program is now.
fn is_below(path: u64) -> bool {
    if path == 0 {
        return false;
    }
    let mut first = [0u8; LONGEST];
    let Some(path) = copy(path, &mut first) else { return false };
    // SAFETY: written before the program's code ran, and not again.
    let (directory, len) = unsafe { &*DIRECTORY.0.get() };
    path.first() != Some(&b'/') || *len == 0 || path.starts_with(&directory[..*len])
}

/// The beginning of a path of the program; none if the kernel cannot read it either.
fn copy(path: u64, to: &mut [u8; LONGEST]) -> Option<&[u8]> {
    let mut at = 0;
    // A path may end just before memory that cannot be read, so that it is read page by page.
    while at < LONGEST {
        let from = path + at as u64;
        let len = (LONGEST - at).min((4096 - from % 4096) as usize);
        if !raw::read(from, &mut to[at..at + len]) {
            return None;
        }
        if let Some(end) = to[at..at + len].iter().position(|byte| *byte == 0) {
            return Some(&to[..at + end]);
        }
        at += len;
    }
    Some(&to[..])
}
