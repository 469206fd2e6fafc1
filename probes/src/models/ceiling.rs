//! Mutexes with a ceiling (`PTHREAD_PRIO_PROTECT`): whoever takes one is raised to its ceiling, whoever stands
//! above it is refused.
//!
//! Priorities change nothing here, but what glibc answers depends on them: a thread whose policy has no
//! priorities (`SCHED_OTHER`) cannot be raised, and is told so (`EINVAL`) when it would have to be. What a
//! task counts as raised to is kept as glibc keeps it (`nptl/tpp.c`), with what it leaves behind after it
//! refused.

use crate::interpose::{interpose, site};
use crate::models::mutex;
use crate::real::real;
use crate::world::{MAX_TASKS, on_fiber, world};
use std::cell::Cell;
use std::ffi::{c_int, c_void};

/// The priorities of `SCHED_FIFO` and `SCHED_RR` are 1 to 99; 0 stands for none.
const PRIORITIES: usize = 100;

/// What one task was raised to.
struct Raised {
    /// How often to each priority.
    times: [Cell<u16>; PRIORITIES],
    /// The highest of them.
    most: Cell<usize>,
}

struct Table {
    tasks: [Raised; MAX_TASKS],
    /// No task from here on was raised.
    used: Cell<usize>,
}
// SAFETY: there is one kernel thread.
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

/// The running task's policy and priority, which are the C library's to know.
fn scheduling() -> (c_int, c_int) {
    let (mut policy, mut priority) = (libc::SCHED_OTHER, 0);
    let me = world().task().block.get();
    // SAFETY: two words of one's own; a `sched_param` is one.
    real!(pthread_getschedparam(me, &raw mut policy, &raw mut priority)
        as fn(u64, *mut c_int, *mut c_int) -> c_int);
    (policy, priority)
}

/// The running task was raised to `from` and is raised to `to` from here on (0 for none): an error number, or
/// 0.
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
    raised.most.set(most);
    let (policy, own) = scheduling();
    let has_priorities = matches!(policy, libc::SCHED_FIFO | libc::SCHED_RR);
    if own < most as c_int && !has_priorities { libc::EINVAL } else { 0 }
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
