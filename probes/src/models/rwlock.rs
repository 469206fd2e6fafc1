//! Read-write locks, with either preference.
//!
//! The state is in glibc's layout: the number of readers above three bits, of which the lower two say
//! that a writer has the lock, and the writer's thread id. Who reads stands in [`holdings`]. A lock
//! that prefers writers (`PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`; glibc treats the other two
//! alike) keeps new readers out while a writer waits: so a writer that does not get it at once waits
//! in a step of its own.

use crate::interpose::{interpose, site};
use crate::models::{holdings, left_held, misuse, time, touch};
use crate::real::real;
use crate::record;
use crate::scheduler::{point, point_if};
use crate::task::Gate;
use crate::world::{World, on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

/// `pthread_rwlock_t` on x86-64: the layout is ABI, static initialisers are compiled into programs.
#[repr(C)]
struct RwLock {
    readers: u32,
    writers: u32,
    futexes: [u32; 2],
    pad: [u32; 2],
    writer: i32,
    shared: i32,
    more: [u64; 2],
    flags: u32,
}

/// A writer has the lock: both bits, as glibc sets them.
const WRITTEN: u32 = 3;
const READER: u32 = 8;
const MOST_READERS: u32 = 1 << 28;
const PREFERS_WRITERS: u32 = 2;
/// What `pthread_rwlock_destroy` leaves here: more readers than there can be.
const DESTROYED: u32 = 0xdead_d000;

fn at<'a>(lock: u64) -> &'a mut RwLock {
    // SAFETY: the program says that a lock is there.
    unsafe { &mut *(lock as *mut RwLock) }
}

fn me() -> i32 {
    world().tid(world().current.get())
}

/// Whether a writer has it.
pub(crate) fn is_written(lock: u64) -> bool {
    at(lock).readers & WRITTEN != 0
}

/// Whether a writer may take it.
pub(crate) fn is_writable(lock: u64) -> bool {
    at(lock).readers == 0
}

/// Whether readers stay out while a writer waits.
pub(crate) fn prefers_writers(lock: u64) -> bool {
    at(lock).flags == PREFERS_WRITERS
}

/// The writers that wait for it in a step of their own.
fn waiting_writers(lock: u64) -> impl Iterator<Item = u16> {
    let world = world();
    world.alive().filter(move |&number| {
        let task = &world.tasks[usize::from(number)];
        // One that is to handle a signal first waits all the same.
        let waits = matches!(task.operation.get(), Operation::WriteWake | Operation::Handler);
        waits && task.waits_on.get() == lock
    })
}

/// Whether a reader may take it.
pub(crate) fn is_readable(lock: u64) -> bool {
    let kept_out = || prefers_writers(lock) && waiting_writers(lock).next().is_some();
    !is_written(lock) && !kept_out()
}

fn writer(lock: u64) -> Option<u16> {
    if is_written(lock) { world().by_tid(at(lock).writer) } else { None }
}

/// Calls `each` with those that must go before a reader can.
pub(crate) fn before_reader<T>(lock: u64, mut each: impl FnMut(u16) -> Option<T>) -> Option<T> {
    if let Some(writer) = writer(lock) {
        return each(writer);
    }
    if prefers_writers(lock) { waiting_writers(lock).find_map(each) } else { None }
}

/// Calls `each` with those that must go before a writer can.
pub(crate) fn before_writer<T>(lock: u64, mut each: impl FnMut(u16) -> Option<T>) -> Option<T> {
    match writer(lock) {
        Some(writer) => each(writer),
        None => holdings::holders(lock).find_map(each),
    }
}

/// Whether there is a lock.
fn is_fit(lock: u64, site: u64) -> bool {
    if at(lock).readers == DESTROYED {
        let places = [misuse::destroyed(lock)];
        let rule = "a read-write lock is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
        return false;
    }
    if at(lock).flags > PREFERS_WRITERS {
        let rule = "a read-write lock is used that was never initialised, or written over";
        misuse::report(FailureKind::Uninitialised, rule, site, &[]);
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
    if it.readers / READER >= MOST_READERS {
        return libc::EAGAIN;
    }
    it.readers += READER;
    holdings::add(lock, world().current.get());
    0
}

fn take_to_write(lock: u64) -> c_int {
    left_held::took();
    let it = at(lock);
    it.readers = WRITTEN;
    it.writer = me();
    0
}

fn is_mine_to_write(lock: u64) -> bool {
    is_written_by(lock, me())
}

/// Whether the task with this thread id has it to write.
pub(crate) fn is_written_by(lock: u64, tid: i32) -> bool {
    is_written(lock) && at(lock).writer == tid
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

/// May always move: if the lock is not to be had by then, its time is up.
fn timed_read(lock: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    if !time::is_waitable(clock) || !time::is_valid(deadline) {
        return libc::EINVAL;
    }
    touch(lock);
    point(Operation::TimedReadLock, lock, site, Gate::Open);
    if !is_fit(lock, site) {
        return answer(libc::EINVAL);
    }
    answer(if is_mine_to_write(lock) {
        libc::EDEADLK
    } else if is_readable(lock) {
        take_to_read(lock)
    } else {
        time::reach(clock, deadline);
        libc::ETIMEDOUT
    })
}

fn write(lock: u64, timeout: Option<(c_int, u64)>, site: u64) -> c_int {
    let timed = timeout.is_some();
    if let Some((clock, deadline)) = timeout
        && !(time::is_waitable(clock) && time::is_valid(deadline))
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
    task.waits_on.set(lock);
    task.woken.set(false);
    // Those who come to read from here on wait for this one.
    world().suspect.set(World::ALL);
    let gate = if timed { Gate::Open } else { Gate::Writable(lock) };
    point(Operation::WriteWake, lock, site, gate);
    task.waits_on.set(0);
    answer(if is_writable(lock) { take_to_write(lock) } else { time_out(timeout) })
}

/// The answer of a wait whose time is up.
fn time_out(timeout: Option<(c_int, u64)>) -> c_int {
    if let Some((clock, deadline)) = timeout {
        time::reach(clock, deadline);
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
        if it.writer != me() {
            not_held(lock, site);
        }
        left_held::gave_back();
        it.writer = 0;
        it.readers = 0;
    } else if it.readers >= READER {
        if !holdings::remove(lock, number) && holdings::is_whole() {
            not_held(lock, site);
            if let Some(other) = holdings::holders(lock).next() {
                holdings::remove(lock, other);
            }
        }
        it.readers -= READER;
    } else {
        let rule = "a read-write lock is unlocked that is not locked";
        misuse::report(FailureKind::UnlockNotHeld, rule, site, &[misuse::given_back(lock)]);
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
        return answer(libc::EBUSY);
    }
    at(lock).readers = DESTROYED;
    0
}

fn init(lock: u64, site: u64) {
    let in_use = holdings::holders(lock).next().is_some() || waiting_writers(lock).next().is_some();
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
