//! Mutexes: normal (and adaptive), recursive and error-checking ones, each robust or not, with or
//! without a priority protocol.
//!
//! Priorities do not affect scheduling here: all tasks have the same one. What glibc returns
//! because of priorities is in [`crate::primitives::mutex_ceiling`].

use crate::primitives::common::touch;
use crate::primitives::{abandoned_locks, misuse, mutex_ceiling};
use crate::schedule::scheduler::{initialise, point, point_if};
use crate::state::clock;
use crate::state::locks::holders;
use crate::state::locks::mutex::{
    CEILING, CEILING_SHIFT, DESTROYED, ERROR_CHECKING, INCONSISTENT, INHERIT, KNOWN,
    NOT_RECOVERABLE, PROTECT, RECURSIVE, ROBUST, TYPE, at, is_free, owner,
};
use crate::state::task::Gate;
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Recursive,
    ErrorChecking,
}

/// The mutex's type, or the error number if it is not a valid mutex.
#[inline]
fn kind(address: u64, site: u64) -> Result<Kind, c_int> {
    let kind = at(address).kind.get();
    if kind & !TYPE != 0 && (kind & !KNOWN != 0 || kind & (4 | 8) != 0) {
        return Err(unfit(address, kind, site));
    }
    Ok(match kind & TYPE {
        RECURSIVE => Kind::Recursive,
        ERROR_CHECKING => Kind::ErrorChecking,
        _ => Kind::Normal,
    })
}

/// [`kind`] for a task that has waited. If the mutex was destroyed meanwhile, its memory may be in
/// use for something else by now.
#[inline]
fn kind_by_now(address: u64, site: u64) -> Result<Kind, c_int> {
    let kind_now = at(address).kind.get();
    if kind_now & !KNOWN != 0 && misuse::destroyed(address).is_some() {
        return Err(unfit(address, DESTROYED, site));
    }
    kind(address, site)
}

/// Reports that there is no valid mutex at the address.
#[cold]
fn unfit(address: u64, kind: i32, site: u64) -> c_int {
    if kind == DESTROYED {
        let places = [misuse::destroyed(address)];
        let rule = "a mutex is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
    } else {
        misuse::uninitialised("mutex", address, site);
    }
    libc::EINVAL
}

/// The gate of a task that wants the mutex.
#[inline]
fn free(address: u64) -> Gate {
    if at(address).kind.get() & PROTECT == 0 {
        Gate::MutexFree(address)
    } else {
        Gate::CeilingFree(address)
    }
}

#[inline]
fn me() -> i32 {
    world().tid(world().current.get())
}

/// Locks a mutex that is free; returns 0, or the error number that the state of a robust mutex
/// requires.
#[inline]
pub(crate) fn take(address: u64) -> c_int {
    let mutex = at(address);
    if mutex.kind.get() & ROBUST != 0 {
        return take_robust(address);
    }
    abandoned_locks::took();
    mutex.lock.set(mutex.lock.get() | 1);
    mutex.owner.set(me());
    mutex.users.set(mutex.users.get().wrapping_add(1));
    mutex.count.set(u32::from(mutex.kind.get() & TYPE == RECURSIVE));
    0
}

#[cold]
fn take_robust(address: u64) -> c_int {
    let mutex = at(address);
    if mutex.owner.get() == NOT_RECOVERABLE {
        return libc::ENOTRECOVERABLE;
    }
    let died = mutex.owner.get() == INCONSISTENT;
    mutex.lock.set(mutex.lock.get() | me());
    mutex.owner.set(if died { INCONSISTENT } else { me() });
    mutex.users.set(mutex.users.get().wrapping_add(1));
    mutex.count.set(u32::from(mutex.kind.get() & TYPE == RECURSIVE));
    holders::add(address, world().current.get());
    if died { libc::EOWNERDEAD } else { 0 }
}

/// Unlocks a mutex once; an error number, or 0.
pub(crate) fn release(address: u64, site: u64) -> c_int {
    let kind = match kind(address, site) {
        Ok(kind) => kind,
        Err(error) => return error,
    };
    let mutex = at(address);
    let mine = owner(address) == Some(me());
    if !mine {
        if kind != Kind::Normal || mutex.kind.get() & ROBUST != 0 {
            return libc::EPERM;
        }
        not_held(FailureKind::UnlockNotHeld, address, "a mutex is unlocked", site);
    }
    if kind == Kind::Recursive && mutex.count.get() > 1 {
        mutex.count.set(mutex.count.get() - 1);
        let inconsistent = mutex.kind.get() & ROBUST != 0 && mutex.owner.get() == INCONSISTENT;
        return if inconsistent { libc::ENOTRECOVERABLE } else { 0 };
    }
    give_back(address);
    if mutex.kind.get() & PROTECT != 0 { mutex_ceiling::change(ceiling_of(address), 0) } else { 0 }
}

/// Frees a mutex that the running task holds.
fn give_back(address: u64) {
    let mutex = at(address);
    let robust = mutex.kind.get() & ROBUST != 0;
    if robust {
        holders::remove(address, world().current.get());
    } else {
        abandoned_locks::gave_back();
    }
    mutex.count.set(0);
    mutex.owner.set(if robust && mutex.owner.get() == INCONSISTENT { NOT_RECOVERABLE } else { 0 });
    mutex.users.set(mutex.users.get().wrapping_sub(1));
    mutex.lock.set(mutex.lock.get() & (if mutex.kind.get() & PROTECT != 0 { CEILING } else { 0 }));
}

/// The ceiling of a mutex with [`PROTECT`].
fn ceiling_of(address: u64) -> usize {
    ((at(address).lock.get() & CEILING) as u32 >> CEILING_SHIFT) as usize
}

/// The error that glibc returns if the mutex's ceiling does not allow the running task to lock it.
/// Otherwise the task's priority is raised to the ceiling.
#[inline]
fn refused(address: u64) -> Option<c_int> {
    if at(address).kind.get() & PROTECT == 0 {
        return None;
    }
    Some(mutex_ceiling::raise(ceiling_of(address))).filter(|&error| error != 0)
}

/// The running task does not get a mutex for which its priority may have been raised.
fn lower_priority(address: u64) {
    if at(address).kind.get() & PROTECT != 0 {
        mutex_ceiling::change(ceiling_of(address), 0);
    }
}

/// Locks a free mutex again after a wait on a condition variable.
pub(crate) fn take_back(address: u64) -> c_int {
    refused(address).unwrap_or_else(|| take(address))
}

/// Reports that `what` happened to a mutex that the running task does not hold.
#[cold]
fn not_held(kind: FailureKind, address: u64, what: &str, site: u64) {
    if owner(address).is_some() {
        let rule = format!("{what} by a task that does not hold it");
        misuse::report(kind, rule, site, &[misuse::taken(address)]);
    } else {
        let rule = format!("{what} that is not locked");
        misuse::report(kind, rule, site, &[misuse::released(address)]);
    }
}

/// Whether the running task holds the mutex.
pub(crate) fn is_mine(address: u64) -> bool {
    owner(address) == Some(me())
}

/// Counts one more lock of a recursive mutex that the running task holds.
pub(crate) fn take_again(address: u64) {
    at(address).count.set(at(address).count.get() + 1);
}

/// Checks the mutex of a wait on a condition variable that begins.
pub(crate) fn check_for_wait(address: u64, site: u64) {
    let ours = owner(address) == Some(me());
    let normal =
        matches!(kind(address, site), Ok(Kind::Normal)) && at(address).kind.get() & ROBUST == 0;
    if !ours && normal {
        not_held(
            FailureKind::WaitMutex,
            address,
            "a condition variable is waited on with a mutex",
            site,
        );
    }
}

/// Whether a task with this thread id, which ends, leaves the mutex locked and no other task can
/// find that out (as it could from a robust mutex).
pub(crate) fn is_left_by(address: u64, tid: i32) -> bool {
    let mutex = at(address);
    mutex.kind.get() & !KNOWN == 0 && mutex.kind.get() & ROBUST == 0 && owner(address) == Some(tid)
}

/// Releases the robust mutexes of the running task, which ends; the next task that locks one gets
/// `EOWNERDEAD`. Each is released in a separate step, the last locked first, as the kernel does
/// (`robust_list`).
pub(crate) fn owner_ends() {
    let task = world().current.get();
    let is_held = |lock| {
        let mutex = at(lock);
        mutex.kind.get() & ROBUST != 0
            && mutex.kind.get() & !KNOWN == 0
            && mutex.lock.get() == world().tid(task)
    };
    while let Some(address) = holders::of(task, is_held) {
        point(Operation::Unlock, address, world().task().site.get(), Gate::Open);
        record::value(libc::EOWNERDEAD as u64);
        while holders::remove(address, task) {}
        let mutex = at(address);
        mutex.lock.set(0);
        mutex.count.set(0);
        mutex.users.set(mutex.users.get().wrapping_sub(1));
        mutex.owner.set(INCONSISTENT);
    }
}

/// The outcome of a lock as far as it does not depend on whether the mutex is free.
enum Arrival {
    /// The caller holds it already, or it is no mutex: the return value.
    Held(c_int),
    /// The mutex must become free first.
    Wanted,
}

#[inline]
fn arrive(address: u64, site: u64) -> Arrival {
    let kind = match kind(address, site) {
        Ok(kind) => kind,
        Err(error) => return Arrival::Held(error),
    };
    let mutex = at(address);
    if mutex.lock.get() == 0 || owner(address) != Some(me()) {
        return Arrival::Wanted;
    }
    match kind {
        Kind::Normal => Arrival::Wanted,
        Kind::ErrorChecking => Arrival::Held(libc::EDEADLK),
        Kind::Recursive if mutex.count.get() == u32::MAX => Arrival::Held(libc::EAGAIN),
        Kind::Recursive => Arrival::Held(0),
    }
}

/// The return value of an operation, recorded with its step unless it is 0.
#[inline]
fn answer(value: c_int) -> c_int {
    if value != 0 {
        record::value(value as u64);
    }
    value
}

pub(crate) fn lock(address: u64, site: u64) -> c_int {
    match arrive(address, site) {
        Arrival::Held(error) => {
            point(Operation::Lock, address, site, Gate::Open);
            if error == 0 {
                at(address).count.set(at(address).count.get() + 1);
            }
            answer(error)
        }
        Arrival::Wanted if at(address).kind.get() & PROTECT != 0 => lock_protected(address, site),
        Arrival::Wanted => match wait_until_free(address, site) {
            Ok(()) => answer(take(address)),
            Err(error) => answer(error),
        },
    }
}

/// Parks the running task at a lock until the mutex is free; an error number if it is no valid
/// mutex by then.
#[inline]
fn wait_until_free(address: u64, site: u64) -> Result<(), c_int> {
    loop {
        point_if(is_free(address), Operation::Lock, address, site, free(address));
        kind_by_now(address, site)?;
        if is_free(address) {
            return Ok(());
        }
        // The mutex was destroyed and initialised again meanwhile, and another task locked it.
    }
}

/// [`lock`] of a mutex with a ceiling, which may have changed by the time the mutex is free.
#[cold]
fn lock_protected(address: u64, site: u64) -> c_int {
    let before = ceiling_of(address);
    if let Some(error) = refused(address) {
        point(Operation::Lock, address, site, Gate::Open);
        return answer(error);
    }
    if let Err(error) = wait_until_free(address, site) {
        return answer(error);
    }
    let now = ceiling_of(address);
    let error = if now == before { 0 } else { mutex_ceiling::change(before, now) };
    answer(if error == 0 { take(address) } else { error })
}

pub(crate) fn try_lock(address: u64, site: u64) -> c_int {
    touch(address);
    point(Operation::TryLock, address, site, Gate::Open);
    let kind = match kind(address, site) {
        Ok(kind) => kind,
        Err(error) => return answer(error),
    };
    answer(if is_mine(address) && kind == Kind::Recursive {
        let mutex = at(address);
        if mutex.count.get() == u32::MAX {
            libc::EAGAIN
        } else {
            mutex.count.set(mutex.count.get() + 1);
            0
        }
    } else if is_mine(address) && refuses_owner(address) {
        libc::EDEADLK
    } else if let Some(error) = refused(address) {
        error
    } else if is_free(address) {
        take(address)
    } else {
        lower_priority(address);
        libc::EBUSY
    })
}

/// Whether glibc returns `EDEADLK` when the owner of an error-checking mutex calls trylock: it does
/// if the mutex is robust or has a priority protocol.
fn refuses_owner(address: u64) -> bool {
    let kind = at(address).kind.get();
    kind & TYPE == ERROR_CHECKING && kind & (ROBUST | INHERIT | PROTECT) != 0
}

/// Whether glibc accepts a time limit where it has to wait for the mutex: the kernel refuses negative times for
/// mutexes with priority inheritance, and a robust mutex waits by a function that looks at the nanoseconds first.
fn accepts(address: u64, deadline: u64) -> bool {
    match at(address).kind.get() {
        kind if kind & INHERIT != 0 => clock::is_span(deadline),
        kind if kind & ROBUST != 0 => clock::is_valid(deadline),
        _ => clock::is_valid(deadline) || clock::is_past(deadline),
    }
}

/// A timed lock is always enabled: if the mutex is not free when the task is chosen, the lock times
/// out.
pub(crate) fn timed_lock(address: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    if !clock::is_waitable(clock) {
        return libc::EINVAL;
    }
    if let Arrival::Held(error) = arrive(address, site) {
        point(Operation::TimedLock, address, site, Gate::Open);
        if error == 0 {
            at(address).count.set(at(address).count.get() + 1);
        }
        return answer(error);
    }
    if accepts(address, deadline) {
        clock::limit(clock, deadline);
    }
    point(Operation::TimedLock, address, site, Gate::Open);
    if let Err(error) = kind(address, site) {
        return answer(error);
    }
    if let Some(error) = refused(address) {
        return answer(error);
    }
    if is_free(address) {
        return answer(take(address));
    }
    lower_priority(address);
    answer(if accepts(address, deadline) {
        clock::reach(clock, deadline);
        libc::ETIMEDOUT
    } else {
        libc::EINVAL
    })
}

pub(crate) fn unlock(address: u64, site: u64) -> c_int {
    touch(address);
    point(Operation::Unlock, address, site, Gate::Open);
    answer(release(address, site))
}

/// `pthread_mutex_init` of a mutex that is in use: a task waits for it, or will lock it again after
/// a wait.
pub(crate) fn init(address: u64, site: u64) {
    initialise(Operation::MutexInit, address, site);
    let world = world();
    let wanted = world.alive().any(|number| {
        let task = &world.tasks[usize::from(number)];
        number != world.current.get()
            && matches!(task.gate(), Gate::MutexFree(mutex) if mutex == address)
            && !is_free(address)
    });
    if wanted || waited_with(address) {
        let rule = "a mutex is initialised while it is in use";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(address)]);
    }
}

/// Whether any task waits on a condition variable with this mutex.
fn waited_with(address: u64) -> bool {
    let world = world();
    world.alive().any(|number| {
        let task = &world.tasks[usize::from(number)];
        task.waits_on.get() != 0
            && matches!(task.gate(),
                Gate::WokenMutexFree(mutex) | Gate::TimedMutexFree(mutex) if mutex == address)
    })
}

pub(crate) fn destroy(address: u64, site: u64) -> c_int {
    point(Operation::MutexDestroy, address, site, Gate::Open);
    if let Err(error) = kind(address, site) {
        return answer(error);
    }
    let robust = at(address).kind.get() & ROBUST != 0;
    if !is_free(address) {
        let rule = "a mutex is destroyed while it is locked";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(address)]);
        if !robust {
            return answer(libc::EBUSY);
        }
    }
    if waited_with(address) {
        let rule = "a mutex is destroyed while a task waits on a condition variable with it";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(address)]);
        return answer(libc::EBUSY);
    }
    at(address).kind.set(DESTROYED);
    open_to_waiting(address);
    0
}

/// Enables tasks that wait to lock a mutex that was destroyed, so that they continue and use what
/// is there. No task will ever unlock it, and its memory, once reused, does not say whether it is
/// free.
#[cold]
fn open_to_waiting(address: u64) {
    let world = world();
    for number in world.alive().filter(|&number| number != world.current.get()) {
        let task = &world.tasks[usize::from(number)];
        if let Gate::MutexFree(mutex) | Gate::CeilingFree(mutex) = task.gate()
            && mutex == address
        {
            task.set_gate(Gate::Open);
        }
    }
}

/// Sets the ceiling of a mutex. As in glibc, a holder changes to the new ceiling; any other task
/// locks the mutex first, without regard to the old ceiling.
pub(crate) fn set_ceiling(address: u64, ceiling: c_int, old: *mut c_int, site: u64) -> c_int {
    if at(address).kind.get() & PROTECT == 0 || !(1..=99).contains(&ceiling) {
        return libc::EINVAL;
    }
    let kind = match kind(address, site) {
        Ok(kind) => kind,
        Err(error) => return error,
    };
    let held = is_mine(address) && kind != Kind::Normal;
    if held && kind == Kind::ErrorChecking {
        return libc::EDEADLK;
    }
    let before = if held {
        point(Operation::Lock, address, site, Gate::Open);
        let before = ceiling_of(address);
        match mutex_ceiling::change(before, ceiling as usize) {
            0 => before,
            error => return answer(error),
        }
    } else {
        if let Err(error) = wait_until_free(address, site) {
            return answer(error);
        }
        take(address);
        ceiling_of(address)
    };
    if !old.is_null() {
        // SAFETY: the caller of `pthread_mutex_setprioceiling` passes a valid pointer for the old
        // ceiling, or null.
        unsafe { old.write(before as c_int) };
    }
    point(Operation::Unlock, address, site, Gate::Open);
    if !held {
        give_back(address);
    }
    at(address).lock.set(at(address).lock.get() & !CEILING | ceiling << CEILING_SHIFT);
    0
}

interpose! {
    fn pthread_mutex_lock(mutex: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_lock(mutex) as fn(*mut c_void) -> c_int);
            }
        }
        lock(mutex as u64, site())
    }

    fn pthread_mutex_trylock(mutex: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_trylock(mutex) as fn(*mut c_void) -> c_int);
            }
        }
        try_lock(mutex as u64, site())
    }

    fn pthread_mutex_timedlock(mutex: *mut c_void, deadline: *const libc::timespec) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_timedlock(mutex, deadline)
                    as fn(*mut c_void, *const libc::timespec) -> c_int);
            }
        }
        timed_lock(mutex as u64, libc::CLOCK_REALTIME, deadline as u64, site())
    }

    fn pthread_mutex_clocklock(mutex: *mut c_void, clock: c_int, deadline: *const libc::timespec)
        -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_clocklock(mutex, clock, deadline)
                    as fn(*mut c_void, c_int, *const libc::timespec) -> c_int);
            }
        }
        timed_lock(mutex as u64, clock, deadline as u64, site())
    }

    fn pthread_mutex_unlock(mutex: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_unlock(mutex) as fn(*mut c_void) -> c_int);
            }
        }
        unlock(mutex as u64, site())
    }

    fn pthread_mutex_init(mutex: *mut c_void, attributes: *const c_void) -> c_int {
        if on_fiber() {
            init(mutex as u64, site());
        }
        unsafe {
            real!(pthread_mutex_init(mutex, attributes)
                as fn(*mut c_void, *const c_void) -> c_int)
        }
    }

    fn pthread_mutex_destroy(mutex: *mut c_void) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_destroy(mutex) as fn(*mut c_void) -> c_int);
            }
        }
        destroy(mutex as u64, site())
    }
}
