//! Other programs that the program starts ([`crate::kernel::spawns`]).
//!
//! They run beside the program, without control. A task that waits for one, or for a pipe or socket that
//! one may use, waits in real time before it parks: how long another process takes then decides nothing
//! about the schedule, unless it takes longer than three seconds. When such a process ends relative to other
//! tasks is not explored, so a program that starts one is not explored completely.

use crate::schedule::external;
use crate::state::root::root;
use crate::sys::channel::header;
use crate::sys::raw;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;

/// How long a task waits in real time for what another process may provide, in milliseconds.
const MOST: u32 = 3000;
/// After this many waits in vain, no task waits: the other processes wait themselves.
const MOST_TIMEOUTS: u32 = 4;

struct Children {
    /// Whether the execution has started a process.
    any: Cell<bool>,
    timeouts: Cell<u32>,
}

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Children {}

static CHILDREN: Children = Children { any: Cell::new(false), timeouts: Cell::new(0) };

/// The processes that the program started and has not waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Processes {
    None,
    /// All of them run.
    Run,
    /// At least one has ended.
    Ended,
}

fn processes() -> Processes {
    if !CHILDREN.any.get() {
        return Processes::None;
    }
    let mut info = [0u64; 16];
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes only to `info`, which has room for a `siginfo_t`.
    let answer =
        unsafe { raw::call!(libc::SYS_waitid, libc::P_ALL, 0, info.as_mut_ptr(), flags, 0) };
    // The process number in it is set if one has ended.
    match (answer, info[2] as i32) {
        (0, 0) => Processes::Run,
        (0, _) => Processes::Ended,
        _ => Processes::None,
    }
}

/// Whether the program has started a process and not waited for it: pipes and sockets may be its, too.
pub(crate) fn are_there() -> bool {
    processes() != Processes::None
}

/// Whether a process is a child of the program, or all processes of a group are, which has a negative
/// number.
pub(crate) fn has(process: i32) -> bool {
    let mut info = [0u64; 16];
    let kind = if process > 0 { libc::P_PID } else { libc::P_PGID };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the kernel writes only to `info`, which has room for a `siginfo_t`.
    unsafe {
        CHILDREN.any.get()
            && ![0, -1].contains(&process)
            && raw::call!(libc::SYS_getpgid, 0) != -i64::from(process)
            && raw::call!(
                libc::SYS_waitid,
                kind,
                process.unsigned_abs(),
                info.as_mut_ptr(),
                flags,
                0
            ) == 0
    }
}

/// Waits in real time until `is_ready`, as long as the processes that the program started run, at most
/// three seconds, and at most as long as an execution waits for another process.
pub(crate) fn give_time(is_ready: impl Fn() -> bool) {
    let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    if processes() == Processes::None || external::repeats_end() {
        return;
    }
    for _ in 0..MOST.min(root().outside_limit) {
        if CHILDREN.timeouts.get() >= MOST_TIMEOUTS || is_ready() || processes() != Processes::Run {
            return;
        }
        // To the watchdog, the wait is progress: its length is limited.
        header().heartbeat.fetch_add(1, Relaxed);
        // SAFETY: the kernel only reads the local `pause`.
        unsafe { raw::call!(libc::SYS_nanosleep, &raw const pause, 0) };
    }
    CHILDREN.timeouts.set(CHILDREN.timeouts.get() + 1);
}

/// Waits in real time for the end of a process, at most ten seconds; forever if it is about to end. Its
/// status.
pub(crate) fn wait_for(process: i64, ends: bool) -> Option<i32> {
    let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    let mut status = 0i32;
    for _ in 0..if process > 0 { 10_000 } else { 0 } {
        let flags = if ends { 0 } else { libc::WNOHANG };
        // SAFETY: the kernel writes the status to a local, and only reads the local `pause`.
        unsafe {
            if raw::call!(libc::SYS_wait4, process, &raw mut status, flags, 0) == process {
                return Some(status);
            }
            header().heartbeat.fetch_add(1, Relaxed);
            raw::call!(libc::SYS_nanosleep, &raw const pause, 0);
        }
    }
    None
}

/// The program is about to start a process. Whether the execution has started one before.
pub(crate) fn note_start() -> bool {
    CHILDREN.any.replace(true)
}

/// The execution ended: ends the processes that it started.
pub(crate) fn end() {
    CHILDREN.timeouts.set(0);
    if CHILDREN.any.replace(false) {
        end_all();
    }
}

/// Processes whose parents end get this process as their parent, so that [`end_all`] ends them, too.
pub(crate) fn adopt() {
    // SAFETY: passes no pointer.
    unsafe { raw::call!(libc::SYS_prctl, libc::PR_SET_CHILD_SUBREAPER, 1) };
}

/// Ends all children of this process, and their children, as often as there are new ones, but not forever.
pub(crate) fn end_all() {
    const MOST_ROUNDS: usize = 1000;
    for _ in 0..MOST_ROUNDS {
        let mut info = [0u64; 16];
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the kernel writes only to `info`, which has room for a `siginfo_t`.
        let there =
            unsafe { raw::call!(libc::SYS_waitid, libc::P_ALL, 0, info.as_mut_ptr(), flags, 0) };
        if there < 0 || !end_listed() {
            return;
        }
    }
}

/// Ends the children that the kernel lists; false if it lists none.
fn end_listed() -> bool {
    let mut text = [0u8; 1024];
    let mut any = false;
    // SAFETY: the calls pass a path that ends with a zero byte and a local buffer with its length. The
    // processes are children that were not waited for, so their numbers are still theirs.
    unsafe {
        let path = c"/proc/thread-self/children".as_ptr();
        let file = raw::call!(libc::SYS_open, path, libc::O_RDONLY | libc::O_CLOEXEC);
        // A kernel without this file: the worker's process group ends with the worker.
        if file < 0 {
            return false;
        }
        let len = raw::call!(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        raw::call!(libc::SYS_close, file);
        let text = &text[..len.max(0) as usize];
        // A number at the buffer's end may be cut off.
        let complete = text.iter().rposition(|byte| *byte == b' ').unwrap_or(0);
        let numbers = text[..complete].split(|byte| !byte.is_ascii_digit());
        for digits in numbers.filter(|digits| !digits.is_empty()) {
            let process =
                digits.iter().fold(0i32, |number, digit| number * 10 + i32::from(digit - b'0'));
            let mut status = 0i32;
            raw::call!(libc::SYS_kill, process, libc::SIGKILL);
            raw::call!(libc::SYS_wait4, process, &raw mut status, 0, 0);
            any = true;
        }
    }
    any
}
