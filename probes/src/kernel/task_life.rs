//! The beginning and the end of a task.

use crate::fiber::switch;
use crate::kernel::{exit, lost_panics, signal_calls, signal_delivery};
use crate::primitives::{abandoned_locks, join, robust_list, thread_keys};
use crate::state::cancellation;
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::sys::copies::is_copy;
use crate::sys::real::lazy;

/// Called when a task begins: sets its character tables to those of the current locale.
pub(crate) extern "C-unwind" fn heddle_task_started() {
    lazy! {
        static CTYPE_INIT = c"__ctype_init", None;
    }
    // SAFETY: glibc exports this function, without arguments, for each new thread to call.
    unsafe {
        let initialise: extern "C" fn() = std::mem::transmute(CTYPE_INIT.get());
        initialise();
    }
    // Handles signals that were sent to the task before it began.
    signal_delivery::mask_changed();
}

/// The start routine of the running task returned.
pub(crate) extern "C-unwind" fn heddle_task_returned(result: u64) -> ! {
    end_task(result)
}

/// Ends the running task. Destructors run first: they are the program's code and may do anything.
fn end_task(result: u64) -> ! {
    if is_copy() {
        // The copy has this thread only.
        thread_keys::run_key_destructors();
        exit::after_last_thread();
    }
    let world = world();
    let number = world.current.get();
    let task = world.task();
    task.result.set(result);
    cancellation::ends();
    thread_keys::run_thread_destructors(task);
    thread_keys::run_key_destructors();
    lost_panics::task_ends(task);
    abandoned_locks::check();
    let site = heddle_task_returned as *const () as u64 + 1;
    signal_calls::last_moment(site);
    signal_delivery::handle_signalled(site);
    // A thread that has ended receives no signals.
    task.mask.set(u64::MAX);
    robust_list::owner_ends(site);
    if world.alive().all(|other| other == number || !world.tasks[usize::from(other)].is_thread()) {
        // The end of the last thread is the end of the process, with status 0 (POSIX,
        // pthread_exit).
        exit::after_last_thread();
    }
    join::clear_tid();
    task.set_life(Lifecycle::Ended);
    world.died(number);
    // SAFETY: this runs on the task's fiber, and the slot for the stack pointer is its own. The
    // task is no longer alive, so the scheduler never chooses it again.
    unsafe { switch::heddle_point(task.sp.as_ptr()) };
    unreachable_fiber()
}

fn unreachable_fiber() -> ! {
    crate::sys::channel::fail("a task that had ended was chosen")
}
