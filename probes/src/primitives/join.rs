//! Joining and detaching threads, and their end as those that join see it.

use crate::detect::access;
use crate::memory::thread_block;
use crate::primitives::thread::reap;
use crate::primitives::{cancel, futex, misuse};
use crate::schedule::access_points;
use crate::schedule::scheduler::point;
use crate::state::cancellation;
use crate::state::clock;
use crate::state::task::{Gate, Lifecycle, Task};
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::c_int;
use traces::Operation;

/// The size of a thread id in a control block, with the unused half of its word.
const TID_SIZE: u64 = 8;

/// How long a join waits.
pub(crate) enum JoinWait {
    Endless,
    None,
    Until(c_int, u64),
}

impl JoinWait {
    /// Until the time at this address; without end for null, as in glibc.
    fn until(clock: c_int, deadline: u64) -> JoinWait {
        if deadline == 0 { JoinWait::Endless } else { JoinWait::Until(clock, deadline) }
    }
}

/// Reports a join or detach of a thread that no longer exists.
fn gone(thread: u64, what: &str, site: u64) {
    let world = world();
    let number = (0..world.created.get())
        .rev()
        .find(|&number| world.tasks[usize::from(number)].block.get() == thread);
    match number {
        Some(number) => {
            let rule = format!("a thread that no longer exists is {what}");
            let object = u64::from(number) + 1;
            let joined = misuse::last("joined", object, |operation| operation == Operation::Join);
            misuse::thread(rule, site, &[joined.or_else(|| detached(object))]);
        }
        None => misuse::thread(format!("the thread id that is {what} names no thread"), site, &[]),
    }
}

/// The step that detached a task.
fn detached(object: u64) -> Option<misuse::RelatedSite> {
    misuse::last("detached", object, |operation| operation == Operation::Detach)
        .or_else(|| misuse::last("created", object, |operation| operation == Operation::Create))
}

pub(crate) unsafe fn join(thread: u64, result: *mut u64, wait: JoinWait, site: u64) -> c_int {
    let world = world();
    let Some(number) = world.by_block(thread) else {
        gone(thread, "joined", site);
        return libc::ESRCH;
    };
    let me = world.current.get();
    let task = &world.tasks[usize::from(number)];
    let object = u64::from(number) + 1;
    let only_tries = matches!(wait, JoinWait::None);
    if task.detached.get() {
        misuse::thread("a detached thread is joined", site, &[detached(object)]);
        return libc::EINVAL;
    }
    if task.joiner.get() != 0 {
        let other = &world.tasks[usize::from(task.joiner.get() - 1)];
        let place = Some(("joined", other.site.get()));
        misuse::thread("a thread is joined by two threads", site, &[place]);
        return libc::EINVAL;
    }
    if number == me && !only_tries {
        misuse::thread("a thread joins itself", site, &[]);
        return libc::EDEADLK;
    }
    // A task that is cancelled while it waits for this one gives up its join.
    if world.task().joiner.get() == number + 1 && !only_tries && !cancellation::is_due_for(task) {
        let place = Some(("joined", task.site.get()));
        misuse::thread("two threads join each other", site, &[place]);
        return libc::EDEADLK;
    }
    let has_ended = || task.life() == Lifecycle::Ended;
    match wait {
        JoinWait::Endless => {
            task.joiner.set(me + 1);
            if !has_ended() {
                world.suspect.set(me);
            }
            cancel::point(Operation::Join, object, site, Gate::Ended(u64::from(number)));
            if cancellation::is_due() {
                task.joiner.set(0);
                cancel::act();
            }
        }
        JoinWait::None => {
            let ended = access::take_part() && find_ended(number, site);
            let gate = if ended { Gate::Ended(u64::from(number)) } else { Gate::Open };
            point(Operation::Join, object, site, gate);
            if !ended && (access::take_part() || !has_ended()) {
                record::value(libc::EBUSY as u64);
                return libc::EBUSY;
            }
        }
        JoinWait::Until(clock, deadline) => {
            if !clock::is_waitable(clock)
                || (!has_ended() && !clock::is_valid(deadline) && !clock::is_past(deadline))
            {
                return libc::EINVAL;
            }
            task.joiner.set(me + 1);
            let gate = if access::take_part() {
                if !wait_for_end(number, (clock, deadline), site) {
                    task.joiner.set(0);
                    cancel::act_if_due();
                    return libc::ETIMEDOUT;
                }
                Gate::Ended(u64::from(number))
            } else {
                clock::limit(clock, deadline);
                Gate::Open
            };
            cancel::point(Operation::Join, object, site, gate);
            if cancellation::is_due() {
                task.joiner.set(0);
                cancel::act();
            }
            if !has_ended() {
                task.joiner.set(0);
                clock::reach(clock, deadline);
                record::value(libc::ETIMEDOUT as u64);
                return libc::ETIMEDOUT;
            }
        }
    }
    if !result.is_null() {
        // SAFETY: the caller of `pthread_join` passes a valid pointer for the result.
        unsafe { result.write(task.result.get()) };
    }
    access::joined(number);
    reap(task);
    0
}

/// Whether the task has ended. Where its end matters, looking is a step: a read of the thread id, which the
/// kernel clears when the thread ends (set_tid_address(2)).
fn find_ended(number: u16, site: u64) -> bool {
    let task = &world().tasks[usize::from(number)];
    let address = thread_block::tid_address(task.block.get());
    if task.life() == Lifecycle::Ended {
        access::catch_up(number, address, end_site(task));
    }
    access_points::loaded(address, TID_SIZE, site);
    task.life() == Lifecycle::Ended
}

/// The site of a thread's end: within the first instruction of the start routine, where users find it.
fn end_site(task: &Task) -> u64 {
    task.start.get() + 1
}

/// Waits until the task has ended, the time at `deadline` has come, or the running task is to be cancelled. As
/// the C library does, it waits on the thread id as a futex, which the kernel wakes when it has cleared it.
/// Whether the task has ended.
fn wait_for_end(number: u16, (clock, deadline): (c_int, u64), site: u64) -> bool {
    let block = world().tasks[usize::from(number)].block.get();
    let until = (clock, clock::since_start(clock, clock::nanoseconds(deadline)));
    while !find_ended(number, site) {
        let (address, tid) = (thread_block::tid_address(block), thread_block::tid(block));
        if !futex::wait_until(address, tid as u32, until, site) || cancellation::is_due() {
            return false;
        }
    }
    true
}

/// The running task ends: the kernel clears its thread id, and wakes the tasks that wait for it. Nothing observes
/// the end of a detached thread.
///
/// Few programs look at the end of a thread by a call that may fail. Where this task is the first to touch the page,
/// the store is compared with others only if a later look finds the thread ended: shadow memory for the blocks of all
/// threads, and marks for each of their words, would cost each execution more than all else about a thread's end.
pub(crate) fn clear_tid() {
    let task = world().task();
    if !access::take_part() || task.detached.get() {
        return;
    }
    let block = task.block.get();
    let address = thread_block::tid_address(block);
    if access::is_known(address) {
        access_points::stored(address, TID_SIZE, end_site(task));
    }
    thread_block::set_tid(block, 0);
    futex::wake_all(address);
}

pub(crate) fn detach(thread: u64, site: u64) -> c_int {
    let world = world();
    let Some(number) = world.by_block(thread) else {
        gone(thread, "detached", site);
        return libc::ESRCH;
    };
    let object = u64::from(number) + 1;
    let before = detached(object);
    point(Operation::Detach, object, site, Gate::Open);
    let task = &world.tasks[usize::from(number)];
    if task.detached.replace(true) {
        misuse::thread("a detached thread is detached again", site, &[before]);
        record::value(libc::EINVAL as u64);
        return libc::EINVAL;
    }
    0
}

interpose! {
    fn pthread_join(thread: u64, result: *mut u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_join(thread, result) as fn(u64, *mut u64) -> c_int);
            }
            join(thread, result, JoinWait::Endless, site())
        }
    }

    fn pthread_tryjoin_np(thread: u64, result: *mut u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_tryjoin_np(thread, result) as fn(u64, *mut u64) -> c_int);
            }
            join(thread, result, JoinWait::None, site())
        }
    }

    fn pthread_timedjoin_np(thread: u64, result: *mut u64, deadline: *const libc::timespec)
        -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_timedjoin_np(thread, result, deadline)
                    as fn(u64, *mut u64, *const libc::timespec) -> c_int);
            }
            join(thread, result, JoinWait::until(libc::CLOCK_REALTIME, deadline as u64), site())
        }
    }

    fn pthread_clockjoin_np(thread: u64, result: *mut u64, clock: c_int,
                            deadline: *const libc::timespec) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_clockjoin_np(thread, result, clock, deadline)
                    as fn(u64, *mut u64, c_int, *const libc::timespec) -> c_int);
            }
            if !clock::is_waitable(clock) {
                return libc::EINVAL;
            }
            join(thread, result, JoinWait::until(clock, deadline as u64), site())
        }
    }

    fn pthread_detach(thread: u64) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_detach(thread) as fn(u64) -> c_int);
            }
        }
        detach(thread, site())
    }
}
