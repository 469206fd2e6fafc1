//! Ends what the program started, if Heddle itself ends without a chance to do so.
//!
//! The worker processes are killed by the kernel when Heddle dies, but the processes that the program
//! started are not. They are in the process groups of the workers. A small process of Heddle's, which has
//! nothing open but a pipe from it, ends these groups when the pipe is closed, by whatever means.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The most process groups at a time.
const MOST: usize = 4096;

/// The process that waits, and the pipe to it.
#[derive(Debug)]
struct Guard {
    pid: i32,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    pipe: Option<File>,
    /// The processes that were started and have not ended.
    groups: Vec<i32>,
}

static GUARD: OnceLock<Option<Guard>> = OnceLock::new();

/// A process was started, which leads a process group.
pub(crate) fn started(process: i32) {
    change(process, true);
}

/// A process has ended, and was waited for: ends the rest of its group, once.
pub(crate) fn ended(process: i32) {
    if change(process, false) {
        // SAFETY: passes no pointer. The number is not used again as long as the group has a process.
        unsafe { libc::kill(-process, libc::SIGKILL) };
    }
}

/// Adds or removes a process; false if that was done before.
fn change(process: i32, runs: bool) -> bool {
    let Some(guard) = GUARD.get_or_init(Guard::start) else { return !runs };
    let mut open = guard.open.lock().unwrap_or_else(PoisonError::into_inner);
    let before = open.groups.len();
    open.groups.retain(|&group| group != process);
    if runs {
        open.groups.push(process);
    } else if open.groups.len() == before {
        return false;
    }
    let word = if runs { process } else { -process };
    if let Some(pipe) = open.pipe.as_mut() {
        // It fails only if the process at its other end was ended by someone.
        let _ = pipe.write_all(&word.to_ne_bytes());
    }
    true
}

impl Guard {
    /// Starts the process; none if the system refuses, which shows when the program is started.
    fn start() -> Option<Guard> {
        let mut ends = [0; 2];
        // SAFETY: the call writes two descriptors to the local.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return None;
        }
        // SAFETY: the descriptors were just made, and nothing else owns them. Between `fork` and the end of
        // the child, which has one thread, only system calls are made.
        unsafe {
            let [from, to] = ends.map(|end| OwnedFd::from_raw_fd(end));
            let pid = libc::fork();
            match pid {
                -1 => None,
                0 => wait(from.as_raw_fd()),
                _ => {
                    libc::atexit(at_exit);
                    let open = Open { pipe: Some(File::from(to)), groups: Vec::new() };
                    Some(Guard { pid, open: Mutex::new(open) })
                }
            }
        }
    }
}

/// The process ends with Heddle, and is waited for.
extern "C" fn at_exit() {
    let Some(Some(guard)) = GUARD.get() else { return };
    let Ok(mut open) = guard.open.try_lock() else { return };
    drop(open.pipe.take());
    // SAFETY: the process is a child that nothing else waits for.
    unsafe { libc::waitpid(guard.pid, std::ptr::null_mut(), 0) };
}

/// Reads numbers of processes until the pipe is closed, then ends their groups.
fn wait(pipe: i32) -> ! {
    let mut groups = [0i32; MOST];
    // SAFETY: plain system calls; the reads write to a local.
    unsafe {
        // Signals from the terminal are for Heddle.
        libc::setsid();
        libc::dup2(pipe, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let mut word = 0i32;
        loop {
            match libc::read(0, (&raw mut word).cast(), size_of::<i32>()) {
                4 => {
                    // A new number has a free place, one of a process that ended its own.
                    let sought = if word > 0 { 0 } else { -word };
                    if let Some(place) = groups.iter_mut().find(|group| **group == sought) {
                        *place = word.max(0);
                    }
                }
                -1 if *libc::__errno_location() == libc::EINTR => {}
                _ => break,
            }
        }
        for group in groups.into_iter().filter(|&group| group > 1) {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}
