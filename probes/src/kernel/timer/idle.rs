//! Executions in which only timers run: every thread waits for another one, and what the timers do each time
//! opens none of their gates.
//!
//! That is known where a timer counts in a descriptor for which no thread waits, or where the handler of its
//! signal does the same each time ([`constant_effect`]) and the signal ends no wait. What else a handler does may
//! wake a thread after any number of expirations, so such an execution continues.

use crate::fiber::switch;
use crate::instrument::binary::{self, constant_effect};
use crate::kernel::signal_calls::{action, ignores};
use crate::kernel::timer::{Notice, TIMERS, Timer};
use crate::schedule::deadlock;
use crate::schedule::gates::enabled;
use crate::state::task::{Gate, Task};
use crate::state::time::NEVER;
use crate::state::world::world;
use traces::Operation;

/// After how many expirations of one timer this is checked. A check takes time, so it is not made at each.
fn is_checked_after(expirations: u32) -> bool {
    const FEWEST: u32 = 4;
    expirations >= FEWEST && expirations.is_power_of_two()
}

/// A periodic timer expires, for so many times in a row. Ends the execution if no thread can ever run again.
pub(super) fn check(expirations: u32) {
    extern "C" fn end_if_idle(_: u64) -> u64 {
        if are_idle() {
            deadlock::despite_timers();
        }
        0
    }
    if is_checked_after(expirations) && world().outside.get() == 0 {
        switch::on_manager(end_if_idle, 0);
    }
}

/// Whether nothing that the armed timers do will let a thread run.
fn are_idle() -> bool {
    let world = world();
    let threads = || {
        let tasks = world.alive().map(|number| &world.tasks[usize::from(number)]);
        tasks.filter(|task| task.is_thread())
    };
    let armed = || TIMERS.0.iter().filter(|timer| timer.due.get() > 0);
    let sends = armed().any(|timer| {
        let notice = timer.setup.get().map(|setup| setup.notice);
        matches!(notice, Some(Notice::Process { .. } | Notice::Task { .. }))
    });
    if !threads().all(|task| waits_for_threads(task, sends)) {
        return false;
    }
    let mut changed = Vec::new();
    armed().all(|timer| adds_what_changes(timer, &mut changed))
        && !changed.iter().any(|&range| threads().any(|task| is_gate_in(task, range)))
}

/// Whether a task waits for what only another thread can do. `sends`: signals come, which must not end the wait.
fn waits_for_threads(task: &Task, sends: bool) -> bool {
    use Operation as O;
    if enabled(world(), task) || task.deadline.get() != NEVER || task.alerts.get() != 0 {
        return false;
    }
    match task.gate() {
        Gate::MutexFree(_)
        | Gate::CeilingFree(_)
        | Gate::Readable(_)
        | Gate::Writable(_)
        | Gate::SpinFree(_)
        | Gate::WordFree(_)
        | Gate::Ended(_) => true,
        // A task that was woken waits for the mutex.
        Gate::WokenMutexFree(_) => true,
        Gate::Woken => !sends || matches!(task.operation.get(), O::Wake | O::BarrierPass),
        Gate::SemaphorePositive(_) => !sends,
        _ => false,
    }
}

/// Adds the memory that an expiration changes, if it does the same each time.
fn adds_what_changes(timer: &Timer, changed: &mut constant_effect::Changed) -> bool {
    let Some(setup) = timer.setup.get() else { return true };
    let function = match setup.notice {
        Notice::Nothing | Notice::Descriptor(_) => return true,
        Notice::Process { signal, .. } | Notice::Task { signal, .. } => {
            let handler = action(signal).handler;
            if ignores(signal, handler) {
                return true;
            }
            if handler == libc::SIG_DFL as u64 {
                return false;
            }
            handler
        }
        Notice::Call { function, .. } => function,
    };
    let more = constant_effect::of(function, binary::original_code);
    more.map(|more| changed.extend(more)).is_some()
}

/// Whether memory in a range may decide whether the task can run.
fn is_gate_in(task: &Task, (start, end): (u64, u64)) -> bool {
    let (object, len) = match task.gate() {
        Gate::MutexFree(mutex) | Gate::CeilingFree(mutex) | Gate::WokenMutexFree(mutex) => {
            (mutex, size_of::<libc::pthread_mutex_t>())
        }
        Gate::Readable(lock) | Gate::Writable(lock) => (lock, size_of::<libc::pthread_rwlock_t>()),
        Gate::SpinFree(word) | Gate::WordFree(word) => (word, size_of::<u64>()),
        Gate::SemaphorePositive(semaphore) => (semaphore, size_of::<libc::sem_t>()),
        _ => return false,
    };
    start < object.saturating_add(len as u64) && end > object
}
