//! Mutexes: normal, recursive, error-checking.

use crate::failure;
use crate::interpose::{interpose, site};
use crate::models::time;
use crate::real::real;
use crate::record;
use crate::scheduler::point;
use crate::task::Gate;
use crate::world::{on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::Operation;

/// The fields of glibc's `pthread_mutex_t` on x86-64. The layout is ABI: static initialisers are
/// compiled into programs.
#[repr(C)]
struct Mutex {
    lock: i32,
    count: u32,
    owner: i32,
    users: u32,
    kind: i32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Recursive,
    ErrorChecking,
}

fn at<'a>(address: u64) -> &'a mut Mutex {
    // SAFETY: the program says that a mutex is there; if it lies, it faults as it would natively.
    unsafe { &mut *(address as *mut Mutex) }
}

fn kind(mutex: &Mutex, site: u64) -> Kind {
    const ROBUST: i32 = 16;
    const INHERIT: i32 = 32;
    const PROTECT: i32 = 64;
    if mutex.kind & (ROBUST | INHERIT | PROTECT) != 0 && mutex.kind >= 0 {
        failure::unsupported("a mutex that is robust or has a priority protocol", site);
    }
    match mutex.kind & 3 {
        1 => Kind::Recursive,
        2 => Kind::ErrorChecking,
        _ => Kind::Normal,
    }
}

/// Whether nobody holds the mutex.
#[inline]
pub(crate) fn is_free(address: u64) -> bool {
    at(address).lock == 0
}

/// The thread id of the holder.
pub(crate) fn owner(address: u64) -> Option<i32> {
    let mutex = at(address);
    (mutex.lock != 0 && mutex.owner != 0).then_some(mutex.owner)
}

fn me() -> i32 {
    world().tid(world().current.get())
}

/// Takes a mutex that is free.
pub(crate) fn take(address: u64) {
    let mutex = at(address);
    mutex.lock = 1;
    mutex.owner = me();
    mutex.users = mutex.users.wrapping_add(1);
    mutex.count = u32::from(mutex.kind & 3 == 1);
}

/// Releases a mutex as far as one unlock does; an error number, or 0.
pub(crate) fn release(address: u64, site: u64) -> c_int {
    let mutex = at(address);
    let kind = kind(mutex, site);
    if kind != Kind::Normal && (mutex.lock == 0 || mutex.owner != me()) {
        return libc::EPERM;
    }
    if kind == Kind::Recursive && mutex.count > 1 {
        mutex.count -= 1;
        return 0;
    }
    mutex.count = 0;
    mutex.owner = 0;
    mutex.users = mutex.users.wrapping_sub(1);
    mutex.lock = 0;
    0
}

/// Whether an unlock by the task with this thread id would make the mutex free.
pub(crate) fn would_release(address: u64, tid: i32) -> bool {
    let mutex = at(address);
    match mutex.kind & 3 {
        1 => mutex.lock != 0 && mutex.owner == tid && mutex.count <= 1,
        2 => mutex.lock != 0 && mutex.owner == tid,
        _ => true,
    }
}

/// What a lock comes to before it is known whether the mutex is free.
enum Arrival {
    /// It is the caller's already: the answer.
    Held(c_int),
    /// It must become free first.
    Wanted,
}

fn arrive(address: u64, site: u64) -> Arrival {
    let mutex = at(address);
    let kind = kind(mutex, site);
    if mutex.lock == 0 || mutex.owner != me() {
        return Arrival::Wanted;
    }
    match kind {
        Kind::Normal => Arrival::Wanted,
        Kind::ErrorChecking => Arrival::Held(libc::EDEADLK),
        Kind::Recursive if mutex.count == u32::MAX => Arrival::Held(libc::EAGAIN),
        Kind::Recursive => Arrival::Held(0),
    }
}

fn lock(address: u64, site: u64) -> c_int {
    match arrive(address, site) {
        Arrival::Held(answer) => {
            point(Operation::Lock, address, site, Gate::Open);
            if answer == 0 {
                at(address).count += 1;
            }
            record::value(answer as u64);
            answer
        }
        Arrival::Wanted => {
            point(Operation::Lock, address, site, Gate::MutexFree(address));
            take(address);
            0
        }
    }
}

fn try_lock(address: u64, site: u64) -> c_int {
    point(Operation::TryLock, address, site, Gate::Open);
    let mutex = at(address);
    let kind = kind(mutex, site);
    let answer = if mutex.lock == 0 {
        take(address);
        0
    } else if kind == Kind::Recursive && mutex.owner == me() {
        mutex.count += 1;
        0
    } else {
        libc::EBUSY
    };
    record::value(answer as u64);
    answer
}

/// A timed lock may always move: if the mutex is not free by then, its time is up.
fn timed_lock(address: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    if let Arrival::Held(answer) = arrive(address, site) {
        point(Operation::TimedLock, address, site, Gate::Open);
        if answer == 0 {
            at(address).count += 1;
        }
        record::value(answer as u64);
        return answer;
    }
    if !time::is_valid(deadline) && !is_free(address) {
        return libc::EINVAL;
    }
    point(Operation::TimedLock, address, site, Gate::Open);
    let answer = if is_free(address) {
        take(address);
        0
    } else {
        time::reach(clock, deadline);
        libc::ETIMEDOUT
    };
    record::value(answer as u64);
    answer
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
        let site = site();
        point(Operation::Unlock, mutex as u64, site, Gate::Open);
        let answer = release(mutex as u64, site);
        if answer != 0 {
            record::value(answer as u64);
        }
        answer
    }
}
