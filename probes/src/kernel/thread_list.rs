//! The directory `/proc/self/task`, which lists the threads of the process: here its tasks.

use crate::kernel::pass::pass;
use crate::primitives::attributes::own_process;
use crate::state::world::world;
use crate::sys::raw;

/// The size of a `linux_dirent64` without its name.
const ENTRY: usize = 19;

/// Whether a descriptor is of that directory.
pub(crate) fn is_one(descriptor: u64) -> bool {
    let mut link = [0u8; 64];
    let path = format!("/proc/self/fd/{}\0", descriptor as u32);
    // SAFETY: the path is a C string, and the kernel writes at most the length of the buffer.
    let (len, own) = unsafe {
        let len = raw::call!(libc::SYS_readlink, path.as_ptr(), link.as_mut_ptr(), link.len());
        (len, raw::call!(libc::SYS_getpid))
    };
    let expected = format!("/proc/{own}/task");
    usize::try_from(len).is_ok_and(|len| link.get(..len) == Some(expected.as_bytes()))
}

/// The arguments of a call, with a path below a task's directory in `/proc` replaced by that of the one
/// kernel thread. `to` is where the new path is.
pub(crate) fn with_own_path(number: i64, args: [u64; 6], to: &mut [u8; 256]) -> [u64; 6] {
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
        _ => return args,
    };
    let mut start = [0; 6];
    if !raw::read(args[index], &mut start) || start != *b"/proc/" {
        return args;
    }
    // SAFETY: the caller passes a path, whose beginning was just read.
    let path = unsafe { std::ffi::CStr::from_ptr(args[index] as *const _) }.to_bytes();
    let Some(rest) = below_task(&path[start.len()..]) else { return args };
    const THREAD: &[u8] = b"/proc/thread-self";
    if THREAD.len() + rest.len() >= to.len() {
        return args;
    }
    to[..THREAD.len()].copy_from_slice(THREAD);
    to[THREAD.len()..][..rest.len()].copy_from_slice(rest);
    to[THREAD.len() + rest.len()] = 0;
    let mut args = args;
    args[index] = to.as_ptr() as u64;
    args
}

/// What follows the directory of a task of this program in a path below `/proc`.
fn below_task(path: &[u8]) -> Option<&[u8]> {
    let own = own_process();
    let number = |path: &[u8]| {
        let len = path.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = std::str::from_utf8(&path[..len]).ok()?.parse::<i32>().ok()?;
        (path.len() == len || path[len] == b'/').then_some((number, len))
    };
    let (process, len) = match path.strip_prefix(b"self") {
        Some(_) => (own as i32, 4),
        None => number(path)?,
    };
    let rest = &path[len..];
    let world = world();
    match rest.strip_prefix(b"/task/") {
        Some(task) if i64::from(process) == own => {
            let (tid, len) = number(task)?;
            world.by_tid(tid).map(|_| &task[len..])
        }
        // The kernel also has a directory for each thread beside those of processes.
        _ if i64::from(process) != own => world.by_tid(process).map(|_| rest),
        _ => None,
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
        .filter(|&number| !world.tasks[usize::from(number)].is_timer.get())
        .map(|number| world.tid(number).to_string());
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
