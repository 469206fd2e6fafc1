//! Whether a parked task may continue.

use crate::state::locks::{self, mutex, rwlock, semaphore, spin_lock};
use crate::state::pending_signals;
use crate::state::task::{ExternalWait, Gate, Lifecycle, Task};
use crate::state::world::World;

/// Whether a parked task is enabled.
#[inline]
pub(crate) fn enabled(world: &World, task: &Task) -> bool {
    match task.gate() {
        Gate::Open | Gate::Releasing(_) | Gate::WordOpen => true,
        Gate::WordFree(mutex) => locks::word::is_free(mutex),
        Gate::MutexFree(mutex) | Gate::TimedMutexFree(mutex) | Gate::CeilingFree(mutex) => {
            mutex::is_free(mutex)
        }
        Gate::Readable(lock) => rwlock::is_readable(lock),
        Gate::Writable(lock) => rwlock::is_writable(lock),
        Gate::SpinFree(lock) => spin_lock::is_free(lock),
        Gate::WokenMutexFree(mutex) => task.woken.get() && mutex::is_free(mutex),
        Gate::SemaphorePositive(semaphore) => semaphore::value(semaphore) > 0,
        Gate::Woken => task.woken.get(),
        Gate::Alone => false,
        Gate::Signalled(set) => pending_signals::any(task, set),
        Gate::Ended(other) => {
            matches!(world.tasks[other as usize].life(), Lifecycle::Ended | Lifecycle::Reaped)
        }
        // SAFETY: both gates have the address of a wait on the stack of the task, which is parked
        // in it.
        Gate::Ready(wait) | Gate::FileFree(wait) => unsafe { ExternalWait::is_over(wait) },
    }
}

/// No task is enabled: those that yielded where they were interrupted may continue. Whether there is one.
pub(crate) fn release(world: &World) -> bool {
    let mut any = false;
    for number in world.alive() {
        let task = &world.tasks[usize::from(number)];
        if task.gate() == Gate::Alone {
            task.set_gate(Gate::Open);
            any = true;
        }
    }
    any
}
