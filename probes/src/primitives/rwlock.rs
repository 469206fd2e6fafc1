//! Read-write locks, with either preference.
//!
//! The state is in glibc's layout: the number of readers is above three bits, and the writer's
//! thread id is stored. A lock that glibc itself released before control began may have the phase
//! bit set and is free. Which tasks are readers is in [`holders`]. A lock that prefers writers
//! (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`; glibc treats the other two alike) blocks new
//! readers while a writer waits: so a writer that cannot acquire it at once waits in a separate
//! step.

use crate::primitives::common::touch;
use crate::primitives::{abandoned_locks, misuse};
use crate::schedule::scheduler::{initialise, point, point_if};
use crate::state::clock;
use crate::state::locks::holders;
use crate::state::locks::rwlock::{
    DESTROYED, MOST_READERS, PREFERS_WRITERS, READER, WRITE_PHASE, WRITTEN, at, is_readable,
    is_writable, is_written, is_written_by, prefers_writers, waiting_writers,
};
use crate::state::task::Gate;
use crate::state::world::{World, on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

fn me() -> i32 {
    world().tid(world().current.get())
}

/// Whether the lock is valid; reports misuse if not.
fn is_fit(lock: u64, site: u64) -> bool {
    if at(lock).readers.get() == DESTROYED {
        let places = [misuse::destroyed(lock)];
        let rule = "a read-write lock is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
        return false;
    }
    if at(lock).flags.get() > PREFERS_WRITERS {
        misuse::uninitialised("read-write lock", lock, site);
        return false;
    }
    true
}

fn answer(value: c_int) -> c_int {
    if value != 0 {
        record::value(value as u64);
    }
    value
}

fn take_to_read(lock: u64) -> c_int {
    let it = at(lock);
    if it.readers.get() / READER >= MOST_READERS {
        return libc::EAGAIN;
    }
    it.readers.set((it.readers.get() & !WRITE_PHASE) + READER);
    holders::add(lock, world().current.get());
    0
}

fn take_to_write(lock: u64) -> c_int {
    abandoned_locks::took();
    let it = at(lock);
    it.readers.set(WRITTEN);
    it.writer.set(me());
    0
}

fn is_mine_to_write(lock: u64) -> bool {
    is_written_by(lock, me())
}

fn read(lock: u64, site: u64) -> c_int {
    if !is_fit(lock, site) {
        return libc::EINVAL;
    }
    if is_mine_to_write(lock) {
        point(Operation::ReadLock, lock, site, Gate::Open);
        return answer(libc::EDEADLK);
    }
    point_if(is_readable(lock), Operation::ReadLock, lock, site, Gate::Readable(lock));
    if is_fit(lock, site) { answer(take_to_read(lock)) } else { answer(libc::EINVAL) }
}

fn try_read(lock: u64, site: u64) -> c_int {
    touch(lock);
    point(Operation::TryReadLock, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    answer(if is_readable(lock) { take_to_read(lock) } else { libc::EBUSY })
}

/// Always enabled: if a reader cannot acquire the lock when the task is chosen, the wait times out.
fn timed_read(lock: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    if !clock::is_waitable(clock) || !clock::is_valid(deadline) {
        return libc::EINVAL;
    }
    touch(lock);
    if !is_mine_to_write(lock) {
        clock::limit(clock, deadline);
    }
    point(Operation::TimedReadLock, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    answer(if is_mine_to_write(lock) {
        libc::EDEADLK
    } else if is_readable(lock) {
        take_to_read(lock)
    } else {
        clock::reach(clock, deadline);
        libc::ETIMEDOUT
    })
}

fn write(lock: u64, timeout: Option<(c_int, u64)>, site: u64) -> c_int {
    let timed = timeout.is_some();
    if let Some((clock, deadline)) = timeout
        && !(clock::is_waitable(clock) && clock::is_valid(deadline))
    {
        return libc::EINVAL;
    }
    if !is_fit(lock, site) {
        return libc::EINVAL;
    }
    let mine = is_mine_to_write(lock);
    if !mine && !timed && !prefers_writers(lock) {
        point_if(is_writable(lock), Operation::WriteLock, lock, site, Gate::Writable(lock));
        return answer(if is_fit(lock, site) { take_to_write(lock) } else { libc::EINVAL });
    }
    let operation = if timed { Operation::TimedWriteLock } else { Operation::WriteLock };
    if let Some((clock, deadline)) = timeout.filter(|_| !mine && !prefers_writers(lock)) {
        clock::limit(clock, deadline);
    }
    point(operation, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    if mine {
        return answer(libc::EDEADLK);
    }
    if is_writable(lock) {
        return take_to_write(lock);
    }
    if !prefers_writers(lock) {
        return answer(time_out(timeout));
    }
    record::value(libc::EBUSY as u64);
    let task = world().task();
    task.waits_on.set(holders::key(lock));
    task.woken.set(false);
    // From here on new readers wait for this task.
    world().suspect.set(World::ALL);
    let gate = if timed { Gate::Open } else { Gate::Writable(lock) };
    if let Some((clock, deadline)) = timeout {
        clock::limit(clock, deadline);
    }
    point(Operation::WriteWake, lock, site, gate);
    task.waits_on.set(0);
    answer(if is_writable(lock) { take_to_write(lock) } else { time_out(timeout) })
}

/// The result of a wait that timed out.
fn time_out(timeout: Option<(c_int, u64)>) -> c_int {
    if let Some((clock, deadline)) = timeout {
        clock::reach(clock, deadline);
    }
    libc::ETIMEDOUT
}

fn try_write(lock: u64, site: u64) -> c_int {
    touch(lock);
    point(Operation::TryWriteLock, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    answer(if is_writable(lock) { take_to_write(lock) } else { libc::EBUSY })
}

fn unlock(lock: u64, site: u64) -> c_int {
    touch(lock);
    point(Operation::RwUnlock, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    let it = at(lock);
    let number = world().current.get();
    if is_written(lock) {
        if it.writer.get() != me() {
            not_held(lock, site);
        }
        abandoned_locks::gave_back();
        it.writer.set(0);
        it.readers.set(0);
    } else if it.readers.get() >= READER {
        if !holders::remove(lock, number) && holders::is_whole() {
            not_held(lock, site);
            if let Some(other) = holders::holders(lock).next() {
                holders::remove(lock, other);
            }
        }
        it.readers.set(it.readers.get() - READER);
    } else {
        let rule = "a read-write lock is unlocked that is not locked";
        misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::released(lock)]);
    }
    0
}

fn not_held(lock: u64, site: u64) {
    let rule = "a read-write lock is unlocked by a task that does not hold it";
    misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::taken(lock)]);
}

fn destroy(lock: u64, site: u64) -> c_int {
    point(Operation::RwDestroy, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    if !is_writable(lock) {
        let rule = "a read-write lock is destroyed while it is locked";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(lock)]);
        // glibc destroys it all the same.
        return answer(0);
    }
    at(lock).readers.set(DESTROYED);
    0
}

fn init(lock: u64, site: u64) {
    initialise(Operation::RwInit, lock, site);
    let in_use = holders::holders(lock).next().is_some() || waiting_writers(lock).next().is_some();
    if in_use {
        let rule = "a read-write lock is initialised while it is in use";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(lock)]);
    }
}

interpose! {
    fn pthread_rwlock_init(lock: *mut c_void, attributes: *const c_void) -> c_int {
        if on_fiber() {
            init(lock as u64, site());
        }
        unsafe {
            real!(pthread_rwlock_init(lock, attributes)
                as fn(*mut c_void, *const c_void) -> c_int)
        }
    }

    fn pthread_rwlock_destroy(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_destroy(lock) as fn(*mut c_void) -> c_int) };
        }
        destroy(lock as u64, site())
    }

    fn pthread_rwlock_rdlock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_rdlock(lock) as fn(*mut c_void) -> c_int) };
        }
        read(lock as u64, site())
    }

    fn pthread_rwlock_tryrdlock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_tryrdlock(lock) as fn(*mut c_void) -> c_int) };
        }
        try_read(lock as u64, site())
    }

    fn pthread_rwlock_timedrdlock(lock: *mut c_void, deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_timedrdlock(lock, deadline)
                as fn(*mut c_void, *const libc::timespec) -> c_int) };
        }
        timed_read(lock as u64, libc::CLOCK_REALTIME, deadline as u64, site())
    }

    fn pthread_rwlock_clockrdlock(lock: *mut c_void, clock: c_int,
                                  deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_clockrdlock(lock, clock, deadline)
                as fn(*mut c_void, c_int, *const libc::timespec) -> c_int) };
        }
        timed_read(lock as u64, clock, deadline as u64, site())
    }

    fn pthread_rwlock_wrlock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_wrlock(lock) as fn(*mut c_void) -> c_int) };
        }
        write(lock as u64, None, site())
    }

    fn pthread_rwlock_trywrlock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_trywrlock(lock) as fn(*mut c_void) -> c_int) };
        }
        try_write(lock as u64, site())
    }

    fn pthread_rwlock_timedwrlock(lock: *mut c_void, deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_timedwrlock(lock, deadline)
                as fn(*mut c_void, *const libc::timespec) -> c_int) };
        }
        write(lock as u64, Some((libc::CLOCK_REALTIME, deadline as u64)), site())
    }

    fn pthread_rwlock_clockwrlock(lock: *mut c_void, clock: c_int,
                                  deadline: *const libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_clockwrlock(lock, clock, deadline)
                as fn(*mut c_void, c_int, *const libc::timespec) -> c_int) };
        }
        write(lock as u64, Some((clock, deadline as u64)), site())
    }

    fn pthread_rwlock_unlock(lock: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_rwlock_unlock(lock) as fn(*mut c_void) -> c_int) };
        }
        unlock(lock as u64, site())
    }
}
