//! The actions of clients, which are steps of their tasks.

use super::{connections, listeners};
use crate::kernel::{park, signal_delivery};
use crate::state::clients;
use crate::state::end::End;
use crate::state::open_words::WordSet;
use crate::state::outcome;
use crate::state::pending_signals::Information;
use crate::state::task::ExternalWait;
use crate::state::world::world;
use crate::steps::record;
use std::cell::Cell;
use traces::clients::{Action, ActionKind};

/// The place of the call from which clients have their tasks.
struct Site(Cell<u64>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Site {}
static SITE: Site = Site(Cell::new(0));

/// Clients have their tasks from this place on.
pub(super) fn set_site(site: u64) {
    SITE.0.set(site);
}

/// That place.
pub(super) fn site() -> u64 {
    SITE.0.get()
}

/// Parks the client's task until the action with this number is due (`wait`), as one step with the action, which is then
/// to be done.
pub(super) fn arrive(wait: &ExternalWait, words: WordSet, action: u64) {
    park::client_step(words, wait, action + 1, SITE.0.get());
}

/// What an action of a client changes.
pub(super) fn changes(client: usize, action: &ActionKind) -> WordSet {
    let descriptor = match action {
        ActionKind::Connect(address) => listeners::find(address),
        // The signal is a step after this one.
        ActionKind::Signal(_) => None,
        ActionKind::Send { connection, .. } | ActionKind::End { connection } => {
            connections::find(client, *connection).map(|it| it.descriptor.get())
        }
    };
    descriptor.map_or(WordSet::NONE, |descriptor| park::words_of(descriptor as u64))
}

/// Does what the client did. Where the program does not accept it now, waits for a step of another task.
pub(super) fn act(client: usize, action: &Action) {
    clients::acted(world().clock.get());
    match &action.kind {
        ActionKind::Connect(address) => loop {
            let Some(listener) = listeners::find(address) else {
                outcome::end_here(End::Outside);
            };
            if connections::open(client, listener) {
                return;
            }
            wait_for_step(listener, action.kind.number());
        },
        ActionKind::Send { connection, bytes } => {
            let Some(connection) = connections::find(client, *connection) else { return };
            let mut sent = 0;
            while sent < bytes.len() {
                match connection.send(&bytes[sent..]) {
                    Some(count) => sent += count,
                    // The program has not read the bytes before these.
                    None => wait_for_step(connection.descriptor.get(), action.kind.number()),
                }
                // The program has closed the connection, which shows as a different answer.
                if connection.is_broken.get() {
                    return;
                }
            }
        }
        ActionKind::Signal(signal) => {
            let from_process = Information::BY_PROCESS;
            signal_delivery::send_to_process((*signal).into(), from_process, SITE.0.get());
        }
        ActionKind::End { connection } => {
            if let Some(connection) = connections::find(client, *connection) {
                connection.end();
            }
        }
    }
}

/// Waits for any step of another task.
fn wait_for_step(descriptor: i32, action: u64) {
    let before = record::fingerprint();
    let wait = ExternalWait::new(park::has_stepped, &raw const before as u64).private_if(|_| true);
    arrive(&wait, park::words_of(descriptor as u64), action);
}
