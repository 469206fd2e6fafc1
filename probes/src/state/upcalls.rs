//! Calls from lower layers of the runtime to higher ones, which register them when the runtime
//! starts. Lower layers import nothing from higher ones.

use crate::state::end::End;
use crate::state::task::Gate;
use std::cell::Cell;
use traces::Operation;

/// The functions of higher layers that lower ones call.
pub(crate) trait Upcalls {
    /// An execution ends, on the stack that is about to be abandoned. Returns the end that is to be reported.
    fn execution_ends(&self, end: End) -> End;
    /// Main, the only task so far, creates another. On the manager's stack.
    fn second_task(&self);
    /// A block of this size was allocated at this address.
    fn memory_allocated(&self, address: u64, size: u64);
    /// The program calls a function of the heap, from the code before `site`.
    fn heap_called(&self, function: &'static str, site: u64);
    /// Whether freed blocks of this size class may come back.
    fn may_come_back(&self, class: usize) -> bool;
    /// Whether one does, where so many did before in the execution.
    fn comes_back(&self, before: u32) -> bool;
    /// The block of this size at this address is released by the caller at `site`.
    fn memory_released(&self, address: u64, size: u64, site: u64);
    /// Two tasks access a word unordered: whether it represents state of the C library that calls use. They are
    /// reported, by the code before `site`, unless the library protects both (`excluded`).
    fn unordered_uses(&self, word: u64, excluded: bool, site: u64) -> bool;
    /// Another task accesses, unordered, memory that the call before `site` accesses in parts.
    fn met_in_parts(&self, site: u64);
    /// The execution changed state that a memory reset does not restore, by no system call.
    fn state_left(&self);
    /// Whether the execution changed such state, by a system call or otherwise.
    fn has_left_state(&self) -> bool;
    /// The running task was chosen for something else than its operation ([`Task::alerts`]). After
    /// that it returns to its point, unless a handler ends its wait.
    ///
    /// [`Task::alerts`]: crate::state::task::Task::alerts
    fn task_alerted(&self, operation: Operation, object: u64, site: u64, gate: Gate);
    /// The running task is about to park, and a signal came within an instruction that it executed
    /// ([`Task::is_signalled`]).
    ///
    /// [`Task::is_signalled`]: crate::state::task::Task::is_signalled
    fn task_parks_signalled(&self);
    /// The execution has reached the point at which its search begins. Returns in each execution that continues there.
    fn start_point_reached(&self);
    /// The running task has reached no scheduling point for long: whether it yielded to another task.
    fn yields(&self) -> bool;
    /// All tasks are parked: delivers the signals that other processes sent.
    fn deliver_outside(&self);
    /// Whether a parked task waits for something that another process may provide.
    fn waits_outside(&self, task: u16) -> bool;
    /// What that is, for a message.
    fn outside_wait(&self, task: u16) -> String;
    /// Whether the live client with this task waits for data of the program.
    fn client_waits(&self, task: u16) -> bool;
    /// Whether a task would find the descriptor ready for these events.
    fn is_ready(&self, task: u16, asked: (u32, i16)) -> bool;
    /// The number that all addresses of one byte of memory share.
    fn canonical(&self, address: u64) -> u64;
    /// Whether a task is that of a timer that sends a signal for which there is a handler.
    fn runs_handler(&self, task: u16) -> bool;
    /// The program's writable memory, except its heap and the tasks' stacks.
    fn program_memory(&self) -> Vec<(u64, u64)>;
}

/// What is called before the runtime has taken control: nothing that needs a higher layer happens.
struct Unregistered;

impl Upcalls for Unregistered {
    fn execution_ends(&self, end: End) -> End {
        end
    }
    fn second_task(&self) {}
    fn memory_allocated(&self, _: u64, _: u64) {}
    fn heap_called(&self, _: &'static str, _: u64) {}
    fn may_come_back(&self, _: usize) -> bool {
        false
    }
    fn comes_back(&self, _: u32) -> bool {
        false
    }
    fn memory_released(&self, _: u64, _: u64, _: u64) {}
    fn unordered_uses(&self, _: u64, _: bool, _: u64) -> bool {
        false
    }
    fn met_in_parts(&self, _: u64) {}
    fn state_left(&self) {}
    fn has_left_state(&self) -> bool {
        false
    }
    fn task_alerted(&self, _: Operation, _: u64, _: u64, _: Gate) {}
    fn task_parks_signalled(&self) {}
    fn start_point_reached(&self) {}
    fn yields(&self) -> bool {
        false
    }
    fn deliver_outside(&self) {}
    fn waits_outside(&self, _: u16) -> bool {
        false
    }
    fn client_waits(&self, _: u16) -> bool {
        false
    }

    fn outside_wait(&self, _: u16) -> String {
        String::new()
    }
    fn is_ready(&self, _: u16, _: (u32, i16)) -> bool {
        true
    }
    fn canonical(&self, address: u64) -> u64 {
        address
    }
    fn runs_handler(&self, _: u16) -> bool {
        false
    }
    fn program_memory(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }
}

struct Registered(Cell<&'static dyn Upcalls>);
// SAFETY: a `Cell` hands out no references. `register` writes it once, when the process has one
// thread that runs runtime code.
unsafe impl Sync for Registered {}
static REGISTERED: Registered = Registered(Cell::new(&Unregistered));

/// Registers the higher layers' functions.
pub(crate) fn register(upcalls: &'static dyn Upcalls) {
    REGISTERED.0.set(upcalls);
}

/// From here on no functions of higher layers are called.
pub(crate) fn unregister() {
    REGISTERED.0.set(&Unregistered);
}

/// The higher layers' functions.
#[inline]
pub(crate) fn get() -> &'static dyn Upcalls {
    REGISTERED.0.get()
}
