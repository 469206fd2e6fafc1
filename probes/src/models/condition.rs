//! Condition variables.
//!
//! Waiting is two operations: *wait* releases the mutex and begins to wait, *wake* needs a signal
//! and the mutex. Whom a signal wakes is a choice. Of the variable's own bytes only the flags are used.

use crate::interpose::{interpose, site};
use crate::models::{cancel, futex, misuse, mutex, time};
use crate::real::Lazy;
use crate::record;
use crate::scheduler::{choose_data, comes_back_by_itself, point};
use crate::task::Gate;
use crate::world::{World, on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

pub(crate) fn wait(condition: u64, mutex: u64, timeout: Option<(c_int, u64)>, site: u64) -> c_int {
    if let Some((_, deadline)) = timeout
        && !time::is_valid(deadline)
    {
        return libc::EINVAL;
    }
    cancel::point(Operation::Wait, condition, site, Gate::Releasing(mutex));
    // With the mutex held still, as it was before.
    cancel::act_if_due();
    check(condition, mutex, site);
    let error = mutex::release(mutex, site);
    if error != 0 {
        record::value(error as u64);
        return error;
    }
    // One that was taken several times is not given up (POSIX, pthread_cond_wait).
    let kept = mutex::is_mine(mutex);
    let gate = |gate: Gate| match gate {
        Gate::WokenMutexFree(_) if kept => Gate::Woken,
        Gate::TimedMutexFree(_) if kept => Gate::Open,
        gate => gate,
    };
    let world = world();
    let task = world.task();
    task.waits_on.set(condition);
    task.woken.set(false);
    task.wait_order.set(world.waits.replace(world.waits.get() + 1));
    let answer = match timeout {
        _ if comes_back_by_itself() => {
            let gate = gate(Gate::TimedMutexFree(mutex));
            cancel::point(Operation::SpuriousWake, condition, site, gate);
            0
        }
        None => {
            cancel::point(Operation::Wake, condition, site, gate(Gate::WokenMutexFree(mutex)));
            0
        }
        Some((clock, deadline)) => {
            cancel::point(Operation::TimedWake, condition, site, gate(Gate::TimedMutexFree(mutex)));
            if task.woken.get() || cancel::is_due() {
                0
            } else {
                time::reach(clock, deadline);
                libc::ETIMEDOUT
            }
        }
    };
    task.waits_on.set(0);
    let answer = if kept {
        mutex::take_again(mutex);
        answer
    } else {
        match mutex::take_back(mutex) {
            0 => answer,
            found => found,
        }
    };
    if cancel::is_due() && !task.woken.get() {
        // The cleanup handlers run with the mutex.
        cancel::act();
    }
    if answer != 0 {
        record::value(answer as u64);
    }
    answer
}

/// What is wrong with a wait on this condition variable with this mutex.
fn check(condition: u64, mutex: u64, site: u64) {
    check_fit(condition, site);
    mutex::check_for_wait(mutex, site);
    let other = waiting(condition).find(|task| match task.gate() {
        Gate::WokenMutexFree(theirs) | Gate::TimedMutexFree(theirs) => theirs != mutex,
        _ => false,
    });
    if let Some(other) = other {
        let rule = "a condition is waited for with two different mutexes at the same time";
        let place = Some(("waited for with the other", other.site.get()));
        misuse::report(FailureKind::WaitMutex, rule, site, &[place]);
    }
}

/// The flag that `pthread_cond_destroy` sets in glibc, too; an initialiser clears it.
const DESTROYED: u32 = 4;
/// All flags; above them glibc counts those that wait, which are none to it here.
const FLAGS: u32 = 7;

fn flags<'a>(condition: u64) -> &'a mut u32 {
    const WREFS: u64 = 36;
    // SAFETY: the program says that a condition variable is there.
    unsafe { &mut *((condition + WREFS) as *mut u32) }
}

fn check_fit(condition: u64, site: u64) {
    if *flags(condition) & DESTROYED != 0 {
        let rule = "a condition variable is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &[misuse::destroyed(condition)]);
    } else if *flags(condition) & !FLAGS != 0 {
        let rule = "a condition variable is used that was never initialised, or written over";
        misuse::report(FailureKind::Uninitialised, rule, site, &[]);
    }
}

/// The tasks that wait on the condition variable and were not woken.
fn waiting(condition: u64) -> impl Iterator<Item = &'static crate::task::Task> {
    let world = world();
    world.alive().map(|number| &world.tasks[usize::from(number)]).filter(move |task| {
        task.waits_on.get() == condition && !task.woken.get() && task.operation.get().wakes()
    })
}

pub(crate) fn signal(condition: u64, most: u32, site: u64) {
    let operation = if most == 1 { Operation::Signal } else { Operation::Broadcast };
    point(operation, condition, site, Gate::Open);
    check_fit(condition, site);
    let woken = wake(condition, most, |_| true);
    if woken > 0 {
        // What they wait for from here on is the mutex.
        world().suspect.set(World::ALL);
    }
    record::value(u64::from(woken));
}

pub(crate) fn destroy(condition: u64, site: u64) {
    point(Operation::ConditionDestroy, condition, site, Gate::Open);
    check_fit(condition, site);
    if let Some(waits) = waiting(condition).next() {
        let rule = "a condition variable is destroyed while a task waits for it";
        let place = Some(("waited for", waits.site.get()));
        misuse::report(FailureKind::ObjectInUse, rule, site, &[place]);
    }
    *flags(condition) |= DESTROYED;
}

/// Wakes up to `most` of those that wait on `address` and satisfy `also`; how many were woken. When
/// there are more than that, whom is a choice; the one that has waited longest is number 0.
pub(crate) fn wake(address: u64, most: u32, also: impl Fn(&crate::task::Task) -> bool) -> u32 {
    let world = world();
    let mut woken = 0;
    while woken < most {
        let waits = |number: u16| {
            let task = &world.tasks[usize::from(number)];
            futex::waits_on(task, address) && !task.woken.get() && also(task)
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
            world.tasks[usize::from(chosen)].woken_by.set(address);
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

static INIT: Lazy = Lazy::new(c"pthread_cond_init", Some(c"GLIBC_2.3.2"));
static DESTROY: Lazy = Lazy::new(c"pthread_cond_destroy", Some(c"GLIBC_2.3.2"));

/// The clock that a condition variable's timed waits go by: a flag of glibc's layout.
pub(crate) fn clock_of(condition: u64) -> c_int {
    const MONOTONIC: u32 = 2;
    if *flags(condition) & MONOTONIC != 0 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
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
        signal(condition as u64, 1, site());
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
        signal(condition as u64, u32::MAX, site());
        0
    }

    fn pthread_cond_init(condition: *mut c_void, attributes: *const c_void) -> c_int {
        if on_fiber()
            && let Some(waits) = waiting(condition as u64).next()
        {
            let rule = "a condition variable is initialised while a task waits for it";
            let place = Some(("waited for", waits.site.get()));
            misuse::report(FailureKind::ObjectInUse, rule, site(), &[place]);
        }
        // SAFETY: the real function's type.
        unsafe {
            let real: unsafe extern "C-unwind" fn(*mut c_void, *const c_void) -> c_int =
                std::mem::transmute(INIT.get());
            real(condition, attributes)
        }
    }

    fn pthread_cond_destroy(condition: *mut c_void) -> c_int {
        if !on_fiber() {
            // SAFETY: the real function's type.
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
