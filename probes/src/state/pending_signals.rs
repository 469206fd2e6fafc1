//! Pending signals: which were sent and not handled yet, and their information.
//!
//! A standard signal is pending at most once, with the information of the first; real-time signals
//! are queued (signal(7)). The masks of pending signals are in the tasks and in the world; the
//! queue here holds the rest.

use crate::state::task::Task;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;

/// The information that comes with a signal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Information {
    /// The `si_code`, which says how the signal was sent.
    pub(crate) code: i32,
    pub(crate) value: u64,
}

impl Information {
    /// A signal sent by `kill`.
    pub(crate) const BY_PROCESS: Information = Information { code: libc::SI_USER, value: 0 };
    /// A signal sent by `pthread_kill` or `raise`.
    pub(crate) const BY_TASK: Information = Information { code: libc::SI_TKILL, value: 0 };

    /// The signal of a child that has ended: how (`CLD_EXITED` and the like), which, and its status; none
    /// if no child has.
    pub(crate) fn of_child() -> Option<Information> {
        let mut info = [0u64; 16];
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the kernel writes only to `info`, which has room for a `siginfo_t`.
        let answer =
            unsafe { raw::call!(libc::SYS_waitid, libc::P_ALL, 0, info.as_mut_ptr(), flags, 0) };
        let (code, process, status) = (info[1] as i32, info[2] as u32, info[3] as u32);
        let value = u64::from(process) | u64::from(status) << 32;
        (answer == 0 && process != 0).then_some(Information { code, value })
    }

    /// A signal sent by a timer, with its value.
    pub(crate) fn of_timer(value: u64) -> Information {
        Information { code: libc::SI_TIMER, value }
    }

    /// A signal sent by `sigqueue`, with a value.
    pub(crate) fn queued(value: u64) -> Information {
        Information { code: libc::SI_QUEUE, value }
    }

    /// Writes the `siginfo_t`, of 128 bytes.
    ///
    /// # Safety
    /// `to` is the address of a writable `siginfo_t`.
    pub(crate) unsafe fn write(self, signal: i32, to: u64) {
        // SAFETY: the caller guarantees 128 writable bytes, to which all offsets belong; the system
        // calls pass no pointers.
        unsafe {
            let (words, halves) = (to as *mut u64, to as *mut i32);
            words.write_bytes(0, 16);
            halves.write(signal);
            halves.add(2).write(self.code);
            if matches!(self.code, libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE) {
                halves.add(4).write(raw::call!(libc::SYS_getpid) as i32);
                halves.add(5).write(raw::call!(libc::SYS_getuid) as i32);
            }
            if signal == libc::SIGCHLD && self.code > 0 {
                halves.add(4).write(self.value as i32);
                halves.add(5).write(raw::call!(libc::SYS_getuid) as i32);
                halves.add(6).write((self.value >> 32) as i32);
                return;
            }
            words.add(3).write(self.value);
        }
    }
}

/// The receiver of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To {
    Process,
    Task(u16),
}

#[derive(Clone, Copy)]
struct Sent {
    to: To,
    signal: i32,
    information: Information,
}

const NOTHING: Sent = Sent { to: To::Process, signal: 0, information: Information::BY_PROCESS };
/// The most queued signals. Further real-time signals are refused, as they are beyond
/// `RLIMIT_SIGPENDING`.
const ROOM: usize = 256;
/// The first of the kernel's real-time signals.
const REAL_TIME: i32 = 32;

struct Queue {
    sent: [Cell<Sent>; ROOM],
    len: Cell<usize>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Queue {}
static QUEUE: Queue = Queue { sent: [const { Cell::new(NOTHING) }; ROOM], len: Cell::new(0) };

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// An execution begins.
pub(crate) fn clear() {
    QUEUE.len.set(0);
}

/// Whether no signal is pending.
pub(crate) fn is_clear() -> bool {
    QUEUE.len.get() == 0
}

fn mask(to: To) -> &'static Cell<u64> {
    match to {
        To::Process => &world().pending,
        To::Task(number) => &world().tasks[usize::from(number)].pending,
    }
}

/// Adds a signal; false if the queue is full.
pub(crate) fn add(to: To, signal: i32, information: Information) -> bool {
    let mask = mask(to);
    let is_real_time = signal >= REAL_TIME;
    if !is_real_time && mask.get() & bit(signal) != 0 {
        return true;
    }
    let len = QUEUE.len.get();
    if len < ROOM {
        QUEUE.sent[len].set(Sent { to, signal, information });
        QUEUE.len.set(len + 1);
    } else if is_real_time {
        return false;
    }
    mask.set(mask.get() | bit(signal));
    true
}

fn first(to: To, signal: i32) -> Option<usize> {
    (0..QUEUE.len.get()).find(|&at| {
        let sent = QUEUE.sent[at].get();
        sent.to == to && sent.signal == signal
    })
}

/// Whether a timer sent one of these pending signals.
pub(crate) fn is_of_timer(to: To, signals: u64) -> bool {
    (0..QUEUE.len.get()).map(|at| QUEUE.sent[at].get()).any(|sent| {
        sent.to == to && signals & bit(sent.signal) != 0 && sent.information.code == libc::SI_TIMER
    })
}

/// Takes a pending signal; returns its information.
pub(crate) fn take(to: To, signal: i32) -> Information {
    let found = first(to, signal);
    if let Some(at) = found {
        let sent = QUEUE.sent[at].get();
        let len = QUEUE.len.get() - 1;
        for at in at..len {
            QUEUE.sent[at].set(QUEUE.sent[at + 1].get());
        }
        QUEUE.len.set(len);
        if first(to, signal).is_some() {
            return sent.information;
        }
        let mask = mask(to);
        mask.set(mask.get() & !bit(signal));
        return sent.information;
    }
    // The queue was full when the signal came, so its information is lost.
    let mask = mask(to);
    mask.set(mask.get() & !bit(signal));
    Information::BY_PROCESS
}

/// Takes the first of these signals that is pending for the running task; its own come before the
/// process's.
pub(crate) fn take_any(set: u64) -> Option<(i32, Information)> {
    let own = To::Task(world().current.get());
    [own, To::Process].into_iter().find_map(|to| {
        let ready = mask(to).get() & set;
        let signal = ready.trailing_zeros() as i32 + 1;
        (ready != 0).then(|| (signal, take(to, signal)))
    })
}

/// Whether a signal is pending for a task, or for the process.
pub(crate) fn is_pending(signal: i32) -> bool {
    let world = world();
    let mut all = world.alive().map(To::Task).chain([To::Process]);
    all.any(|to| mask(to).get() & bit(signal) != 0)
}

/// The signal is ignored from here on, or another one discards it: pending ones are forgotten.
pub(crate) fn forget(signal: i32) {
    let world = world();
    let tasks = world.alive().map(To::Task);
    for to in tasks.chain([To::Process]) {
        while mask(to).get() & bit(signal) != 0 {
            take(to, signal);
        }
    }
}

/// Whether any of these is pending for a task.
pub(crate) fn any(task: &Task, set: u64) -> bool {
    (task.pending.get() | world().pending.get()) & set != 0
}
