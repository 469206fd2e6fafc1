//! Locks on files that are waited for: `flock`, and `fcntl` with `F_SETLKW` or `F_OFD_SETLKW`.
//!
//! Who holds one is the kernel's to know, and may be another process. So the lock is only ever tried
//! for; a task that does not get it parks, and the scheduler asks whether it could be had by now.

use crate::models::delivery::Interrupted;
use crate::models::{cancel, readiness};
use crate::raw;
use crate::scheduler::point;
use crate::syscalls;
use crate::task::Gate;
use crate::world::world;
use traces::Operation;

/// A lock that a task waits for, kept on its stack: [`Gate::FileFree`] has its address.
#[derive(Clone, Copy)]
struct Wanted {
    number: i64,
    args: [u64; 6],
}

impl Wanted {
    /// Takes it if that needs no waiting; the kernel's answer.
    fn attempt(&self) -> i64 {
        let [descriptor, what, more, ..] = self.args;
        let what = match self.number {
            libc::SYS_flock => what | libc::LOCK_NB as u64,
            _ if what as i32 == libc::F_OFD_SETLKW => libc::F_OFD_SETLK as u64,
            _ => libc::F_SETLK as u64,
        };
        // SAFETY: the program's own call, as one that does not wait.
        unsafe { raw::syscall(self.number, [descriptor, what, more, 0, 0, 0]) }
    }

    /// Whether it could be had now, or would be refused for good.
    fn is_free(&self) -> bool {
        let [descriptor, what, more, ..] = self.args;
        if self.number == libc::SYS_flock {
            // Nothing tells who has one. A task that waits for one has none of the same file: the
            // kernel takes that away first.
            let answer = self.attempt();
            if answer == 0 {
                // SAFETY: gives back what was taken just now.
                unsafe { raw::call!(libc::SYS_flock, descriptor, libc::LOCK_UN) };
            }
            return !is_taken(answer);
        }
        // SAFETY: the program's, which the kernel read when it was first tried for.
        let mut asked = unsafe { *(more as *const libc::flock) };
        let ask = match what as i32 == libc::F_OFD_SETLKW {
            true => libc::F_OFD_GETLK,
            false => libc::F_GETLK,
        };
        // SAFETY: asks about a range.
        let answer = unsafe { raw::call!(libc::SYS_fcntl, descriptor, ask, &raw mut asked) };
        answer < 0 || i32::from(asked.l_type) == libc::F_UNLCK
    }
}

fn is_taken(answer: i64) -> bool {
    [libc::EAGAIN, libc::EACCES].iter().any(|&error| answer == -i64::from(error))
}

/// Whether a call may wait for a lock on a file.
pub(crate) fn waits(number: i64, args: [u64; 6]) -> bool {
    let what = args[1] as i32;
    match number {
        libc::SYS_flock => what & libc::LOCK_NB == 0 && what & libc::LOCK_UN == 0,
        _ => matches!(what, libc::F_SETLKW | libc::F_OFD_SETLKW),
    }
}

/// Whether the lock that is described at this address could be had. Called by the scheduler.
pub(crate) fn is_free(wanted: u64) -> bool {
    // SAFETY: on the stack of a task that is parked in `serve`.
    unsafe { (*(wanted as *const Wanted)).is_free() }
}

/// The call, as a task: others may come first, and it waits as long as the lock is another's.
pub(crate) fn serve(number: i64, args: [u64; 6], site: u64) -> i64 {
    let wanted = Wanted { number, args };
    let gate = Gate::FileFree(&raw const wanted as u64);
    let task = world().task();
    loop {
        task.interrupts.set(Interrupted::UnlessRestarted);
        readiness::outside(|| point(Operation::Ready, args[0] + 1, site, gate));
        task.interrupts.set(Interrupted::Never);
        if cancel::is_at_point(task) {
            cancel::act_if_due();
        }
        if task.interrupted.replace(false) {
            return -i64::from(libc::EINTR);
        }
        let answer = wanted.attempt();
        // Another process may have been quicker.
        if !is_taken(answer) {
            if answer == 0 {
                syscalls::locked(number, args[0]);
            }
            return answer;
        }
    }
}
