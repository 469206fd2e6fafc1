//! Barriers. Arriving is one operation, passing another. As in glibc, the last task to arrive
//! passes at once and gets `PTHREAD_BARRIER_SERIAL_THREAD`.

use crate::memory::shared_views::canonical;
use crate::primitives::misuse;
use crate::schedule::scheduler::{initialise, point};
use crate::state::clock;
use crate::state::locks::barrier::{DESTROYED, SHARED, at, waiting_by};
use crate::state::task::Gate;
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

/// `PTHREAD_BARRIER_SERIAL_THREAD`.
const SERIAL_THREAD: c_int = -1;
fn is_fit(barrier: u64, site: u64) -> bool {
    let it = at(barrier);
    match it.count.get() {
        DESTROYED => {
            let rule = "a barrier is used after it was destroyed";
            misuse::report(FailureKind::UsedDestroyed, rule, site, &[misuse::destroyed(barrier)]);
        }
        count
            if count == 0 || !matches!(it.shared.get(), 0 | SHARED) || it.arrived.get() > count =>
        {
            misuse::uninitialised("barrier", barrier, site);
        }
        _ => return true,
    }
    false
}

/// What the tasks that wait at a barrier are found by: for one that processes share, the same in all mappings of
/// its memory.
fn key(barrier: u64) -> u64 {
    if at(barrier).shared.get() == SHARED { canonical(barrier) } else { barrier }
}

/// The tasks that are blocked in this round of the barrier.
fn waiting(barrier: u64) -> impl Iterator<Item = u16> {
    waiting_by(key(barrier))
}

fn wait(barrier: u64, site: u64) -> c_int {
    point(Operation::BarrierWait, barrier, site, Gate::Open);
    if !is_fit(barrier, site) {
        return libc::EINVAL;
    }
    let it = at(barrier);
    it.arrived.set(it.arrived.get() + 1);
    if it.arrived.get() >= it.count.get() {
        it.arrived.set(0);
        for other in waiting(barrier) {
            world().tasks[usize::from(other)].woken.set(true);
            clock::enable(other);
        }
        record::value(u64::from(it.count.get()));
        return SERIAL_THREAD;
    }
    let task = world().task();
    task.waits_on.set(key(barrier));
    task.woken.set(false);
    point(Operation::BarrierPass, barrier, site, Gate::Woken);
    task.waits_on.set(0);
    0
}

fn arrival(barrier: u64) -> Option<misuse::RelatedSite> {
    misuse::last("waits", barrier, |operation| operation == Operation::BarrierWait)
}

interpose! {
    fn pthread_barrier_init(barrier: *mut c_void, attributes: *const c_void, count: u32) -> c_int {
        if on_fiber() {
            let site = site();
            initialise(Operation::BarrierInit, barrier as u64, site);
            if waiting(barrier as u64).next().is_some() {
                let rule = "a barrier is initialised while tasks wait at it";
                misuse::report(FailureKind::ObjectInUse, rule, site, &[arrival(barrier as u64)]);
            }
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
        at(barrier).count.set(DESTROYED);
        0
    }
}
