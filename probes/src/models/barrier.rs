//! Barriers. Arriving is one operation, passing another; the last to arrive passes at once, and is
//! the one that is told so (`PTHREAD_BARRIER_SERIAL_THREAD`), as with glibc.

use crate::interpose::{interpose, site};
use crate::models::misuse;
use crate::real::real;
use crate::record;
use crate::scheduler::point;
use crate::task::Gate;
use crate::world::{on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

/// glibc's `struct pthread_barrier`. Between rounds all counters are 0, as it leaves a new one.
#[repr(C)]
struct Barrier {
    arrived: u32,
    round: u32,
    count: u32,
    shared: i32,
    left: u32,
}

/// `PTHREAD_BARRIER_SERIAL_THREAD`.
const SERIAL_THREAD: c_int = -1;
/// Of a barrier for several processes.
const SHARED: i32 = 128;
/// What `pthread_barrier_destroy` leaves here for a count; one that was never initialised has 0.
const DESTROYED: u32 = 0xdead_d000;

fn at<'a>(barrier: u64) -> &'a mut Barrier {
    // SAFETY: the program says that a barrier is there.
    unsafe { &mut *(barrier as *mut Barrier) }
}

fn is_fit(barrier: u64, site: u64) -> bool {
    let it = at(barrier);
    match it.count {
        DESTROYED => {
            let rule = "a barrier is used after it was destroyed";
            misuse::report(FailureKind::UsedDestroyed, rule, site, &[misuse::destroyed(barrier)]);
        }
        count if count == 0 || !matches!(it.shared, 0 | SHARED) || it.arrived > count => {
            let rule = "a barrier is used that was never initialised, or written over";
            misuse::report(FailureKind::Uninitialised, rule, site, &[]);
        }
        _ => return true,
    }
    false
}

/// Those that wait at it.
fn waiting(barrier: u64) -> impl Iterator<Item = u16> {
    let world = world();
    world.alive().filter(move |&number| {
        let task = &world.tasks[usize::from(number)];
        task.waits_on.get() == barrier
            && task.operation.get() == Operation::BarrierPass
            && !task.woken.get()
    })
}

/// For how many tasks a barrier is, and how many have come.
pub(crate) fn progress(barrier: u64) -> (u32, u32) {
    (at(barrier).count, at(barrier).arrived)
}

fn wait(barrier: u64, site: u64) -> c_int {
    point(Operation::BarrierWait, barrier, site, Gate::Open);
    if !is_fit(barrier, site) {
        return libc::EINVAL;
    }
    let it = at(barrier);
    it.arrived += 1;
    if it.arrived >= it.count {
        it.arrived = 0;
        for other in waiting(barrier) {
            world().tasks[usize::from(other)].woken.set(true);
        }
        record::value(u64::from(it.count));
        return SERIAL_THREAD;
    }
    let task = world().task();
    task.waits_on.set(barrier);
    task.woken.set(false);
    point(Operation::BarrierPass, barrier, site, Gate::Woken);
    task.waits_on.set(0);
    0
}

fn arrival(barrier: u64) -> Option<misuse::Place> {
    misuse::last("waited", barrier, |operation| operation == Operation::BarrierWait)
}

interpose! {
    fn pthread_barrier_init(barrier: *mut c_void, attributes: *const c_void, count: u32) -> c_int {
        if on_fiber() && waiting(barrier as u64).next().is_some() {
            let rule = "a barrier is initialised while tasks wait at it";
            misuse::report(FailureKind::ObjectInUse, rule, site(), &[arrival(barrier as u64)]);
        }
        unsafe {
            real!(pthread_barrier_init(barrier, attributes, count)
                as fn(*mut c_void, *const c_void, u32) -> c_int)
        }
    }

    fn pthread_barrier_wait(barrier: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_barrier_wait(barrier) as fn(*mut c_void) -> c_int) };
        }
        wait(barrier as u64, site())
    }

    fn pthread_barrier_destroy(barrier: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_barrier_destroy(barrier) as fn(*mut c_void) -> c_int) };
        }
        let (barrier, site) = (barrier as u64, site());
        point(Operation::BarrierDestroy, barrier, site, Gate::Open);
        if !is_fit(barrier, site) {
            return libc::EINVAL;
        }
        if waiting(barrier).next().is_some() {
            let rule = "a barrier is destroyed while tasks wait at it";
            misuse::report(FailureKind::ObjectInUse, rule, site, &[arrival(barrier)]);
            record::value(libc::EBUSY as u64);
            return libc::EBUSY;
        }
        at(barrier).count = DESTROYED;
        0
    }
}
