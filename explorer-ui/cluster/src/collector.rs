//! The side of `heddle explore --cluster`: gives pieces to the server, and takes their results.

use crate::ledger::{Issue, Ledger};
use crate::machines::{Change, Table};
use crate::own_workers::OwnWorkers;
use crate::protocol::{
    Announcement, HEARTBEATS, Heartbeat, LARGEST, Piece, PieceResult, RENEWAL, SILENCE, State,
    pack, piece_subject, result_object, result_subject, unpack,
};
use crate::server::{Failure, Server, refused_as_second};
use crate::stored::Stored;
use futures_util::StreamExt;
use replay_core::pieces::{IssuedPiece, Message, PieceRunner};
use replay_core::{Error, Machines};
use search::share::frontier::WorkOutline;
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long to wait for a result before other conditions are checked.
const TICK: Duration = Duration::from_millis(50);
/// Results that no piece was given out for. More are not kept.
const EARLY: usize = 4096;
/// After this time without a machine, the user is notified.
const ALONE: Duration = Duration::from_secs(5);

/// Receives what the user should know.
pub(crate) trait Listener: Sync {
    /// A machine joined, left, was lost, or refuses the search.
    fn machine(&self, change: &Change);
    /// A message, one line.
    fn note(&self, line: &str);
}

/// The pieces that wait to be sent, by their key.
#[derive(Default)]
struct Outbox {
    waiting: Vec<(String, Vec<u8>)>,
}

/// Runs pieces on other machines.
pub(crate) struct RemotePool<'a> {
    server: &'a Server,
    name: &'a str,
    instance: String,
    listener: &'a dyn Listener,
    stored: &'a Stored<'a>,
    ledger: Mutex<Ledger<PieceResult>>,
    /// What the results of the round's pieces must have.
    outlines: Mutex<HashMap<usize, WorkOutline>>,
    outbox: Mutex<Outbox>,
    to_send: Condvar,
    /// Messages about pieces whose results were there when they were given out.
    ready: Mutex<Vec<Message>>,
    failed: Mutex<Option<Error>>,
    table: Mutex<Table>,
    /// The number of the last result that was taken.
    position: AtomicU64,
    /// Results up to this number are no longer needed.
    settled: AtomicU64,
    /// Whether a result was accepted, so that the learning phase is over.
    learned: AtomicBool,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> RemotePool<'a> {
    pub(crate) fn new(
        server: &'a Server,
        name: &'a str,
        instance: String,
        listener: &'a dyn Listener,
        stored: &'a Stored<'a>,
    ) -> RemotePool<'a> {
        RemotePool {
            server,
            name,
            listener,
            stored,
            ledger: Mutex::new(Ledger::new(EARLY, &instance)),
            instance,
            outlines: Mutex::default(),
            outbox: Mutex::default(),
            to_send: Condvar::new(),
            ready: Mutex::default(),
            failed: Mutex::default(),
            table: Mutex::default(),
            position: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            learned: AtomicBool::new(false),
            over: AtomicBool::new(false),
        }
    }

    fn fail(&self, error: Error) {
        lock(&self.failed).get_or_insert(error);
    }

    /// Whether the pool is neither closed nor has failed.
    fn continues(&self) -> bool {
        !self.over.load(Relaxed) && lock(&self.failed).is_none()
    }

    /// Sends pieces until the pool is closed.
    fn send(&self) {
        let _context = self.server.context();
        while let Some(pieces) = self.next_to_send() {
            if let Err(error) = self.send_all(&pieces) {
                self.fail(error);
                return;
            }
        }
    }

    fn next_to_send(&self) -> Option<Vec<(String, Vec<u8>)>> {
        let mut outbox = lock(&self.outbox);
        loop {
            if self.over.load(Relaxed) {
                return None;
            }
            if !outbox.waiting.is_empty() {
                return Some(std::mem::take(&mut outbox.waiting));
            }
            let waited = self.to_send.wait_timeout(outbox, TICK);
            outbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sends several pieces without waiting for the server after each.
    fn send_all(&self, pieces: &[(String, Vec<u8>)]) -> Result<(), Error> {
        for (key, bytes) in pieces.iter().filter(|(_, bytes)| bytes.len() > LARGEST) {
            self.server.put_object(key, bytes)?;
        }
        let mut left: Vec<&(String, Vec<u8>)> = pieces.iter().collect();
        self.server.request_while("cannot send pieces", &|| self.continues(), async || {
            let mut acknowledgements = Vec::new();
            for (key, bytes) in &left {
                // A worker that receives an empty message reads the object.
                let payload = if bytes.len() > LARGEST { Vec::new() } else { bytes.clone() };
                let subject = piece_subject(self.name, key);
                let sent = self.server.jetstream.publish(subject, payload.into()).await;
                acknowledgements.push(sent.map_err(|error| Failure::Passing(error.to_string()))?);
            }
            let mut missing = Vec::new();
            let mut why = None;
            for (piece, acknowledgement) in left.iter().zip(acknowledgements) {
                // A piece that an earlier collector sent is still in the queue.
                let result = acknowledgement.await.map(drop).or_else(refused_as_second);
                if let Err(failure) = result {
                    missing.push(*piece);
                    why = Some(failure);
                }
            }
            left = missing;
            why.map_or(Ok(()), Err)
        })
    }

    /// Takes results until the pool is closed or has failed.
    fn receive(&self, to: &Sender<Message>) {
        let _context = self.server.context();
        let mut from = 1;
        loop {
            let continues = || self.continues();
            let opened =
                self.server.request_while("cannot receive results", &continues, async || {
                    self.server.results(self.name, from).await
                });
            let mut results = match opened {
                Ok(results) => results,
                Err(error) => {
                    self.fail(error);
                    let _ = self.is_done(to);
                    return;
                }
            };
            loop {
                if self.is_done(to) {
                    return;
                }
                match self.server.wait_for(TICK, results.next()) {
                    None => {}
                    Some(Some(Ok(message))) => {
                        let number = message.info().map(|info| info.stream_sequence);
                        from = number.map_or(from, |number| number + 1);
                        self.position.store(from - 1, Relaxed);
                        if !self.take(&message.subject, &message.payload, to) {
                            return;
                        }
                    }
                    // The server went away: continue behind the last result.
                    Some(Some(Err(_)) | None) => break,
                }
            }
            std::thread::sleep(TICK);
        }
    }

    /// Sends what is ready. Returns whether the pool is closed or has failed.
    fn is_done(&self, to: &Sender<Message>) -> bool {
        if let Some(error) = lock(&self.failed).take() {
            let _ = to.send(Message::Failed(error));
            return true;
        }
        let ready = std::mem::take(&mut *lock(&self.ready));
        let closed = ready.into_iter().any(|message| to.send(message).is_err());
        closed || self.over.load(Relaxed)
    }

    /// Takes one result. Returns false if nothing takes messages any more.
    fn take(&self, subject: &str, payload: &[u8], to: &Sender<Message>) -> bool {
        let prefix = result_subject(self.name, "");
        let Some(key) = subject.strip_prefix(&prefix) else { return true };
        let result = match payload {
            [] => match self.server.object(&result_object(key)) {
                Ok(found) => {
                    self.server.remove_object(&result_object(key));
                    found.map_or_else(|| Err("it is missing".into()), |it| unpack(&it))
                }
                Err(error) => {
                    self.fail(error);
                    return true;
                }
            },
            bytes => unpack(bytes),
        };
        let result = result.unwrap_or_else(|why: String| {
            self.listener.note(&format!("a result cannot be read ({why}): its piece is run again"));
            PieceResult { key: key.to_owned(), machine: String::new(), messages: Vec::new() }
        });
        let accepted = lock(&self.ledger).accept(key, result);
        let Some((piece, result)) = accepted else { return true };
        for message in self.messages(piece, result) {
            if to.send(message).is_err() {
                return false;
            }
        }
        true
    }

    /// The messages of a result, or that its piece is lost if it is not a result of that piece.
    fn messages(&self, piece: usize, result: PieceResult) -> Vec<Message> {
        let fits = {
            let outlines = lock(&self.outlines);
            outlines
                .get(&piece)
                .is_some_and(|outline| result.messages.iter().all(|it| it.fits(outline)))
        };
        if !fits || !result.is_whole() {
            if !result.machine.is_empty() {
                self.listener.note(&no_result(&result.machine));
            }
            return vec![Message::Lost { piece, died: None }];
        }
        if result.messages.iter().any(|message| matches!(message, Message::Returned(..))) {
            self.learned.store(true, Relaxed);
        }
        result.messages.into_iter().map(|message| message.renumbered(piece)).collect()
    }

    /// Follows the machines until the pool is closed.
    fn follow(&self) {
        let _context = self.server.context();
        let Ok(mut beats) = self.server.listen(HEARTBEATS) else { return };
        let mut last = Instant::now();
        let mut alone = false;
        let mut own = self.server.own_workers.map(|number| OwnWorkers::new(number, last));
        while !self.over.load(Relaxed) {
            let heard = self.server.wait_for(TICK, beats.next());
            let now = Instant::now();
            if let Some(Some(message)) = heard {
                let beat: Result<Heartbeat, _> = serde_json::from_slice(&message.payload);
                let change = beat.ok().and_then(|beat| {
                    if let Some(own) = &mut own {
                        own.heard(&beat, self.name);
                    }
                    let mut table = lock(&self.table);
                    match beat.search.as_deref() == Some(self.name) {
                        true => table.heard(beat, now),
                        false => table.heard_elsewhere(beat, now),
                    }
                });
                change.iter().for_each(|change| self.listener.machine(change));
            }
            let changes = lock(&self.table).expire(now, SILENCE);
            changes.iter().for_each(|change| self.listener.machine(change));
            if let Some(why) = own.as_mut().and_then(|own| own.end(now)) {
                self.fail(Error::Target(why));
                return;
            }
            if lock(&self.table).counts().present > 0 {
                (last, alone) = (now, false);
            } else if own.is_none() && last.elapsed() > ALONE && !alone {
                alone = true;
                self.listener.note(&no_machine(self.name, &self.server.address));
            }
        }
    }

    /// Renews the claim on the name, stores the state of the search, until the pool is closed.
    fn keep(&self) {
        let _context = self.server.context();
        let mut purged = 0;
        while !self.over.load(Relaxed) {
            if let Err(error) = self.stored.renew() {
                self.fail(error);
                return;
            }
            if let Some(why) = self.ended_elsewhere() {
                self.fail(Error::Runtime(why));
                return;
            }
            self.stored.store();
            let settled = self.settled.load(Relaxed);
            if settled > purged {
                self.server.purge_results(self.name, settled);
                purged = settled;
            }
            let end = Instant::now() + RENEWAL;
            while Instant::now() < end && !self.over.load(Relaxed) {
                std::thread::sleep(TICK);
            }
        }
    }

    /// Why the search is no longer that of this collector, if it is not.
    fn ended_elsewhere(&self) -> Option<String> {
        let store = self.server.searches().ok()?;
        let bytes = self.server.wait(async { store.get(self.name).await })?.ok()?;
        let Some(bytes) = bytes else { return Some(cancelled(self.name)) };
        let announcement = Announcement::parse(self.name, &bytes).ok()?;
        (announcement.state == State::Cancelled).then(|| cancelled(self.name))
    }
}

impl PieceRunner for RemotePool<'_> {
    fn add(&self, piece: usize, issued: IssuedPiece, _: bool) {
        // The learning phase runs once.
        let pioneer = issued.pioneer && !self.learned.load(Relaxed);
        let issued = IssuedPiece { pioneer, ..issued };
        lock(&self.outlines).insert(piece, issued.work.outline());
        let content = traces::compact::encode(&issued);
        let issue = lock(&self.ledger).issue(piece, &content);
        match issue {
            Issue::Known(result) => {
                let messages = self.messages(piece, result);
                lock(&self.ready).extend(messages);
            }
            Issue::Send(key) => {
                let bytes =
                    pack(&Piece { key: key.clone(), instance: self.instance.clone(), issued });
                lock(&self.outbox).waiting.push((key, bytes));
                self.to_send.notify_one();
            }
        }
    }

    fn want_all(&self) {
        // All pieces of the last round are back, and so are the results that the state contains.
        self.settled.store(self.position.load(Relaxed), Relaxed);
        lock(&self.outlines).clear();
    }

    fn waiting(&self) -> usize {
        lock(&self.ledger).outstanding()
    }

    fn drop_from(&self, piece: usize) -> Vec<usize> {
        let dropped = lock(&self.ledger).drop_from(piece);
        let mut waiting = lock(&self.outbox);
        waiting.waiting.retain(|(key, _)| dropped.iter().all(|(_, gone)| gone != key));
        drop(waiting);
        for (_, key) in &dropped {
            self.server.purge_piece(self.name, key);
        }
        dropped.into_iter().map(|(piece, _)| piece).collect()
    }

    fn recall_all(&self) -> Vec<usize> {
        // Workers continue: a collector that continues the search takes their results.
        lock(&self.ledger).drop_from(0).into_iter().map(|(piece, _)| piece).collect()
    }

    fn forget_states(&self) -> Result<(), Error> {
        // Pieces whose workers share states run on the machine of the collector.
        Ok(())
    }

    fn close(&self) {
        self.over.store(true, Relaxed);
        self.to_send.notify_all();
    }

    fn work(&self, _: usize, to: &Sender<Message>) {
        std::thread::scope(|scope| {
            scope.spawn(|| self.send());
            scope.spawn(|| self.follow());
            scope.spawn(|| self.keep());
            self.receive(to);
            self.close();
        });
    }

    fn running(&self) -> u64 {
        0
    }

    fn learning(&self) -> u64 {
        0
    }

    fn machines(&self) -> Option<Machines> {
        Some(lock(&self.table).counts())
    }
}

/// The note for an answer that does not belong to the piece that the machine was given.
fn no_result(machine: &str) -> String {
    format!("{machine} returned something that is no result of its piece: the piece is run again")
}

/// The note for a search that waits for a machine.
fn no_machine(search: &str, address: &str) -> String {
    format!("no machine runs pieces of {search}: start one with `heddle worker {address}`")
}

/// Why a search ends that another command has cancelled.
fn cancelled(search: &str) -> String {
    format!("the search {search} was cancelled at the server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_on_machines_and_on_a_cancelled_search() {
        assert_eq!(
            no_result("ci-1"),
            "ci-1 returned something that is no result of its piece: the piece is run again"
        );
        assert_eq!(
            no_machine("bank", "one:4222"),
            "no machine runs pieces of bank: start one with `heddle worker one:4222`"
        );
        assert_eq!(cancelled("bank"), "the search bank was cancelled at the server");
    }
}
