//! The task of a client that repeats what was recorded.

use super::actions::{act, arrive, changes};
use super::{connections, failure, is_awaited, listeners};
use crate::state::clients::{self, AwaitedAnswer};
use crate::state::end::End;
use crate::state::open_words::WordSet;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::task::ExternalWait;
use std::cell::Cell;
use traces::clients::{ANSWER, Action, ActionKind, Answer};

/// What the task waits for, on its stack.
struct Due {
    client: usize,
    action: *const Action,
    /// Whether the answers differ from the recording.
    differs: Cell<bool>,
}

/// The body of the task.
pub(super) extern "C-unwind" fn run(number: u64) -> u64 {
    let client = number as usize;
    for action in &root().clients[client].actions {
        let due = Due { client, action, differs: Cell::new(false) };
        let words = changes(client, &action.kind);
        let wait = ExternalWait::new(is_due, &raw const due as u64).private_if(|_| true);
        arrive(&wait, words, action.kind.number());
        if due.differs.get() {
            // What the client would do now is not known.
            outcome::end_here(End::Outside);
        }
        act(client, action);
    }
    if root().clients[client].waits {
        let wait = ExternalWait::new(gets_more, number).private_if(|_| true);
        arrive(&wait, WordSet::NONE, ANSWER);
        // It waited for more than it got when it was recorded.
        outcome::end_here(End::Outside);
    }
    if root().clients[client].failed != 0 {
        let wait = ExternalWait::new(has_answers, number).private_if(|_| true);
        arrive(&wait, WordSet::NONE, ANSWER);
        if !receives_answers(client) {
            outcome::end_here(End::Outside);
        }
        let it = &root().clients[client];
        failure::end(client, &it.command, it.failed);
    }
    clients::finished();
    0
}

/// Whether the client has all its answers, or something else.
fn has_answers(number: u64) -> bool {
    let client = number as usize;
    let has = |(connection, answer): (u32, &Answer)| {
        let found = connections::find(client, connection);
        found.is_none_or(|it| it.received.get() >= answer.len())
    };
    !receives_answers(client) || (0..).zip(&root().clients[client].answers).all(has)
}

/// Takes what has arrived; whether that is what arrived when the client was recorded.
fn receives_answers(client: usize) -> bool {
    (0..).zip(&root().clients[client].answers).all(|(connection, answer)| {
        let found = connections::find(client, connection);
        found.is_none_or(|it| it.receive(answer, answer.len()))
    })
}

/// Whether the client, which did everything, gets more than when it was recorded, or something else.
fn gets_more(number: u64) -> bool {
    let client = number as usize;
    for (connection, answer) in (0..).zip(&root().clients[client].answers) {
        let Some(at) = connections::find(client, connection) else { continue };
        if !at.receive(answer, answer.len() + 1) {
            return true;
        }
        let arrived = at.received.get();
        clients::awaits(AwaitedAnswer { client, connection, arrived, needed: clients::MORE });
    }
    false
}

/// Whether the client has received what it had received before its next action, or something else.
fn is_due(address: u64) -> bool {
    // SAFETY: the address is that of the `Due` of a task that is parked in `run`, on whose stack it is, and its action
    // is part of the job, which nothing changes.
    let (due, action) = unsafe {
        let due = &*(address as *const Due);
        (due, &*due.action)
    };
    // What differed has been taken.
    if due.differs.get() {
        return true;
    }
    let is_possible = match &action.kind {
        ActionKind::Connect(asked) => listeners::find(asked).is_some(),
        ActionKind::Signal(signal) => is_awaited((*signal).into()),
        _ => true,
    };
    if !is_possible {
        return false;
    }
    let answers = &root().clients[due.client].answers;
    for &(which, needed) in &action.received {
        let Some(connection) = connections::find(due.client, which) else { return false };
        let Some(answer) = answers.get(which as usize) else { return false };
        if !connection.receive(answer, needed) {
            due.differs.set(true);
            return true;
        }
        if connection.received.get() < needed {
            clients::awaits(AwaitedAnswer {
                client: due.client,
                connection: which,
                arrived: connection.received.get(),
                needed,
            });
            return false;
        }
    }
    true
}
