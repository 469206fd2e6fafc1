//! Spin locks. A task that would spin waits instead: what the loop would see is the same.
//!
//! What the word holds when a lock is free differs between processors; it is learned from the C
//! library once.

use crate::interpose::{interpose, site};
use crate::models::{holdings, misuse, touch};
use crate::real::real;
use crate::record;
use crate::scheduler::{point, point_if};
use crate::task::Gate;
use crate::world::{on_fiber, world};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

/// The words of a free lock and of one that is held.
struct Words(Cell<Option<(i32, i32)>>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for Words {}
static WORDS: Words = Words(Cell::new(None));

fn words() -> (i32, i32) {
    if let Some(known) = WORDS.0.get() {
        return known;
    }
    let mut word = -77;
    let at = (&raw mut word).cast::<c_void>();
    real!(pthread_spin_init(at, 0) as fn(*mut c_void, c_int) -> c_int);
    // SAFETY: the variable above.
    let free = unsafe { at.cast::<i32>().read_volatile() };
    real!(pthread_spin_lock(at) as fn(*mut c_void) -> c_int);
    // SAFETY: as above.
    let held = unsafe { at.cast::<i32>().read_volatile() };
    WORDS.0.set(Some((free, held)));
    (free, held)
}

fn word<'a>(lock: u64) -> &'a mut i32 {
    // SAFETY: the program says that a lock is there.
    unsafe { &mut *(lock as *mut i32) }
}

/// Whether nobody holds the lock.
pub(crate) fn is_free(lock: u64) -> bool {
    *word(lock) == words().0
}

/// What `pthread_spin_destroy` leaves here: neither free nor held.
const DESTROYED: i32 = 0x5eed_dead;

fn is_fit(lock: u64, site: u64) -> bool {
    if *word(lock) == DESTROYED {
        let places = [misuse::destroyed(lock)];
        let rule = "a spin lock is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
        return false;
    }
    let (free, held) = words();
    if ![free, held].contains(word(lock)) {
        let rule = "a spin lock is used that was never initialised, or written over";
        misuse::report(FailureKind::Uninitialised, rule, site, &[]);
        return false;
    }
    true
}

fn take(lock: u64) {
    *word(lock) = words().1;
    holdings::add(lock, world().current.get());
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
            misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::given_back(lock)]);
        } else if !holdings::remove(lock, world().current.get()) && holdings::is_whole() {
            let rule = "a spin lock is unlocked by a task that does not hold it";
            misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::taken(lock)]);
            if let Some(holder) = holdings::holders(lock).next() {
                holdings::remove(lock, holder);
            }
        }
        *word(lock) = words().0;
        0
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
        *word(lock) = DESTROYED;
        0
    }
}
