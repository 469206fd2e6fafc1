//! Clients of a server ([`traces::clients`]).
//!
//! A client is a task of the execution, as a timer is. Its steps are what the client did when it was recorded: it
//! connects to the program's socket, sends bytes, ends its side, sends a signal. A step is enabled once the client has received what it
//! had received in the recording; if that differs from the recording, what the client would do is not known, and the
//! execution ends. So the search decides when the program sees a connection or its data, as it decides everything
//! else, no other process takes part, and time does not matter.
//!
//! The connections are real ones: the task has the other end of each. While an execution is recorded, the task passes
//! on what a client's process sends ([`live`]), in the same steps.

mod actions;
mod address;
mod client_waits;
mod connections;
mod descriptors;
mod events;
mod failure;
mod listeners;
mod live;
mod other_processes;
mod processes;
mod repeated;
mod sender;
mod shown_addresses;

use crate::kernel::signal_calls;
use crate::memory::kernel_changes;
use crate::primitives::thread;
use crate::state::clients;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::task::TaskKind;
use crate::state::world::world;
use crate::sys::signals;
use std::cell::Cell;

pub(crate) use connections::are_there as are_connected;
pub(crate) use listeners::{bind, connect};
pub(crate) use live::Recorded;
pub(crate) use shown_addresses::room;

/// The most clients.
const MOST: usize = 16;
/// The tasks of the clients, 0 for none.
struct Tasks([Cell<u16>; MOST]);
// SAFETY: `Cell`s hand out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Tasks {}
static TASKS: Tasks = Tasks([const { Cell::new(0) }; MOST]);

/// An execution begins.
pub(crate) fn begin() {
    TASKS.0.iter().for_each(|number| number.set(0));
    clients::begin();
    connections::begin();
    listeners::begin();
    if clients::are_live() {
        kernel_changes::expect_clients();
    }
}

/// Whether the program does something about a signal: it has an action for it, or a thread blocks it, to wait for it.
fn is_awaited(signal: i32) -> bool {
    let world = world();
    let blocks = |number: u16| {
        let task = &world.tasks[usize::from(number)];
        task.kind.get() == TaskKind::Thread && task.mask.get() & 1 << (signal - 1) != 0
    };
    signal_calls::action(signal).handler != libc::SIG_DFL as u64 || world.alive().any(blocks)
}

/// A call of the program has returned that may have to do with a connection. `room`: what the function of this name
/// returned before.
pub(crate) fn returned(number: i64, args: [u64; 6], room: usize, answer: i64, site: u64) {
    if answer < 0 || !clients::are_there() {
        return;
    }
    match number {
        libc::SYS_listen if listeners::listens(args[0]) => start(site),
        libc::SYS_listen => {}
        libc::SYS_rt_sigaction | libc::SYS_rt_sigprocmask if args[1] != 0 => start(site),
        _ => shown_addresses::returned(number, args, room, answer),
    }
}

/// The program listens at a further address, or does something about a further signal: the clients that need nothing
/// else begin.
fn start(site: u64) {
    actions::set_site(site);
    let count = clients::count();
    if count > MOST {
        outcome::unsupported(connections::TOO_MANY, site);
    }
    for number in 0..count {
        let is_due = match root().clients.get(number) {
            Some(client) if !client.together => {
                client.addresses().all(|address| listeners::find(address).is_some())
                    && client.signals().all(|signal| is_awaited(signal.into()))
            }
            _ => listeners::are_open() || signals::REQUESTS.into_iter().any(is_awaited),
        };
        if !is_due || TASKS.0[number].get() != 0 {
            continue;
        }
        let mut thread = 0;
        let body = if clients::are_live() { live::run } else { repeated::run };
        let body = body as *const () as u64;
        // SAFETY: the thread's id goes to a local, and null means default attributes.
        let error =
            unsafe { thread::create(&raw mut thread, std::ptr::null(), body, number as u64, site) };
        if error != 0 {
            outcome::unsupported(&connections::refused(i64::from(error)), site);
        }
        let world = world();
        TASKS.0[number].set(world.created.get() - 1);
        let task = &world.tasks[usize::from(world.created.get() - 1)];
        task.name.set(name_of(number));
        task.kind.set(TaskKind::Client);
        task.detached.set(true);
        task.site.set(site);
        // Signals for the process must not go to this task.
        task.mask.set(u64::MAX);
    }
}

/// "client N", counted from 1.
fn name_of(number: usize) -> [u8; 16] {
    use std::io::Write;
    let mut name = [0; 16];
    // There is room for the number of each client.
    let _ = write!(&mut name[..15], "client {}", number + 1);
    name
}

/// Whether the live client with this task waits for data of the program.
pub(crate) fn waits_for_data(task: u16) -> bool {
    TASKS.0.iter().position(|it| it.get() == task).is_some_and(live::waits_for_data)
}

/// What the live client with this task waits for, for a message.
pub(crate) fn describe(task: u16) -> String {
    let number = TASKS.0.iter().position(|it| it.get() == task);
    number.map_or_else(String::new, live::describe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_short_names() {
        assert_eq!(&name_of(15)[..10], b"client 16\0");
    }
}
