//! Condition variables.
//!
//! Waiting is two operations: *wait* releases the mutex and begins to wait, *wake* needs a signal
//! and the mutex. Whom a signal wakes is a choice. The variable's own bytes are not used.

use crate::interpose::{interpose, site};
use crate::models::{mutex, time};
use crate::real::Lazy;
use crate::record;
use crate::scheduler::{choose_data, point};
use crate::task::Gate;
use crate::world::{on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::Operation;

fn wait(condition: u64, mutex: u64, timeout: Option<(c_int, u64)>, site: u64) -> c_int {
    if let Some((_, deadline)) = timeout
        && !time::is_valid(deadline)
    {
        return libc::EINVAL;
    }
    point(Operation::Wait, condition, site, Gate::Releasing(mutex));
    let error = mutex::release(mutex, site);
    if error != 0 {
        return error;
    }
    let world = world();
    let task = world.task();
    task.waits_on.set(condition);
    task.woken.set(false);
    task.wait_order.set(world.waits.replace(world.waits.get() + 1));
    let answer = match timeout {
        None => {
            point(Operation::Wake, condition, site, Gate::WokenMutexFree(mutex));
            0
        }
        Some((clock, deadline)) => {
            point(Operation::TimedWake, condition, site, Gate::TimedMutexFree(mutex));
            if task.woken.get() {
                0
            } else {
                time::reach(clock, deadline);
                libc::ETIMEDOUT
            }
        }
    };
    task.waits_on.set(0);
    mutex::take(mutex);
    if answer != 0 {
        record::value(answer as u64);
    }
    answer
}

/// Wakes up to `most` of those that wait on `address` and satisfy `also`; how many were woken. When
/// there are more than that, whom is a choice; the one that has waited longest is number 0.
pub(crate) fn wake(address: u64, most: u32, also: impl Fn(&crate::task::Task) -> bool) -> u32 {
    let world = world();
    let mut woken = 0;
    while woken < most {
        let waits = |number: u16| {
            let task = &world.tasks[usize::from(number)];
            task.waits_on.get() == address && !task.woken.get() && also(task)
        };
        let count = world.alive().filter(|&number| waits(number)).count() as u32;
        if count == 0 {
            break;
        }
        let taken = if count <= most - woken { 0 } else { choose_data(count) };
        // The one with `taken` others before it in the order of waiting.
        let order = |number: u16| world.tasks[usize::from(number)].wait_order.get();
        let chosen = world.alive().filter(|&number| waits(number)).find(|&number| {
            let before =
                world.alive().filter(|&other| waits(other) && order(other) < order(number));
            before.count() as u32 == taken
        });
        if let Some(chosen) = chosen {
            world.tasks[usize::from(chosen)].woken.set(true);
        }
        woken += 1;
    }
    woken
}

// glibc has two versions of these, and `dlsym` may find the older.
static WAIT: Lazy = Lazy::new(c"pthread_cond_wait", Some(c"GLIBC_2.3.2"));
static TIMED_WAIT: Lazy = Lazy::new(c"pthread_cond_timedwait", Some(c"GLIBC_2.3.2"));
static CLOCK_WAIT: Lazy = Lazy::new(c"pthread_cond_clockwait", None);
static SIGNAL: Lazy = Lazy::new(c"pthread_cond_signal", Some(c"GLIBC_2.3.2"));
static BROADCAST: Lazy = Lazy::new(c"pthread_cond_broadcast", Some(c"GLIBC_2.3.2"));

/// The clock that a condition variable's timed waits go by: a flag of glibc's layout.
fn clock_of(condition: u64) -> c_int {
    const WREFS: u64 = 36;
    const MONOTONIC: u32 = 2;
    // SAFETY: the program says that a condition variable is there.
    let flags = unsafe { *((condition + WREFS) as *const u32) };
    if flags & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

interpose! {
    fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function's type.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(*mut c_void, *mut c_void) -> c_int =
                    std::mem::transmute(WAIT.get());
                real(condition, mutex)
            };
        }
        wait(condition as u64, mutex as u64, None, site())
    }

    fn pthread_cond_timedwait(
        condition: *mut c_void, mutex: *mut c_void, deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function's type.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(
                    *mut c_void, *mut c_void, *const libc::timespec) -> c_int =
                    std::mem::transmute(TIMED_WAIT.get());
                real(condition, mutex, deadline)
            };
        }
        let timeout = (clock_of(condition as u64), deadline as u64);
        wait(condition as u64, mutex as u64, Some(timeout), site())
    }

    fn pthread_cond_clockwait(
        condition: *mut c_void, mutex: *mut c_void, clock: c_int,
        deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function's type.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(
                    *mut c_void, *mut c_void, c_int, *const libc::timespec) -> c_int =
                    std::mem::transmute(CLOCK_WAIT.get());
                real(condition, mutex, clock, deadline)
            };
        }
        if !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) {
            return libc::EINVAL;
        }
        wait(condition as u64, mutex as u64, Some((clock, deadline as u64)), site())
    }

    fn pthread_cond_signal(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function's type.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
                    std::mem::transmute(SIGNAL.get());
                real(condition)
            };
        }
        point(Operation::Signal, condition as u64, site(), Gate::Open);
        record::value(u64::from(wake(condition as u64, 1, |_| true)));
        0
    }

    fn pthread_cond_broadcast(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function's type.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
                    std::mem::transmute(BROADCAST.get());
                real(condition)
            };
        }
        point(Operation::Broadcast, condition as u64, site(), Gate::Open);
        record::value(u64::from(wake(condition as u64, u32::MAX, |_| true)));
        0
    }
}
