//! Spin locks. A task that would spin waits instead, with the same result.
//!
//! The value of a free lock's word differs between processors; it is read once from a lock that the
//! C library initialised.

use crate::primitives::common::touch;
use crate::primitives::misuse;
use crate::schedule::scheduler::{initialise, point, point_if};
use crate::state::locks::holders;
use crate::state::locks::spin_lock::{is_free, word, words};
use crate::state::task::Gate;
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

/// The value that `pthread_spin_destroy` stores: neither free nor locked.
const DESTROYED: i32 = 0x5eed_dead;

fn is_fit(lock: u64, site: u64) -> bool {
    if word(lock).get() == DESTROYED {
        let places = [misuse::destroyed(lock)];
        let rule = "a spin lock is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
        return false;
    }
    let (free, held) = words();
    if ![free, held].contains(&word(lock).get()) {
        misuse::uninitialised("spin lock", lock, site);
        return false;
    }
    true
}

fn take(lock: u64) {
    word(lock).set(words().1);
    holders::add(lock, world().current.get());
}

interpose! {
    fn pthread_spin_lock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_spin_lock(lock) as fn(*mut c_void) -> c_int) };
        }
        let (lock, site) = (lock as u64, site());
        is_fit(lock, site);
        point_if(is_free(lock), Operation::SpinLock, lock, site, Gate::SpinFree(lock));
        take(lock);
        0
    }

    fn pthread_spin_trylock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_spin_trylock(lock) as fn(*mut c_void) -> c_int) };
        }
        let (lock, site) = (lock as u64, site());
        touch(lock);
        point(Operation::SpinTryLock, lock, site, Gate::Open);
        is_fit(lock, site);
        if is_free(lock) {
            take(lock);
            return 0;
        }
        record::value(libc::EBUSY as u64);
        libc::EBUSY
    }

    fn pthread_spin_unlock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_spin_unlock(lock) as fn(*mut c_void) -> c_int) };
        }
        let (lock, site) = (lock as u64, site());
        touch(lock);
        point(Operation::SpinUnlock, lock, site, Gate::Open);
        is_fit(lock, site);
        if is_free(lock) {
            let rule = "a spin lock is unlocked that is not locked";
            misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::released(lock)]);
        } else if !holders::remove(lock, world().current.get()) && holders::is_whole() {
            let rule = "a spin lock is unlocked by a task that does not hold it";
            misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::taken(lock)]);
            if let Some(holder) = holders::holders(lock).next() {
                holders::remove(lock, holder);
            }
        }
        word(lock).set(words().0);
        0
    }

    fn pthread_spin_init(lock: *mut c_void, shared: c_int) -> c_int {
        if on_fiber() {
            initialise(Operation::SpinInit, lock as u64, site());
        }
        unsafe { real!(pthread_spin_init(lock, shared) as fn(*mut c_void, c_int) -> c_int) }
    }

    fn pthread_spin_destroy(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_spin_destroy(lock) as fn(*mut c_void) -> c_int) };
        }
        let (lock, site) = (lock as u64, site());
        point(Operation::SpinDestroy, lock, site, Gate::Open);
        if is_fit(lock, site) && !is_free(lock) {
            let rule = "a spin lock is destroyed while it is locked";
            misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(lock)]);
        }
        word(lock).set(DESTROYED);
        0
    }
}
