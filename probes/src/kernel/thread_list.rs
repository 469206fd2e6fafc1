//! The directory `/proc/self/task`, which lists the threads of the process: here its tasks.

use crate::kernel::descriptor_kind::target_of;
use crate::kernel::pass::pass;
use crate::kernel::task_files;
use crate::primitives::attributes::{number_meant, own_process, shown_tid};
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::sys::raw;

/// The size of a `linux_dirent64` without its name.
const ENTRY: usize = 19;

/// Whether a descriptor is of that directory.
pub(crate) fn is_one(descriptor: u64) -> bool {
    // SAFETY: `getpid` takes no arguments and touches no memory.
    let own = unsafe { raw::call!(libc::SYS_getpid) };
    target_of(u64::from(descriptor as u32), &mut [0; 64]) == format!("/proc/{own}/task").as_bytes()
}

/// The arguments of a call, with a path below a task's directory in `/proc` replaced by that of the one
/// kernel thread; and the task. `to` is where the new path is.
pub(crate) fn with_own_path(
    number: i64,
    args: [u64; 6],
    to: &mut [u8; 256],
) -> ([u64; 6], Option<u16>) {
    let index = match number {
        libc::SYS_open
        | libc::SYS_access
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_readlink => 0,
        libc::SYS_openat
        | libc::SYS_faccessat
        | libc::SYS_faccessat2
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_readlinkat => 1,
        _ => return (args, None),
    };
    let mut start = [0; 6];
    let begins = raw::read(args[index], &mut start[..1]);
    if !begins || start[0] == b'/' && !(raw::read(args[index], &mut start) && start == *b"/proc/") {
        return (args, None);
    }
    // SAFETY: the caller passes a path, whose beginning was just read.
    let path = unsafe { std::ffi::CStr::from_ptr(args[index] as *const _) }.to_bytes();
    let (task, rest) = match path.strip_prefix(b"/proc/") {
        Some(below) => match below_task(below) {
            Some(found) => found,
            None => return (args, of_this_task(below)),
        },
        None if index == 0 => return (args, None),
        // Relative to the directory of a task, or to the list of them.
        None if (args[0] as i32) < 0 || !is_one(args[0]) => {
            return (args, task_files::task(args[0]));
        }
        None => match of_number(path) {
            Some(found) => found,
            None => return (args, None),
        },
    };
    const THREAD: &[u8] = b"/proc/thread-self";
    if THREAD.len() + rest.len() >= to.len() {
        return (args, None);
    }
    to[..THREAD.len()].copy_from_slice(THREAD);
    to[THREAD.len()..][..rest.len()].copy_from_slice(rest);
    to[THREAD.len() + rest.len()] = 0;
    let mut args = args;
    args[index] = to.as_ptr() as u64;
    (args, Some(task))
}

/// The answer to a call that reads the link to the running task's directory, if it is one and the kernel would name
/// another thread.
pub(crate) fn link(number: i64, args: [u64; 6]) -> Option<i64> {
    const LINK: &[u8; 18] = b"/proc/thread-self\0";
    let (path, to, len) = match number {
        libc::SYS_readlink => (args[0], args[1], args[2]),
        libc::SYS_readlinkat => (args[1], args[2], args[3]),
        _ => return None,
    };
    let mut start = [0; LINK.len()];
    let task = world().current.get();
    if task == 0 || !raw::read(path, &mut start) || start != *LINK || (len as i32) <= 0 {
        return None;
    }
    let target = format!("{}/task/{}", own_process(), shown_tid(task));
    let len = target.len().min(len as usize);
    // SAFETY: the caller passes a buffer of this size.
    unsafe { std::ptr::copy_nonoverlapping(target.as_ptr(), to as *mut u8, len) };
    Some(len as i64)
}

/// The number that a path begins with, and its length.
fn number_in(path: &[u8]) -> Option<(i32, usize)> {
    let len = path.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&path[..len]).ok()?.parse::<i32>().ok()?;
    (path.len() == len || path[len] == b'/').then_some((number, len))
}

/// The living task with the thread id that a path begins with, and what follows it.
fn of_number(path: &[u8]) -> Option<(u16, &[u8])> {
    let (tid, len) = number_in(path)?;
    let task = number_meant(tid as u64).filter(|_| tid != 0)?;
    let is_alive = world().tasks[usize::from(task)].life() == Lifecycle::Alive;
    is_alive.then_some((task, &path[len..]))
}

/// The task in a path below `/proc` that does not exist in the kernel, and what follows its directory.
fn below_task(path: &[u8]) -> Option<(u16, &[u8])> {
    let own = own_process();
    let (process, len) = match path.strip_prefix(b"self") {
        Some(_) => (own as i32, 4),
        None => number_in(path)?,
    };
    match path[len..].strip_prefix(b"/task/") {
        Some(task) if i64::from(process) == own => of_number(task),
        // The kernel also has a directory for each thread beside those of processes.
        _ if i64::from(process) != own => of_number(path),
        _ => None,
    }
}

/// The task in a path below `/proc` that the kernel knows: main, or the running one.
fn of_this_task(path: &[u8]) -> Option<u16> {
    let end = path.iter().position(|&byte| byte == b'/').unwrap_or(path.len());
    match &path[..end] {
        b"thread-self" => Some(world().current.get()),
        b"self" => Some(0),
        process => (number_in(process)?.0 == own_process() as i32).then_some(0),
    }
}

/// `getdents64`: the first call returns all entries, and the next none, as the kernel does for a directory
/// with one thread.
pub(crate) fn list(args: [u64; 6]) -> i64 {
    let mut scratch = [0u64; 128];
    let len = size_of_val(&scratch) as u64;
    let answer = pass(libc::SYS_getdents64, [args[0], scratch.as_mut_ptr() as u64, len, 0, 0, 0]);
    if answer <= 0 {
        return answer;
    }
    let world = world();
    let threads = world
        .alive()
        .filter(|&number| world.tasks[usize::from(number)].is_thread())
        .map(|number| shown_tid(number).to_string());
    let names = [".".to_owned(), "..".to_owned()].into_iter().chain(threads);
    let mut entries = Vec::new();
    for (index, name) in names.enumerate() {
        let size = (ENTRY + name.len() + 1).next_multiple_of(8);
        let mut entry = vec![0u8; size];
        entry[..8].copy_from_slice(&(index as u64 + 1).to_le_bytes());
        entry[8..16].copy_from_slice(&(index as u64 + 1).to_le_bytes());
        entry[16..18].copy_from_slice(&(size as u16).to_le_bytes());
        entry[18] = libc::DT_DIR;
        entry[ENTRY..ENTRY + name.len()].copy_from_slice(name.as_bytes());
        if entries.len() + size > args[2] as usize {
            break;
        }
        entries.extend(entry);
    }
    if entries.is_empty() {
        return -i64::from(libc::EINVAL);
    }
    // SAFETY: the caller of `getdents64` passes a buffer of `args[2]` bytes, and the entries fit.
    unsafe {
        std::ptr::copy_nonoverlapping(entries.as_ptr(), args[1] as *mut u8, entries.len());
    }
    entries.len() as i64
}
