//! What parked tasks wait for that only another process can provide, for messages and for the scheduler.

use crate::kernel::children;
use crate::kernel::clients;
use crate::kernel::descriptor_kind::{Kind, kind};
use crate::kernel::pass;
use crate::schedule::external;
use crate::schedule::stall;
use crate::state::open_words;
use crate::state::task::{Gate, Task, TaskKind};
use crate::state::world::world;
use traces::Operation;

/// Whether a parked task waits for something that another process may provide.
pub(crate) fn is_waiting(number: u16) -> bool {
    let task = &world().tasks[usize::from(number)];
    external::is_outside(task) || is_for_signal(task) || stall::awaits_outside(number)
}

/// Whether the task waits for a signal, which a process that the program started may send.
fn is_for_signal(task: &Task) -> bool {
    task.operation.get() == Operation::SignalWait && children::are_there()
}

/// What that is, with the call.
pub(crate) fn describe(number: u16) -> String {
    let task = &world().tasks[usize::from(number)];
    let call = pass::name(task.call.get());
    let asked = task.outside.get().filter(|_| task.gate() == Gate::Open);
    match task.gate() {
        _ if let Some((descriptor, _)) = asked => {
            format!("loop that calls {call} for {}", of_descriptor(u64::from(descriptor) + 1))
        }
        _ if task.kind.get() == TaskKind::Client => clients::describe(number),
        _ if is_for_signal(task) => "wait for a signal".to_owned(),
        Gate::FileFree(_) => {
            format!("wait in {call} for the lock of descriptor {}", task.object.get() - 1)
        }
        _ => format!("wait in {call} for {}", of_descriptor(task.object.get())),
    }
}

/// A descriptor, whose number is one less, and what it refers to.
fn of_descriptor(object: u64) -> String {
    let descriptor = object.checked_sub(1).filter(|_| !open_words::is_one(object));
    let Some(descriptor) = descriptor else { return "another process".to_owned() };
    match kind(descriptor) {
        Kind::Pipe => format!("descriptor {descriptor} (a pipe)"),
        Kind::Stream | Kind::Messages => format!("descriptor {descriptor} (a socket)"),
        Kind::Other => format!("descriptor {descriptor}"),
    }
}
