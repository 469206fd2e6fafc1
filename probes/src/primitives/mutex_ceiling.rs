//! Mutexes with a priority ceiling (`PTHREAD_PRIO_PROTECT`): the holder is raised to the ceiling,
//! and a task with a higher priority may not lock the mutex.
//!
//! Priorities do not affect scheduling here, but what glibc returns depends on them: a thread whose
//! policy has no priorities (`SCHED_OTHER`) cannot be raised and gets `EINVAL` where that would be
//! needed. The bookkeeping follows glibc's (`nptl/tpp.c`), including what it leaves behind after a
//! refusal.

use crate::primitives::mutex;
use crate::state::world::{MAX_TASKS, on_fiber, world};
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// The priorities of `SCHED_FIFO` and `SCHED_RR` are 1 to 99; 0 means none.
const PRIORITIES: usize = 100;

/// The ceilings to which one task is raised.
struct Raised {
    /// For each ceiling, the number of mutexes that the task holds.
    times: [Cell<u16>; PRIORITIES],
    /// The highest ceiling among these mutexes.
    most: Cell<usize>,
}

struct Table {
    tasks: [Raised; MAX_TASKS],
    /// No task from this number on was raised.
    used: Cell<usize>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Table {}
static TABLE: Table = Table {
    tasks: [const { Raised { times: [const { Cell::new(0) }; PRIORITIES], most: Cell::new(0) } };
        MAX_TASKS],
    used: Cell::new(0),
};

/// An execution begins.
pub(crate) fn clear() {
    for task in &TABLE.tasks[..TABLE.used.replace(0)] {
        task.times.iter().for_each(|times| times.set(0));
        task.most.set(0);
    }
}

/// Whether no task of the execution has locked a mutex with a priority ceiling.
pub(crate) fn is_clear() -> bool {
    TABLE.used.get() == 0
}

/// The running task's policy and priority, as the C library knows them.
fn scheduling() -> (c_int, c_int) {
    let (mut policy, mut priority) = (libc::SCHED_OTHER, 0);
    let me = world().task().block.get();
    // SAFETY: the block is the running thread's `pthread_t`; the results go to two locals (a
    // `sched_param` is one word).
    real!(pthread_getschedparam(me, &raw mut policy, &raw mut priority)
        as fn(u64, *mut c_int, *mut c_int) -> c_int);
    (policy, priority)
}

/// Changes the ceiling to which the running task is raised from `from` to `to` (0 for none). An
/// error number, or 0.
pub(crate) fn change(from: usize, to: usize) -> c_int {
    let number = usize::from(world().current.get());
    TABLE.used.set(TABLE.used.get().max(number + 1));
    let raised = &TABLE.tasks[number];
    let before = raised.most.get();
    let mut most = before;
    if to > 0 {
        raised.times[to].set(raised.times[to].get() + 1);
        most = most.max(to);
    }
    if from > 0 {
        raised.times[from].set(raised.times[from].get() - 1);
        if raised.times[from].get() == 0 && before == from && from > to {
            most = (1..from).rev().find(|&other| raised.times[other].get() > 0).unwrap_or(0);
        }
    }
    if most == before {
        return 0;
    }
    // Before the task is raised: the C library stores the first answer of the kernel.
    let (policy, own) = scheduling();
    raised.most.set(most);
    let has_priorities = matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR);
    if own < most as c_int && !has_priorities { libc::EINVAL } else { 0 }
}

/// The priority that the kernel reports of a task whose own is `priority`: that of the highest ceiling
/// to which it is raised, if its policy has priorities.
pub(crate) fn raised(number: u16, policy: c_int, priority: c_int) -> c_int {
    match policy & !libc::SCHED_RESET_ON_FORK {
        libc::SCHED_FIFO | libc::SCHED_RR => {
            priority.max(TABLE.tasks[usize::from(number)].most.get() as c_int)
        }
        _ => priority,
    }
}

/// The running task wants a mutex with this ceiling: an error number, or 0.
pub(crate) fn raise(ceiling: usize) -> c_int {
    if scheduling().1 > ceiling as c_int { libc::EINVAL } else { change(0, ceiling) }
}

interpose! {
    fn pthread_mutex_setprioceiling(mutex: *mut c_void, ceiling: c_int, old: *mut c_int) -> c_int {
        unsafe {
            if !on_fiber() {
                return real!(pthread_mutex_setprioceiling(mutex, ceiling, old)
                    as fn(*mut c_void, c_int, *mut c_int) -> c_int);
            }
        }
        mutex::set_ceiling(mutex as u64, ceiling, old, site())
    }
}
