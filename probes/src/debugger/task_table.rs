//! The table of tasks, for a controller or debugger that inspects the stopped process.

use crate::fiber::switch::{self, Parked};
use crate::schedule::deadlock;
use crate::schedule::stall;
use crate::state::task::Lifecycle;
use crate::state::world::world;
use crate::steps::objects;
use crate::sys::channel::{self, header};
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{NO_TASK, TaskInfo, task_state};

/// Fills in the table of tasks for the controller.
pub(crate) fn describe_tasks(running: Option<(Parked, bool)>) {
    fill_tasks(running, objects::index);
}

/// Fills in the table of tasks; `index` finds an object's index in the table of objects.
pub(crate) fn fill_tasks(
    running: Option<(Parked, bool)>,
    index: fn(traces::Operation, u64) -> u64,
) {
    let world = world();
    let header = header();
    let capacity = header.tasks.len as usize / size_of::<TaskInfo>();
    let created = usize::from(world.created.get()).min(capacity);
    for number in 0..created {
        let task = &world.tasks[number];
        let is_current = number == usize::from(world.current.get());
        let alive = task.life() == Lifecycle::Alive;
        let state = match () {
            () if !alive => task_state::EXITED,
            () if is_current && running.is_some() => task_state::RUNNING,
            () if stall::waits(number as u16) => task_state::BLOCKED,
            () if crate::schedule::gates::enabled(world, task) => task_state::RUNNABLE,
            () => task_state::BLOCKED,
        };
        let live = running.filter(|_| is_current);
        let (registers, exact) = match live {
            Some((registers, exact)) => (registers, exact),
            // SAFETY: the task is alive and not running, so it is parked with a valid saved stack
            // pointer.
            None if alive => (unsafe { switch::parked(task.sp.get()) }, false),
            None => (Parked::NONE, false),
        };
        let stack = task.stack.get();
        let info = TaskInfo {
            state,
            operation: u32::from(task.operation.get().code()),
            object: index(task.operation.get(), task.object.get()) as u32,
            object_address: task.object.get(),
            holder: deadlock::holder(number as u16).map_or(NO_TASK, u32::from),
            parent: task.parent.get(),
            exact: u32::from(exact),
            site: task.site.get(),
            start: task.start.get(),
            stack_low: stack.low,
            stack_high: stack.high,
            stack_base: task.base.get(),
            thread_pointer: task.block.get(),
            rip: registers.rip,
            rsp: registers.rsp,
            rbp: registers.rbp,
            rbx: registers.rbx,
            r12: registers.r12,
            r13: registers.r13,
            r14: registers.r14,
            r15: registers.r15,
            name: task.name.get(),
        };
        // SAFETY: `number` is below the capacity of the region, which is mapped and written by this
        // process only.
        unsafe { (channel::address(header.tasks) as *mut TaskInfo).add(number).write(info) };
    }
    header.tasks_len.store(created as u64, Relaxed);
}
