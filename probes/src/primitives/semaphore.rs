//! Semaphores. Named ones are in [`crate::primitives::named_semaphore`].

use crate::primitives::common::touch;
use crate::primitives::{cancel, misuse};
use crate::schedule::scheduler::{initialise, point, read_step};
use crate::state::clock;
use crate::state::locks::semaphore::{value, word};
use crate::state::task::Interrupted;
use crate::state::task::{Gate, Task};
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_uint, c_void};
use traces::{FailureKind, Operation};

const MOST: u32 = i32::MAX as u32;

/// The value that `sem_destroy` stores: more than any semaphore has.
const DESTROYED: u32 = 0xdead_d000;

/// The third word of a semaphore that processes share.
const SHARED: u32 = 128;

fn shared(semaphore: u64) -> u32 {
    // SAFETY: as in `word`; the third word is within the semaphore (glibc's `struct new_sem`).
    unsafe { *(semaphore as *const u32).add(2) }
}

fn is_fit(semaphore: u64, site: u64) -> bool {
    match value(semaphore) {
        DESTROYED => {
            let places = [misuse::destroyed(semaphore)];
            let rule = "a semaphore is used after it was destroyed";
            misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
            false
        }
        value if value > MOST || !matches!(shared(semaphore), 0 | SHARED) => {
            misuse::uninitialised("semaphore", semaphore, site);
            false
        }
        _ => true,
    }
}

/// The tasks that wait for it.
fn waiting(semaphore: u64) -> impl Iterator<Item = &'static Task> {
    let world = world();
    world.alive().map(|number| &world.tasks[usize::from(number)]).filter(move |task| {
        task.gate() == Gate::SemaphorePositive(semaphore) && value(semaphore) == 0
    })
}

/// Whether no task waits for the semaphore; reports the misuse `rule` otherwise.
fn check_idle(semaphore: u64, rule: &str, site: u64) -> bool {
    let waits = waiting(semaphore).next();
    if let Some(waits) = waits {
        let place = Some(("waits", waits.site.get()));
        misuse::report(FailureKind::ObjectInUse, rule, site, &[place]);
    }
    waits.is_none()
}

fn fail(code: c_int) -> c_int {
    record::value(code as u64);
    set_errno(code);
    -1
}

/// A wait that may be cancelled, or interrupted by these handlers; false if it was interrupted.
fn interruptible(
    operation: Operation,
    semaphore: u64,
    site: u64,
    gate: Gate,
    interrupts: Interrupted,
) -> bool {
    let task = world().task();
    touch(semaphore);
    task.interrupts.set(interrupts);
    cancel::point(operation, semaphore, site, gate);
    task.interrupts.set(Interrupted::Never);
    cancel::act_if_due();
    !task.interrupted.replace(false)
}

fn timed_wait(semaphore: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    // glibc checks the time limit even if the semaphore is available at once.
    if !clock::is_waitable(clock) || !clock::is_valid(deadline) {
        set_errno(libc::EINVAL);
        return -1;
    }
    clock::limit(clock, deadline);
    // The wait is one on a futex with a time limit, which the kernel never restarts.
    let interrupts = Interrupted::Always;
    if !interruptible(Operation::SemTimedWait, semaphore, site, Gate::Open, interrupts) {
        return fail(libc::EINTR);
    }
    is_fit(semaphore, site);
    if value(semaphore) == 0 {
        clock::reach(clock, deadline);
        return fail(libc::ETIMEDOUT);
    }
    word(semaphore).set(word(semaphore).get() - 1);
    0
}

interpose! {
    fn sem_wait(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_wait(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let (semaphore, site) = (semaphore as u64, site());
        let gate = Gate::SemaphorePositive(semaphore);
        let interrupts = Interrupted::UnlessRestarted;
        if !interruptible(Operation::SemWait, semaphore, site, gate, interrupts) {
            return fail(libc::EINTR);
        }
        is_fit(semaphore, site);
        word(semaphore).set(word(semaphore).get() - 1);
        0
    }

    fn sem_trywait(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_trywait(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let (semaphore, site) = (semaphore as u64, site());
        touch(semaphore);
        point(Operation::SemTryWait, semaphore, site, Gate::Open);
        is_fit(semaphore, site);
        if value(semaphore) == 0 {
            return fail(libc::EAGAIN);
        }
        word(semaphore).set(word(semaphore).get() - 1);
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

    fn sem_getvalue(semaphore: *mut c_void, to: *mut c_int) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_getvalue(semaphore, to) as fn(*mut c_void, *mut c_int) -> c_int);
            }
        }
        let (semaphore, site) = (semaphore as u64, site());
        touch(semaphore);
        let found = || u64::from(value(semaphore));
        read_step(semaphore, site, found, |operation| point(operation, semaphore, site, Gate::Open));
        is_fit(semaphore, site);
        let held = value(semaphore);
        record::value(u64::from(held));
        // SAFETY: the caller of `sem_getvalue` passes a valid pointer for the value.
        unsafe { *to = held as c_int };
        0
    }

    fn sem_post(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_post(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let (semaphore, site) = (semaphore as u64, site());
        touch(semaphore);
        point(Operation::SemPost, semaphore, site, Gate::Open);
        if !is_fit(semaphore, site) {
            return fail(libc::EINVAL);
        }
        if value(semaphore) == MOST {
            return fail(libc::EOVERFLOW);
        }
        word(semaphore).set(word(semaphore).get() + 1);
        0
    }

    fn sem_init(semaphore: *mut c_void, shared: c_int, value: c_uint) -> c_int {
        if on_fiber() {
            let site = site();
            initialise(Operation::SemInit, semaphore as u64, site);
            let rule = "a semaphore is initialised while a task waits for it";
            check_idle(semaphore as u64, rule, site);
        }
        unsafe {
            real!(sem_init(semaphore, shared, value) as fn(*mut c_void, c_int, c_uint) -> c_int)
        }
    }

    fn sem_destroy(semaphore: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(sem_destroy(semaphore) as fn(*mut c_void) -> c_int);
            }
        }
        let (semaphore, site) = (semaphore as u64, site());
        point(Operation::SemDestroy, semaphore, site, Gate::Open);
        let rule = "a semaphore is destroyed while a task waits for it";
        if is_fit(semaphore, site) && check_idle(semaphore, rule, site) {
            word(semaphore).set(DESTROYED);
        }
        0
    }
}
