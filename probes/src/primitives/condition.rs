//! Condition variables.
//!
//! A wait is two operations: *wait* releases the mutex and begins to wait, *wake* needs a signal
//! and the mutex. Which waiter a signal wakes is a data choice. Of the variable's own bytes only
//! the flags are used.

use crate::memory::shared_views::canonical;
use crate::primitives::waiters::wake;
use crate::primitives::{cancel, misuse, mutex};
use crate::schedule::scheduler::{initialise, point, wakes_spuriously};
use crate::state::cancellation;
use crate::state::clock;
use crate::state::task::Gate;
use crate::state::world::{World, on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{PROGRAM_CALL, interpose, site};
use crate::sys::real::lazy;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

pub(crate) fn wait(condition: u64, mutex: u64, timeout: Option<(c_int, u64)>, site: u64) -> c_int {
    if let Some((_, deadline)) = timeout
        && !clock::is_valid(deadline)
    {
        return libc::EINVAL;
    }
    // The end of the wait belongs to the same call of the program.
    PROGRAM_CALL.keep_during(|| {
        cancel::point(Operation::Wait, condition, site, Gate::Releasing(mutex));
    });
    // A cancelled wait ends with the mutex still locked.
    cancel::act_if_due();
    check(condition, mutex, site);
    let error = mutex::release(mutex, site);
    if error != 0 {
        record::value(error as u64);
        return error;
    }
    // A wait does not release a recursive mutex that was locked several times (POSIX,
    // pthread_cond_wait).
    let still_held = mutex::is_mine(mutex);
    let gate = |gate: Gate| match gate {
        Gate::WokenMutexFree(_) if still_held => Gate::Woken,
        Gate::TimedMutexFree(_) if still_held => Gate::Open,
        gate => gate,
    };
    let world = world();
    let task = world.task();
    task.waits_on.set(key(condition));
    task.woken.set(false);
    task.wait_order.set(world.waits.replace(world.waits.get() + 1));
    let answer = match timeout {
        _ if wakes_spuriously() => {
            let gate = gate(Gate::TimedMutexFree(mutex));
            cancel::point(Operation::SpuriousWake, condition, site, gate);
            0
        }
        None => {
            cancel::point(Operation::Wake, condition, site, gate(Gate::WokenMutexFree(mutex)));
            0
        }
        Some((clock, deadline)) => {
            clock::limit(clock, deadline);
            cancel::point(Operation::TimedWake, condition, site, gate(Gate::TimedMutexFree(mutex)));
            if task.woken.get() || cancellation::is_due() {
                0
            } else {
                clock::reach(clock, deadline);
                libc::ETIMEDOUT
            }
        }
    };
    task.waits_on.set(0);
    let answer = if still_held {
        mutex::take_again(mutex);
        answer
    } else {
        match mutex::take_back(mutex) {
            0 => answer,
            found => found,
        }
    };
    if cancellation::is_due() && !task.woken.get() {
        // The cleanup handlers run with the mutex locked.
        cancel::act();
    }
    if answer != 0 {
        record::value(answer as u64);
    }
    answer
}

/// Reports misuse of this condition variable or of the mutex in a wait that begins.
fn check(condition: u64, mutex: u64, site: u64) {
    check_fit(condition, site);
    mutex::check_for_wait(mutex, site);
    let other = waiting(condition).find(|task| match task.gate() {
        Gate::WokenMutexFree(theirs) | Gate::TimedMutexFree(theirs) => {
            canonical(theirs) != canonical(mutex)
        }
        _ => false,
    });
    if let Some(other) = other {
        let rule = "a condition variable is waited on with two different mutexes at the same time";
        let place = Some(("waits with the other mutex", other.site.get()));
        misuse::report(FailureKind::WaitMutex, rule, site, &[place]);
    }
}

/// The flag that glibc's `pthread_cond_destroy` also sets; initialisers clear it.
const DESTROYED: u32 = 4;
/// All flags. In the bits above them glibc counts its waiters; here that count stays 0.
const FLAGS: u32 = 7;

fn flags<'a>(condition: u64) -> &'a Cell<u32> {
    const WREFS: u64 = 36;
    // SAFETY: callers pass an address that the program gave as a condition variable; if it is not
    // mapped, the access faults as it would in the C library. It is accessed as a cell by
    // one kernel thread, so several references to it may exist.
    unsafe { &*((condition + WREFS) as *const Cell<u32>) }
}

/// What the tasks that wait on the condition variable are found by: for one that processes share, the same in all
/// mappings of its memory.
fn key(condition: u64) -> u64 {
    const SHARED: u32 = 1;
    if flags(condition).get() & SHARED != 0 { canonical(condition) } else { condition }
}

fn check_fit(condition: u64, site: u64) {
    if flags(condition).get() & DESTROYED != 0 {
        let rule = "a condition variable is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &[misuse::destroyed(condition)]);
    } else if flags(condition).get() & !FLAGS != 0 {
        misuse::uninitialised("condition variable", condition, site);
    }
}

/// The tasks that wait on the condition variable and were not woken.
fn waiting(condition: u64) -> impl Iterator<Item = &'static crate::state::task::Task> {
    let world = world();
    let key = key(condition);
    world.alive().map(|number| &world.tasks[usize::from(number)]).filter(move |task| {
        task.waits_on.get() == key && !task.woken.get() && task.operation.get().is_condition_wake()
    })
}

pub(crate) fn signal(condition: u64, most: u32, site: u64) {
    let operation = if most == 1 { Operation::Signal } else { Operation::Broadcast };
    point(operation, condition, site, Gate::Open);
    check_fit(condition, site);
    let woken = wake(key(condition), most, |_| true);
    if woken > 0 {
        // From here on the woken tasks wait for the mutex, and may be part of a cycle.
        world().suspect.set(World::ALL);
    }
    record::value(u64::from(woken));
}

pub(crate) fn init(condition: u64, site: u64) {
    initialise(Operation::ConditionInit, condition, site);
    if let Some(waits) = waiting(condition).next() {
        let rule = "a condition variable is initialised while a task waits on it";
        let place = Some(("waits", waits.site.get()));
        misuse::report(FailureKind::ObjectInUse, rule, site, &[place]);
    }
}

pub(crate) fn destroy(condition: u64, site: u64) {
    point(Operation::ConditionDestroy, condition, site, Gate::Open);
    check_fit(condition, site);
    if let Some(waits) = waiting(condition).next() {
        let rule = "a condition variable is destroyed while a task waits on it";
        let place = Some(("waits", waits.site.get()));
        misuse::report(FailureKind::ObjectInUse, rule, site, &[place]);
    }
    flags(condition).set(flags(condition).get() | DESTROYED);
}

// glibc has two versions of these functions, and `dlsym` may find the older one.
lazy! {
    static WAIT = c"pthread_cond_wait", Some(c"GLIBC_2.3.2");
    static TIMED_WAIT = c"pthread_cond_timedwait", Some(c"GLIBC_2.3.2");
    static CLOCK_WAIT = c"pthread_cond_clockwait", None;
    static SIGNAL = c"pthread_cond_signal", Some(c"GLIBC_2.3.2");
    static BROADCAST = c"pthread_cond_broadcast", Some(c"GLIBC_2.3.2");
    static INIT = c"pthread_cond_init", Some(c"GLIBC_2.3.2");
    static DESTROY = c"pthread_cond_destroy", Some(c"GLIBC_2.3.2");
}

/// The clock of a condition variable's timed waits: a flag in glibc's layout.
pub(crate) fn clock_of(condition: u64) -> c_int {
    const MONOTONIC: u32 = 2;
    if flags(condition).get() & MONOTONIC != 0 {
        libc::CLOCK_MONOTONIC
    } else {
        libc::CLOCK_REALTIME
    }
}

interpose! {
    fn pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function, with its type and the caller's arguments.
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
            // SAFETY: the real function, with its type and the caller's arguments.
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
            // SAFETY: the real function, with its type and the caller's arguments.
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
            // SAFETY: the real function, with its type and the caller's arguments.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
                    std::mem::transmute(SIGNAL.get());
                real(condition)
            };
        }
        signal(condition as u64, 1, site());
        0
    }

    fn pthread_cond_broadcast(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function, with its type and the caller's arguments.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
                    std::mem::transmute(BROADCAST.get());
                real(condition)
            };
        }
        signal(condition as u64, u32::MAX, site());
        0
    }

    fn pthread_cond_init(condition: *mut c_void, attributes: *const c_void) -> c_int {
        if on_fiber() {
            init(condition as u64, site());
        }
        // SAFETY: the real function, with its type and the caller's arguments.
        unsafe {
            let real: unsafe extern "C-unwind" fn(*mut c_void, *const c_void) -> c_int =
                std::mem::transmute(INIT.get());
            real(condition, attributes)
        }
    }

    fn pthread_cond_destroy(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function, with its type and the caller's arguments.
            return unsafe {
                let real: unsafe extern "C-unwind" fn(*mut c_void) -> c_int =
                    std::mem::transmute(DESTROY.get());
                real(condition)
            };
        }
        destroy(condition as u64, site());
        0
    }
}
