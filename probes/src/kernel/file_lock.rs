//! Waits for file locks: `flock`, and `fcntl` with `F_SETLKW` or `F_OFD_SETLKW`.
//!
//! Only the kernel knows the holder, which may be another process. So the runtime only tries to
//! acquire the lock; if that fails the task parks, and the scheduler asks the kernel whether the
//! lock is free.

use crate::kernel::park::park_at;
use crate::kernel::pass;
use crate::state::task::Interrupted;
use crate::state::task::{ExternalWait, Gate};
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
        _ => matches!(what, libc::F_SETLKW | libc::F_OFD_SETLKW),
    }
}

/// Whether the lock described at this address can be acquired. The scheduler calls this.
fn is_free(wanted: u64) -> bool {
    // SAFETY: the address is that of a `Wanted` on the stack of a task that is parked in `serve`.
    unsafe { (*(wanted as *const Wanted)).is_free() }
}

/// Serves the call: a scheduling point, then a wait while another holds the lock.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    let wanted = Wanted { number, args };
    let wait = ExternalWait::new(is_free, &raw const wanted as u64);
    let gate = Gate::FileFree(wait.address());
    loop {
        if !park_at(gate, Operation::Ready, args[0] + 1, Interrupted::UnlessRestarted, site) {
            return -i64::from(libc::EINTR);
        }
        let answer = wanted.attempt();
        // Another process may have acquired it first.
        if !is_taken(answer) {
            if answer == 0 {
                pass::locked(number, args[0]);
            }
            return answer;
        }
    }
}
