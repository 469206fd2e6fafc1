//! The clients of a server ([`traces::clients`]): what the scheduler has to know about them.

use crate::state::root::root;
use std::cell::Cell;

/// How long the program may only let time pass after the last client has ended, before the execution ends.
const AFTER_LAST: u64 = 1_000_000_000;
/// A task that waits for a time, and did so at the same place before, as often as this, does what it does
/// periodically.
const PERIODIC: u8 = 2;
/// How often each of the tasks that wait for times may stop waiting, on average, while a client could act, or after the
/// last one has ended.
const EXPIRIES_OF_EACH: usize = 2;
/// How many places where tasks wait for times are remembered.
const WAITS: usize = 64;
/// How long it may only let time pass while a client waits for an answer.
const UNANSWERED: u64 = 60 * 1_000_000_000;

/// What a client waits for: its number, the connection, how much of the answer has arrived, and how much the
/// client awaits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AwaitedAnswer {
    pub(crate) client: usize,
    pub(crate) connection: u32,
    pub(crate) arrived: u64,
    pub(crate) needed: u64,
}

/// [`AwaitedAnswer::needed`] where it is not known how much the client awaits.
pub(crate) const MORE: u64 = u64::MAX;

/// A place where a task waited for a time after the last action of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimedWait {
    task: u16,
    site: u64,
    /// The task's last step before the wait.
    step: u64,
    /// How many waits there were before this one.
    earlier: u8,
}

/// The most sockets that are remembered.
const SOCKETS: usize = 600;

struct Clients {
    /// How many have done everything.
    finished: Cell<usize>,
    /// The time of the last action.
    acted: Cell<u64>,
    /// Whether the program only waits, at present.
    idle: Cell<bool>,
    awaited: Cell<Option<AwaitedAnswer>>,
    /// The inodes of the sockets at which clients that are recordings connect, and of the connections.
    sockets: [Cell<u64>; SOCKETS],
    sockets_len: Cell<usize>,
    waits: [Cell<TimedWait>; WAITS],
    waits_len: Cell<usize>,
    /// How many steps there were since the last action of a client that only time allowed.
    expiries: Cell<usize>,
    /// Whether the execution ended because the program only waited.
    rested: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Clients {}
static CLIENTS: Clients = Clients {
    finished: Cell::new(0),
    acted: Cell::new(0),
    idle: Cell::new(false),
    awaited: Cell::new(None),
    sockets: [const { Cell::new(0) }; SOCKETS],
    sockets_len: Cell::new(0),
    waits: [const { Cell::new(TimedWait { task: 0, site: 0, step: 0, earlier: 0 }) }; WAITS],
    waits_len: Cell::new(0),
    expiries: Cell::new(0),
    rested: Cell::new(false),
};

/// An execution begins.
pub(crate) fn begin() {
    CLIENTS.finished.set(0);
    CLIENTS.acted.set(0);
    CLIENTS.idle.set(false);
    CLIENTS.sockets_len.set(0);
    CLIENTS.awaited.set(None);
    CLIENTS.waits_len.set(0);
    CLIENTS.expiries.set(0);
    CLIENTS.rested.set(false);
}

/// The socket with this inode is for clients.
pub(crate) fn serve_at(inode: u64) {
    let len = CLIENTS.sockets_len.get();
    if len < SOCKETS {
        CLIENTS.sockets[len].set(inode);
        CLIENTS.sockets_len.set(len + 1);
    }
}

/// Whether the socket with this inode is for clients: no other process can make it ready.
pub(crate) fn is_served(inode: u64) -> bool {
    CLIENTS.sockets[..CLIENTS.sockets_len.get()].iter().any(|it| it.get() == inode)
}

/// How many clients the program has.
pub(crate) fn count() -> usize {
    root().clients.len() + root().live.len()
}

/// Whether the program has clients.
#[inline]
pub(crate) fn are_there() -> bool {
    count() > 0
}

/// Whether the clients are processes, whose actions are recorded, instead of recordings.
pub(crate) fn are_live() -> bool {
    !root().live.is_empty()
}

/// A client has done something at this time.
pub(crate) fn acted(now: u64) {
    CLIENTS.acted.set(now);
    CLIENTS.awaited.set(None);
    CLIENTS.waits_len.set(0);
    CLIENTS.expiries.set(0);
}

/// A step begins that only time allows.
pub(crate) fn expires() {
    CLIENTS.expiries.set(CLIENTS.expiries.get() + 1);
}

/// Whether there were so many of these, where so many tasks wait for times, that a client acts before a further one: a
/// server that does something every millisecond would do nothing else for long.
fn are_due(waiting: usize) -> bool {
    CLIENTS.expiries.get() > EXPIRIES_OF_EACH * waiting
}

/// Whether a client that can act does so before a further step that only time allows, of which so many are possible. In a
/// recording of live clients such steps came while a client took its time.
pub(crate) fn act_first(waiting: usize) -> bool {
    are_due(waiting) && !root().clients.iter().any(|client| client.together)
}

/// A client has done everything.
pub(crate) fn finished() {
    CLIENTS.finished.set(CLIENTS.finished.get() + 1);
}

/// Whether all clients have done everything.
pub(crate) fn are_finished() -> bool {
    CLIENTS.finished.get() >= count()
}

/// A client waits for this part of an answer.
pub(crate) fn awaits(answer: AwaitedAnswer) {
    CLIENTS.awaited.set(Some(answer));
}

/// What a client waited for last, if it has not acted since.
pub(crate) fn awaited() -> Option<AwaitedAnswer> {
    CLIENTS.awaited.get()
}

/// How an execution continues in which no task can run, or each could only let time pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It continues.
    Continues,
    /// It ends: the server waits for further clients.
    Over,
    /// It ends: a client waits for an answer that does not come, or the program does not end, as it did in the recording.
    Stuck,
}

/// Whether the execution ended because the program only waited.
pub(crate) fn has_rested() -> bool {
    CLIENTS.rested.get()
}

/// Whether the program ended in the recording of its clients.
fn ended_when_recorded() -> bool {
    root().clients.iter().any(|client| client.saw_end)
}

/// That, at this time. The tasks can run only because time passes: their numbers, sites and last steps.
pub(crate) fn at_rest(tasks: impl Iterator<Item = (u16, u64, u64)>, now: u64) -> Rest {
    CLIENTS.idle.set(true);
    let passed = now.saturating_sub(CLIENTS.acted.get());
    let (mut waiting, mut periodic) = (0, true);
    for (task, site, step) in tasks {
        waiting += 1;
        periodic &= is_periodic(task, site, step);
    }
    let much = are_due(waiting);
    match (are_finished(), waiting > 0) {
        (true, false) if ended_when_recorded() => Rest::Stuck,
        (true, _) if periodic || much || passed >= AFTER_LAST => {
            CLIENTS.rested.set(true);
            Rest::Over
        }
        (false, true) if passed >= UNANSWERED && !are_live() && awaited().is_some() => Rest::Stuck,
        _ => Rest::Continues,
    }
}

/// Whether a task that waits for a time at this site, after this step, has waited there often since the last action of a
/// client.
fn is_periodic(task: u16, site: u64, step: u64) -> bool {
    let len = CLIENTS.waits_len.get();
    let known =
        CLIENTS.waits[..len].iter().find(|it| (it.get().task, it.get().site) == (task, site));
    if let Some(known) = known {
        let wait = known.get();
        if wait.step != step {
            known.set(TimedWait { step, earlier: wait.earlier.saturating_add(1), ..wait });
        }
        return known.get().earlier >= PERIODIC;
    }
    if len < WAITS {
        CLIENTS.waits[len].set(TimedWait { task, site, step, earlier: 0 });
        CLIENTS.waits_len.set(len + 1);
    }
    false
}

/// Whether the program has only waited since this function was called last.
pub(crate) fn take_idle() -> bool {
    CLIENTS.idle.replace(false)
}

/// What the client waits for, for a message.
pub(crate) fn describe_awaited() -> Option<String> {
    let AwaitedAnswer { client, connection, arrived, needed } = awaited()?;
    if needed == MORE {
        return Some(format!(
            "client {} waits for an answer on its connection {}, of which {arrived} bytes came",
            client + 1,
            connection + 1
        ));
    }
    Some(format!(
        "client {} waits for an answer on its connection {}: {arrived} of the {needed} bytes came that it got when it \
         was recorded",
        client + 1,
        connection + 1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_does_not_arrive_is_described() {
        awaits(AwaitedAnswer { client: 1, connection: 0, arrived: 3, needed: 8 });
        let expected = "client 2 waits for an answer on its connection 1: 3 of the 8 bytes came that it got when it \
                        was recorded";
        assert_eq!(describe_awaited().as_deref(), Some(expected));
        awaits(AwaitedAnswer { client: 0, connection: 0, arrived: 0, needed: MORE });
        let expected = "client 1 waits for an answer on its connection 1, of which 0 bytes came";
        assert_eq!(describe_awaited().as_deref(), Some(expected));
        acted(0);
        assert_eq!(describe_awaited(), None);
    }

    #[test]
    fn a_wait_is_periodic_at_its_third_time() {
        begin();
        assert!(!is_periodic(1, 0x10, 5));
        // The same wait.
        assert!(!is_periodic(1, 0x10, 5));
        assert!(!is_periodic(1, 0x20, 6));
        assert!(!is_periodic(1, 0x10, 7));
        assert!(!is_periodic(2, 0x10, 7));
        assert!(is_periodic(1, 0x10, 8));
        acted(0);
        assert!(!is_periodic(1, 0x10, 9));
    }
}
