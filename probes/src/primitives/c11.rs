//! C11 threads: the operations of POSIX threads under other names and with other return values.

use crate::primitives::join::{self, JoinWait};
use crate::primitives::{condition, mutex, once, thread, thread_unwind};
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_void};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn answer(code: c_int) -> c_int {
    match code {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

interpose! {
    fn thrd_create(thread: *mut u64, start: u64, argument: u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(thrd_create(thread, start, argument)
                    as fn(*mut u64, u64, u64) -> c_int);
            }
            match thread::create(thread, std::ptr::null(), start, argument, site()) {
                libc::EAGAIN => NO_MEMORY,
                code => answer(code),
            }
        }
    }

    fn thrd_join(thread: u64, result: *mut c_int) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(thrd_join(thread, result) as fn(u64, *mut c_int) -> c_int);
            }
            let mut value = 0u64;
            let code = join::join(thread, &raw mut value, JoinWait::Endless, site());
            // The start routine returns an `int`; the upper half of the register is undefined.
            if code == 0 && !result.is_null() {
                result.write(value as c_int);
            }
            answer(code)
        }
    }

    fn thrd_detach(thread: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(thrd_detach(thread) as fn(u64) -> c_int) };
        }
        answer(join::detach(thread, site()))
    }

    fn thrd_exit(result: c_int) -> () {
        if !on_fiber() {
            unsafe { real!(thrd_exit(result) as fn(c_int) -> ()) };
            return;
        }
        world().task().result.set(result as i64 as u64);
        thread_unwind::unwind()
    }

    fn call_once(flag: *mut i32, function: u64) -> () {
        // The real function; its waits come back to the runtime as futex calls.
        once::once(flag, function, site(), |routine| unsafe {
            real!(call_once(flag, routine) as fn(*mut i32, u64) -> ())
        });
    }

    fn mtx_lock(mutex: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(mtx_lock(mutex) as fn(*mut c_void) -> c_int) };
        }
        answer(mutex::lock(mutex as u64, site()))
    }

    fn mtx_trylock(mutex: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(mtx_trylock(mutex) as fn(*mut c_void) -> c_int) };
        }
        answer(mutex::try_lock(mutex as u64, site()))
    }

    fn mtx_timedlock(mutex: *mut c_void, deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(mtx_timedlock(mutex, deadline)
                as fn(*mut c_void, *const libc::timespec) -> c_int) };
        }
        answer(mutex::timed_lock(mutex as u64, libc::CLOCK_REALTIME, deadline as u64, site()))
    }

    fn mtx_unlock(mutex: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(mtx_unlock(mutex) as fn(*mut c_void) -> c_int) };
        }
        answer(mutex::unlock(mutex as u64, site()))
    }

    fn mtx_init(mutex: *mut c_void, kind: c_int) -> c_int {
        if on_fiber() {
            mutex::init(mutex as u64, site());
        }
        unsafe { real!(mtx_init(mutex, kind) as fn(*mut c_void, c_int) -> c_int) }
    }

    fn mtx_destroy(mutex: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(mtx_destroy(mutex) as fn(*mut c_void) -> ()) };
            return;
        }
        mutex::destroy(mutex as u64, site());
    }

    fn cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(cnd_wait(condition, mutex)
                as fn(*mut c_void, *mut c_void) -> c_int) };
        }
        answer(condition::wait(condition as u64, mutex as u64, None, site()))
    }

    fn cnd_timedwait(condition: *mut c_void, mutex: *mut c_void,
                     deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(cnd_timedwait(condition, mutex, deadline)
                as fn(*mut c_void, *mut c_void, *const libc::timespec) -> c_int) };
        }
        let timeout = (condition::clock_of(condition as u64), deadline as u64);
        answer(condition::wait(condition as u64, mutex as u64, Some(timeout), site()))
    }

    fn cnd_signal(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(cnd_signal(condition) as fn(*mut c_void) -> c_int) };
        }
        condition::signal(condition as u64, 1, site());
        SUCCESS
    }

    fn cnd_broadcast(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(cnd_broadcast(condition) as fn(*mut c_void) -> c_int) };
        }
        condition::signal(condition as u64, u32::MAX, site());
        SUCCESS
    }

    fn cnd_init(condition: *mut c_void) -> c_int {
        if on_fiber() {
            condition::init(condition as u64, site());
        }
        unsafe { real!(cnd_init(condition) as fn(*mut c_void) -> c_int) }
    }

    fn cnd_destroy(condition: *mut c_void) -> () {
        if !on_fiber() {
            unsafe { real!(cnd_destroy(condition) as fn(*mut c_void) -> ()) };
            return;
        }
        condition::destroy(condition as u64, site());
    }
}
