//! Waits for file locks: `flock`, and `fcntl` with `F_SETLKW` or `F_OFD_SETLKW`.
//!
//! Only the kernel knows the holder, which may be another process. So the runtime only tries to
//! acquire the lock; if that fails the task parks, and the scheduler asks the kernel whether the
//! lock is free.

use crate::kernel::children;
use crate::kernel::descriptor_kind::inode;
use crate::kernel::park::{Held, closed_meanwhile, park_at, words_of};
use crate::kernel::pass;
use crate::state::awaited::Awaited;
use crate::state::task::Interrupted;
use crate::state::task::{ExternalWait, Gate};
use crate::state::world::world;
use crate::sys::raw;
use traces::Operation;

/// A lock that a task waits for, on its stack.
#[derive(Clone, Copy)]
struct Wanted {
    number: i64,
    args: [u64; 6],
}

impl Wanted {
    /// Acquires the lock if that needs no wait; returns the kernel's result.
    fn attempt(&self) -> i64 {
        let [descriptor, what, more, ..] = self.args;
        let what = match self.number {
            libc::SYS_flock => what | libc::LOCK_NB as u64,
            _ if what as i32 == libc::F_OFD_SETLKW => libc::F_OFD_SETLK as u64,
            _ => libc::F_SETLK as u64,
        };
        // SAFETY: the program's own call, in its form that does not wait; the kernel checks the
        // pointer.
        unsafe { raw::syscall(self.number, [descriptor, what, more, 0, 0, 0]) }
    }

    /// Whether the lock can be acquired now, or would be refused permanently.
    fn is_free(&self) -> bool {
        let [descriptor, what, more, ..] = self.args;
        if self.number == libc::SYS_flock {
            // The kernel does not report the holder of a `flock`, so try. The waiting task holds no
            // lock on the same file itself, which the attempt could replace: the kernel removes the
            // old lock first.
            let answer = self.attempt();
            if answer == 0 {
                // SAFETY: passes no pointer; releases the lock that was just acquired.
                unsafe { raw::call!(libc::SYS_flock, descriptor, libc::LOCK_UN) };
            }
            return !is_taken(answer);
        }
        // SAFETY: the program's `struct flock`, which the kernel read at the first attempt without
        // `EFAULT`; the task is parked in the call.
        let mut asked = unsafe { *(more as *const libc::flock) };
        let ask = match what as i32 == libc::F_OFD_SETLKW {
            true => libc::F_OFD_GETLK,
            false => libc::F_GETLK,
        };
        // SAFETY: the kernel reads and writes only the local `asked`.
        let answer = unsafe { raw::call!(libc::SYS_fcntl, descriptor, ask, &raw mut asked) };
        answer < 0 || i32::from(asked.l_type) == libc::F_UNLCK
    }
}

fn is_taken(answer: i64) -> bool {
    [libc::EAGAIN, libc::EACCES].iter().any(|&error| answer == -i64::from(error))
}

/// Whether a call may wait for a file lock.
pub(crate) fn waits(number: i64, args: [u64; 6]) -> bool {
    let what = args[1] as i32;
    match number {
        libc::SYS_flock => what & libc::LOCK_NB == 0 && what & libc::LOCK_UN == 0,
        _ => matches!(what, libc::F_SETLKW | libc::F_OFD_SETLKW) && !releases(args[2]),
    }
}

/// Whether a `struct flock` says that locks are to be released.
fn releases(lock: u64) -> bool {
    let mut kind = [0; 2];
    raw::read(lock, &mut kind) && i32::from(i16::from_ne_bytes(kind)) == libc::F_UNLCK
}

/// Whether the lock described at this address can be acquired. The scheduler calls this.
fn is_free(wanted: u64) -> bool {
    // SAFETY: the address is that of a `Wanted` on the stack of a task that is parked in `serve`.
    unsafe { (*(wanted as *const Wanted)).is_free() }
}

/// Whether a call that did not wait was refused because this process has the lock.
pub(crate) fn is_refused(number: i64, args: [u64; 6], answer: i64) -> bool {
    let wanted = Wanted { number, args };
    is_taken(answer) && is_own(&raw const wanted as u64)
}

/// Whether only this process can release the lock described at this address.
fn is_own(wanted: u64) -> bool {
    // SAFETY: as in `is_free`.
    let Wanted { number, args } = unsafe { *(wanted as *const Wanted) };
    // Locks of one process do not conflict with each other if they are the process's own.
    let kind: &[u8] = match number {
        libc::SYS_flock => b"FLOCK",
        _ if matches!(args[1] as i32, libc::F_OFD_SETLK | libc::F_OFD_SETLKW) => b"OFDLCK",
        _ => return false,
    };
    !children::are_there() && has_lock(kind, args[0])
}

/// Whether this process has a lock of this kind on the file of a descriptor, as far as the kernel lists
/// them; true if it lists none.
fn has_lock(kind: &[u8], descriptor: u64) -> bool {
    let mut text = [0u8; 8192];
    // SAFETY: the path ends with a zero byte, and the kernel writes only to `text`.
    let (len, own) = unsafe {
        let path = c"/proc/locks".as_ptr();
        let file = raw::call!(libc::SYS_open, path, libc::O_RDONLY | libc::O_CLOEXEC, 0);
        let len = raw::call!(libc::SYS_read, file, text.as_mut_ptr(), text.len());
        raw::call!(libc::SYS_close, file);
        (len.max(0) as usize, raw::call!(libc::SYS_getpid))
    };
    let Some((_, inode)) = inode(descriptor).filter(|_| len > 0) else { return true };
    let is_number = |field: &[u8], number: u64| {
        std::str::from_utf8(field).is_ok_and(|text| text.parse() == Ok(number))
    };
    // A number, the kind, two properties, the process, the file as `major:minor:inode`.
    text[..len].split(|&byte| byte == b'\n').any(|line| {
        let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
        let of_kind = fields.nth(1).is_some_and(|field| field == kind);
        let process = fields.nth(2).unwrap_or_default();
        let file = fields.next().unwrap_or_default();
        // Locks of open files have no process.
        of_kind
            && (process == b"-1" || is_number(process, own as u64))
            && file.rsplit(|&byte| byte == b':').next().is_some_and(|it| is_number(it, inode))
    })
}

/// Serves the call: a scheduling point, then a wait while another holds the lock.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    let mut wanted = Wanted { number, args };
    let waits = !wanted.is_free();
    // As in the kernel, the wait keeps the file open. (A lock that belongs to the process would end with any
    // descriptor of the file.)
    let is_of_file = number == libc::SYS_flock || args[1] as i32 == libc::F_OFD_SETLKW;
    let held = (waits && is_of_file).then(|| Held::new(args[0]));
    if let Some(held) = &held {
        wanted.args[0] = held.descriptor() as u64;
    }
    let wait = ExternalWait::new(is_free, &raw const wanted as u64).private_if(is_own);
    let gate = Gate::FileFree(wait.address());
    let (task, awaited) = (world().task(), Awaited::change(words_of(args[0])));
    task.limited_wait.set(wait.address());
    loop {
        task.open_files.set(Some(awaited));
        let ended =
            park_at(gate, Operation::Ready, args[0] + 1, Interrupted::UnlessRestarted, site);
        task.open_files.set(None);
        if !ended {
            return -i64::from(libc::EINTR);
        }
        let answer = wanted.attempt();
        // Another process may have acquired it first.
        if !is_taken(answer) {
            if waits && answer == -i64::from(libc::EBADF) {
                closed_meanwhile(site);
            }
            if answer == 0 {
                pass::locked(number, args[0]);
            }
            return answer;
        }
    }
}
