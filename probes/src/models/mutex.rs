//! Mutexes: normal (and adaptive), recursive, error-checking, each of them robust or not, with a
//! priority protocol or not.
//!
//! Priorities change nothing here: all tasks have the same. What glibc answers by them is in
//! [`crate::models::ceiling`].

use crate::interpose::{interpose, site};
use crate::models::{ceiling, holdings, left_held, misuse, time, touch};
use crate::real::real;
use crate::record;
use crate::scheduler::{point, point_if};
use crate::task::Gate;
use crate::world::{on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

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

/// The bits of [`Mutex::kind`].
const TYPE: i32 = 3;
const RECURSIVE: i32 = 1;
const ERROR_CHECKING: i32 = 2;
const ROBUST: i32 = 16;
const INHERIT: i32 = 32;
const PROTECT: i32 = 64;
/// All that glibc sets: type, robust, the priority protocols, shared, and elision.
const KNOWN: i32 = TYPE | ROBUST | INHERIT | PROTECT | 128 | 256 | 512;
/// What `pthread_mutex_destroy` leaves.
const DESTROYED: i32 = -1;
/// The part of the lock word that holds the ceiling of [`PROTECT`].
const CEILING: i32 = 0xfff8_0000_u32 as i32;
const CEILING_SHIFT: u32 = 19;
/// Owners of robust mutexes after an owner ended (`PTHREAD_MUTEX_INCONSISTENT` and its like).
const INCONSISTENT: i32 = i32::MAX;
const NOT_RECOVERABLE: i32 = i32::MAX - 1;

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

/// The mutex's type, or the error of one that is none.
#[inline]
fn kind(address: u64, site: u64) -> Result<Kind, c_int> {
    let kind = at(address).kind;
    if kind & !TYPE != 0 && (kind & !KNOWN != 0 || kind & (4 | 8) != 0) {
        return Err(unfit(address, kind, site));
    }
    Ok(match kind & TYPE {
        RECURSIVE => Kind::Recursive,
        ERROR_CHECKING => Kind::ErrorChecking,
        _ => Kind::Normal,
    })
}

/// [`kind`] for a task that came when there was a mutex: where there is none any more, and it was destroyed,
/// the memory may be somebody else's by now.
#[inline]
fn kind_by_now(address: u64, site: u64) -> Result<Kind, c_int> {
    let kind_now = at(address).kind;
    if kind_now & !KNOWN != 0 && misuse::destroyed(address).is_some() {
        return Err(unfit(address, DESTROYED, site));
    }
    kind(address, site)
}

/// What is there is no mutex.
#[cold]
fn unfit(address: u64, kind: i32, site: u64) -> c_int {
    if kind == DESTROYED {
        let places = [misuse::destroyed(address)];
        let rule = "a mutex is used after it was destroyed";
        misuse::report(FailureKind::UsedDestroyed, rule, site, &places);
    } else {
        let rule = "a mutex is used that was never initialised, or written over";
        misuse::report(FailureKind::Uninitialised, rule, site, &[]);
    }
    libc::EINVAL
}

/// Whether nobody holds the mutex.
#[inline]
pub(crate) fn is_free(address: u64) -> bool {
    let mutex = at(address);
    mutex.lock == 0 || (mutex.kind & PROTECT != 0 && mutex.lock & !CEILING == 0)
}

/// The thread id of the holder.
#[inline]
pub(crate) fn owner(address: u64) -> Option<i32> {
    let mutex = at(address);
    // The owner of a robust mutex may be a mark.
    let owner = if mutex.kind & ROBUST != 0 { mutex.lock } else { mutex.owner };
    (!is_free(address) && owner != 0).then_some(owner)
}

/// When a task that wants the mutex may go on.
#[inline]
fn free(address: u64) -> Gate {
    if at(address).kind & PROTECT == 0 {
        Gate::MutexFree(address)
    } else {
        Gate::CeilingFree(address)
    }
}

#[inline]
fn me() -> i32 {
    world().tid(world().current.get())
}

/// Takes a mutex that is free; an error number that says what it was found as, or 0.
#[inline]
pub(crate) fn take(address: u64) -> c_int {
    let mutex = at(address);
    if mutex.kind & ROBUST != 0 {
        return take_robust(address);
    }
    left_held::took();
    mutex.lock |= 1;
    mutex.owner = me();
    mutex.users = mutex.users.wrapping_add(1);
    mutex.count = u32::from(mutex.kind & TYPE == RECURSIVE);
    0
}

#[cold]
fn take_robust(address: u64) -> c_int {
    let mutex = at(address);
    if mutex.owner == NOT_RECOVERABLE {
        return libc::ENOTRECOVERABLE;
    }
    let died = mutex.owner == INCONSISTENT;
    mutex.lock |= me();
    mutex.owner = if died { INCONSISTENT } else { me() };
    mutex.users = mutex.users.wrapping_add(1);
    mutex.count = u32::from(mutex.kind & TYPE == RECURSIVE);
    holdings::add(address, world().current.get());
    if died { libc::EOWNERDEAD } else { 0 }
}

/// Releases a mutex as far as one unlock does; an error number, or 0.
pub(crate) fn release(address: u64, site: u64) -> c_int {
    let kind = match kind(address, site) {
        Ok(kind) => kind,
        Err(error) => return error,
    };
    let mutex = at(address);
    let mine = owner(address) == Some(me());
    if !mine {
        if kind != Kind::Normal || mutex.kind & ROBUST != 0 {
            return libc::EPERM;
        }
        not_held(FailureKind::UnlockNotHeld, address, "a mutex is unlocked", site);
    }
    if kind == Kind::Recursive && mutex.count > 1 {
        mutex.count -= 1;
        let inconsistent = mutex.kind & ROBUST != 0 && mutex.owner == INCONSISTENT;
        return if inconsistent { libc::ENOTRECOVERABLE } else { 0 };
    }
    give_back(address);
    if mutex.kind & PROTECT != 0 { ceiling::change(ceiling_of(address), 0) } else { 0 }
}

/// Makes a mutex that the running task has free.
fn give_back(address: u64) {
    let mutex = at(address);
    let robust = mutex.kind & ROBUST != 0;
    if robust {
        holdings::remove(address, world().current.get());
    } else {
        left_held::gave_back();
    }
    mutex.count = 0;
    mutex.owner = if robust && mutex.owner == INCONSISTENT { NOT_RECOVERABLE } else { 0 };
    mutex.users = mutex.users.wrapping_sub(1);
    mutex.lock &= if mutex.kind & PROTECT != 0 { CEILING } else { 0 };
}

/// The ceiling of a mutex that has one.
fn ceiling_of(address: u64) -> usize {
    ((at(address).lock & CEILING) as u32 >> CEILING_SHIFT) as usize
}

/// What glibc answers who may not take a mutex because of its ceiling; who may is raised to it.
#[inline]
fn refused(address: u64) -> Option<c_int> {
    if at(address).kind & PROTECT == 0 {
        return None;
    }
    Some(ceiling::raise(ceiling_of(address))).filter(|&error| error != 0)
}

/// The running task does not get a mutex, for which it may have been raised.
fn gives_up(address: u64) {
    if at(address).kind & PROTECT != 0 {
        ceiling::change(ceiling_of(address), 0);
    }
}

/// Takes a mutex that is free after a wait for a condition.
pub(crate) fn take_back(address: u64) -> c_int {
    refused(address).unwrap_or_else(|| take(address))
}

/// `what` happened to a mutex that the running task does not hold.
#[cold]
fn not_held(kind: FailureKind, address: u64, what: &str, site: u64) {
    if owner(address).is_some() {
        let rule = format!("{what} by a task that does not hold it");
        misuse::report(kind, &rule, site, &[misuse::taken(address)]);
    } else {
        let rule = format!("{what} that is not locked");
        misuse::report(kind, &rule, site, &[misuse::given_back(address)]);
    }
}

/// Whether the running task has the mutex.
pub(crate) fn is_mine(address: u64) -> bool {
    owner(address) == Some(me())
}

/// Takes a mutex that the running task has once more.
pub(crate) fn take_again(address: u64) {
    at(address).count += 1;
}

/// A wait on a condition variable begins with this mutex: what is wrong with that.
pub(crate) fn check_for_wait(address: u64, site: u64) {
    let ours = owner(address) == Some(me());
    let normal = matches!(kind(address, site), Ok(Kind::Normal)) && at(address).kind & ROBUST == 0;
    if !ours && normal {
        not_held(FailureKind::WaitMutex, address, "a condition is waited for with a mutex", site);
    }
}

/// Whether a task with this thread id that ends leaves the mutex locked, which nobody will be told.
pub(crate) fn is_left_by(address: u64, tid: i32) -> bool {
    let mutex = at(address);
    mutex.kind & !KNOWN == 0 && mutex.kind & ROBUST == 0 && owner(address) == Some(tid)
}

/// Gives up the robust mutexes of the running task, which ends: who takes one next is told. Each in a
/// step of its own, the last that it took first, as the kernel does it (`robust_list`).
pub(crate) fn owner_ends() {
    let task = world().current.get();
    let is_held = |lock| {
        let mutex = at(lock);
        mutex.kind & ROBUST != 0 && mutex.kind & !KNOWN == 0 && mutex.lock == world().tid(task)
    };
    while let Some(address) = holdings::of(task, is_held) {
        point(Operation::Unlock, address, world().task().site.get(), Gate::Open);
        record::value(libc::EOWNERDEAD as u64);
        while holdings::remove(address, task) {}
        let mutex = at(address);
        mutex.lock = 0;
        mutex.count = 0;
        mutex.users = mutex.users.wrapping_sub(1);
        mutex.owner = INCONSISTENT;
    }
}

/// Whether an unlock by the task with this thread id would make the mutex free.
pub(crate) fn would_release(address: u64, tid: i32) -> bool {
    let mutex = at(address);
    match mutex.kind & TYPE {
        RECURSIVE => owner(address) == Some(tid) && mutex.count <= 1,
        ERROR_CHECKING => owner(address) == Some(tid),
        _ => true,
    }
}

/// What a lock comes to before it is known whether the mutex is free.
enum Arrival {
    /// It is the caller's already, or no mutex: the answer.
    Held(c_int),
    /// It must become free first.
    Wanted,
}

#[inline]
fn arrive(address: u64, site: u64) -> Arrival {
    let kind = match kind(address, site) {
        Ok(kind) => kind,
        Err(error) => return Arrival::Held(error),
    };
    let mutex = at(address);
    if mutex.lock == 0 || owner(address) != Some(me()) {
        return Arrival::Wanted;
    }
    match kind {
        Kind::Normal => Arrival::Wanted,
        Kind::ErrorChecking => Arrival::Held(libc::EDEADLK),
        Kind::Recursive if mutex.count == u32::MAX => Arrival::Held(libc::EAGAIN),
        Kind::Recursive => Arrival::Held(0),
    }
}

/// The answer of an operation, noted with its step if it says anything.
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
                at(address).count += 1;
            }
            answer(error)
        }
        Arrival::Wanted if at(address).kind & PROTECT != 0 => lock_protected(address, site),
        Arrival::Wanted => match wait_until_free(address, site) {
            Ok(()) => answer(take(address)),
            Err(error) => answer(error),
        },
    }
}

/// The running task stands before a lock until the mutex is free; or what is wrong with it by then.
#[inline]
fn wait_until_free(address: u64, site: u64) -> Result<(), c_int> {
    loop {
        point_if(is_free(address), Operation::Lock, address, site, free(address));
        kind_by_now(address, site)?;
        if is_free(address) {
            return Ok(());
        }
        // It was destroyed meanwhile, and is another one now.
    }
}

/// [`lock`] of a mutex with a ceiling, which may be another one when it is free.
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
    let error = if now == before { 0 } else { ceiling::change(before, now) };
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
        if mutex.count == u32::MAX {
            libc::EAGAIN
        } else {
            mutex.count += 1;
            0
        }
    } else if is_mine(address) && tells_owner(address) {
        libc::EDEADLK
    } else if let Some(error) = refused(address) {
        error
    } else if is_free(address) {
        take(address)
    } else {
        gives_up(address);
        libc::EBUSY
    })
}

/// Whether glibc tells the owner so who only tries to take an error-checking mutex again: where it is robust
/// or has a priority protocol.
fn tells_owner(address: u64) -> bool {
    let kind = at(address).kind;
    kind & TYPE == ERROR_CHECKING && kind & (ROBUST | INHERIT | PROTECT) != 0
}

/// A timed lock may always move: if the mutex is not free by then, its time is up.
pub(crate) fn timed_lock(address: u64, clock: c_int, deadline: u64, site: u64) -> c_int {
    if !time::is_waitable(clock) {
        return libc::EINVAL;
    }
    if let Arrival::Held(error) = arrive(address, site) {
        point(Operation::TimedLock, address, site, Gate::Open);
        if error == 0 {
            at(address).count += 1;
        }
        return answer(error);
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
    gives_up(address);
    answer(if !time::is_valid(deadline) && !time::is_past(deadline) {
        libc::EINVAL
    } else {
        time::reach(clock, deadline);
        libc::ETIMEDOUT
    })
}

pub(crate) fn unlock(address: u64, site: u64) -> c_int {
    touch(address);
    point(Operation::Unlock, address, site, Gate::Open);
    answer(release(address, site))
}

/// A mutex is initialised where one is in use: somebody waits for it, or is to take it again.
pub(crate) fn init(address: u64, site: u64) {
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
    let robust = at(address).kind & ROBUST != 0;
    if !is_free(address) {
        let rule = "a mutex is destroyed while it is locked";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(address)]);
        if !robust {
            return answer(libc::EBUSY);
        }
    }
    if waited_with(address) {
        let rule = "a mutex is destroyed while a task waits for a condition with it";
        misuse::report(FailureKind::ObjectInUse, rule, site, &[misuse::taken(address)]);
        return answer(libc::EBUSY);
    }
    at(address).kind = DESTROYED;
    open_to_waiting(address);
    0
}

/// Whoever is about to take a mutex that was destroyed goes on and uses what is there: nobody will ever give
/// it back, and what its memory is used for next says nothing of whether it is free.
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

/// Sets the ceiling of a mutex that has one: who has it goes over to the new one, who has not takes it for
/// that without heeding the old one (glibc).
pub(crate) fn set_ceiling(address: u64, ceiling: c_int, old: *mut c_int, site: u64) -> c_int {
    if at(address).kind & PROTECT == 0 || !(1..=99).contains(&ceiling) {
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
        match ceiling::change(before, ceiling as usize) {
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
        // SAFETY: the program's word.
        unsafe { old.write(before as c_int) };
    }
    point(Operation::Unlock, address, site, Gate::Open);
    if !held {
        give_back(address);
    }
    at(address).lock = at(address).lock & !CEILING | ceiling << CEILING_SHIFT;
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
