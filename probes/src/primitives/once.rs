//! `pthread_once` and `call_once`.

use crate::detect::access;
use crate::fiber::backtrace;
use crate::schedule::access_points;
use crate::schedule::scheduler::point;
use crate::state::task::Gate;
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
    let outer = (task.once.replace(flag as u64), task.once_routine.replace((routine, site)));
    let answer = real(run_once as *const () as u64);
    task.once.set(outer.0);
    task.once_routine.set(outer.1);
    access::acquire(flag as u64);
    access::release(flag as u64);
    answer
}

/// The size of a `pthread_once_t`.
const FLAG_SIZE: u64 = 4;

/// Runs the routine of the innermost `once` of the running task, which is about to be done then.
extern "C-unwind" fn run_once() {
    let task = world().task();
    let (flag, (routine, site)) = (task.once.get(), task.once_routine.get());
    // SAFETY: the routine that the program passed to `pthread_once` or `call_once`, which takes no arguments.
    let routine: extern "C-unwind" fn() = unsafe { std::mem::transmute(routine) };
    routine();
    access_points::stored(flag, FLAG_SIZE, site);
}

interpose! {
    fn pthread_once(flag: *mut i32, function: u64) -> c_int {
        // The real function; its waits come back to the runtime as futex calls.
        once(flag, function, site(), |routine| unsafe {
            real!(pthread_once(flag, routine) as fn(*mut i32, u64) -> c_int)
        })
    }
}
