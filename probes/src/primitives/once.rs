//! `pthread_once` and `call_once`.

use crate::detect::access;
use crate::fiber::backtrace;
use crate::schedule::access_points;
use crate::schedule::scheduler::point;
use crate::state::task::{Gate, Task};
use crate::state::world::{on_fiber, world};
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use std::ffi::c_int;
use traces::Operation;

/// Runs a `once` routine, with a scheduling point before it. `real` calls the C library with the routine that it
/// is passed.
///
/// A `once` that is done already needs no point. Whether it is depends on the end of the routine, so that looking at
/// the flag is a read, and the end a write.
pub(crate) fn once<T>(flag: *mut i32, routine: u64, site: u64, real: impl FnOnce(u64) -> T) -> T {
    const DONE: i32 = 2;
    if !on_fiber() || backtrace::is_running() {
        return real(routine);
    }
    access_points::loaded(flag as u64, FLAG_SIZE, site);
    // SAFETY: the caller of `pthread_once` passes a valid flag; an invalid one faults here as it
    // would in the C library.
    if unsafe { *flag } == DONE {
        let answer = real(routine);
        access::acquire(flag as u64);
        return answer;
    }
    point(Operation::Once, flag as u64, site, Gate::Open);
    let task = world().task();
    let outer = Outer {
        task,
        once: task.once.replace(flag as u64),
        routine: task.once_routine.replace((routine, site)),
    };
    let answer = real(run_once as *const () as u64);
    drop(outer);
    access::acquire(flag as u64);
    access::release(flag as u64);
    answer
}

/// The `once` whose routine calls another one. It is the innermost again when that ends, also by an exception.
struct Outer<'world> {
    task: &'world Task,
    once: u64,
    routine: (u64, u64),
}

impl Drop for Outer<'_> {
    fn drop(&mut self) {
        self.task.once.set(self.once);
        self.task.once_routine.set(self.routine);
    }
}

/// A `once` whose flag changes when its routine ends: it is done, or may run again after an exception.
struct Ends {
    flag: u64,
    site: u64,
}

impl Drop for Ends {
    fn drop(&mut self) {
        access_points::stored(self.flag, FLAG_SIZE, self.site);
    }
}

/// The size of a `pthread_once_t`.
const FLAG_SIZE: u64 = 4;

/// Runs the routine of the innermost `once` of the running task.
extern "C-unwind" fn run_once() {
    let task = world().task();
    let (flag, (routine, site)) = (task.once.get(), task.once_routine.get());
    // SAFETY: the routine that the program passed to `pthread_once` or `call_once`, which takes no arguments.
    let routine: extern "C-unwind" fn() = unsafe { std::mem::transmute(routine) };
    let _ends = Ends { flag, site };
    routine();
}

interpose! {
    fn pthread_once(flag: *mut i32, function: u64) -> c_int {
        // The real function; its waits come back to the runtime as futex calls.
        once(flag, function, site(), |routine| unsafe {
            real!(pthread_once(flag, routine) as fn(*mut i32, u64) -> c_int)
        })
    }
}
