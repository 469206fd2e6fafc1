//! Unnamed semaphores.

use crate::interpose::{interpose, site};
use crate::models::{set_errno, time};
use crate::real::real;
use crate::record;
use crate::scheduler::point;
use crate::task::Gate;
use crate::world::on_fiber;
use std::ffi::{c_int, c_void};
use traces::Operation;

const MOST: u32 = i32::MAX as u32;

/// The low half of glibc's 64-bit word; `sem_getvalue` and `sem_init` are its own and use it, too.
#[inline]
fn word<'a>(semaphore: u64) -> &'a mut u32 {
    // SAFETY: the program says that a semaphore is there.
    unsafe { &mut *(semaphore as *mut u32) }
}

/// The semaphore's value.
#[inline]
pub(crate) fn value(semaphore: u64) -> u32 {
    *word(semaphore)
}

fn fail(code: c_int) -> c_int {
    record::value(code as u64);
    set_errno(code);
    -1
}

fn timed_wait(semaphore: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    if !time::is_valid(deadline) && value(semaphore) == 0 {
        set_errno(libc::EINVAL);
        return -1;
    }
    point(Operation::SemTimedWait, semaphore, site, Gate::Open);
    if value(semaphore) == 0 {
        time::reach(clock, deadline);
        return fail(libc::ETIMEDOUT);
    }
    *word(semaphore) -= 1;
    0
}

interpose! {
    fn sem_wait(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_wait(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let semaphore = semaphore as u64;
        point(Operation::SemWait, semaphore, site(), Gate::SemaphorePositive(semaphore));
        *word(semaphore) -= 1;
        0
    }

    fn sem_trywait(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_trywait(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let semaphore = semaphore as u64;
        point(Operation::SemTryWait, semaphore, site(), Gate::Open);
        if value(semaphore) == 0 {
            return fail(libc::EAGAIN);
        }
        *word(semaphore) -= 1;
        0
    }

    fn sem_timedwait(semaphore: *mut c_void, deadline: *const libc::timespec) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_timedwait(semaphore, deadline)
                    as fn(*mut c_void, *const libc::timespec) -> c_int);
            }
        }
        timed_wait(semaphore as u64, libc::CLOCK_REALTIME, deadline as u64, site())
    }

    fn sem_clockwait(semaphore: *mut c_void, clock: c_int, deadline: *const libc::timespec)
        -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_clockwait(semaphore, clock, deadline)
                    as fn(*mut c_void, c_int, *const libc::timespec) -> c_int);
            }
        }
        timed_wait(semaphore as u64, clock, deadline as u64, site())
    }

    fn sem_post(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_post(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let semaphore = semaphore as u64;
        point(Operation::SemPost, semaphore, site(), Gate::Open);
        if value(semaphore) == MOST {
            return fail(libc::EOVERFLOW);
        }
        *word(semaphore) += 1;
        0
    }
}
