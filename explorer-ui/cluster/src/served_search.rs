//! One search on this machine: takes pieces from the server, has them run, and returns their results.

use crate::balance;
use crate::bundle::Unpacked;
use crate::protocol::{
    Announcement, HEARTBEAT, LARGEST, Piece, PieceResult, State, pack, result_object,
    result_subject, unpack,
};
use crate::substitute;
use crate::worker::{LOOK, Machine, lock};
use async_nats::jetstream::AckKind;
use async_nats::jetstream::Message as Delivery;
use async_nats::jetstream::consumer::PullConsumer;
use futures_util::StreamExt;
use replay_core::pieces::{Message, PieceRunner};
use replay_core::{Error, WorkerPool};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use traces::wire::Job;

/// How long one request for a piece is open at the server.
const FETCH: Duration = Duration::from_secs(2);
/// A machine that got no piece for this long looks for another search.
const UNUSED: Duration = Duration::from_secs(3);
/// A machine that has served a search for this long leaves it if another search has no machine.
const A_WHILE: Duration = Duration::from_secs(3);
/// How often a machine looks whether the search has a collector.
const COLLECTOR: Duration = Duration::from_secs(1);
/// How many pieces wait on this machine, so that no worker waits for the network.
const AHEAD: usize = 1;

/// The pieces of one search on this machine.
pub(crate) struct Search<'a> {
    machine: &'a Machine<'a>,
    announcement: &'a Announcement,
    name: &'a str,
    instance: &'a str,
    unpacked: &'a Unpacked,
    /// The pieces that this machine holds, by their place.
    held: Vec<Mutex<Option<Arc<Delivery>>>>,
    leave: AtomicBool,
    /// When a piece was last received.
    used: Mutex<Instant>,
    got: AtomicBool,
    failed: Mutex<Option<Error>>,
}

impl<'a> Search<'a> {
    pub(crate) fn new(
        machine: &'a Machine<'a>,
        announcement: &'a Announcement,
        unpacked: &'a Unpacked,
    ) -> Self {
        let places = machine.workers as usize + AHEAD;
        Search {
            machine,
            announcement,
            name: &announcement.name,
            instance: &announcement.instance,
            unpacked,
            held: (0..places).map(|_| Mutex::default()).collect(),
            leave: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            got: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    /// Runs pieces until this machine leaves the search. Returns whether there was one.
    pub(crate) fn run(&self) -> Result<bool, Error> {
        let Unpacked { target, job, spin_after, .. } = self.unpacked;
        let never = AtomicBool::new(false);
        let pool = WorkerPool::new(target, Job::clone(job), *spin_after, &never)?;
        std::thread::scope(|scope| {
            let (to, from) = channel();
            for number in 0..self.machine.workers {
                let (pool, to) = (&pool, to.clone());
                scope.spawn(move || pool.work(number as usize, &to));
            }
            let mut places: Vec<Sender<Message>> = Vec::new();
            for place in 0..self.held.len() {
                let (to, from) = channel();
                places.push(to);
                let pool = &pool;
                scope.spawn(move || self.take_pieces(place, pool, &from));
            }
            scope.spawn(move || self.distribute(&from, &places));
            scope.spawn(|| self.substitute());
            self.keep_leases();
            // Pieces are returned as they are. No worker sends a message about those that it never began.
            for piece in pool.recall_all() {
                let _ = to.send(Message::Lost { piece, died: None });
            }
            drop(to);
            let end = Instant::now() + Duration::from_secs(2);
            while Instant::now() < end && self.held.iter().any(|held| lock(held).is_some()) {
                std::thread::sleep(Duration::from_millis(5));
            }
            pool.close();
        });
        match lock(&self.failed).take() {
            Some(error) => Err(error),
            None => Ok(self.got.load(Relaxed)),
        }
    }

    /// Continues the search whenever it has no collector, until this machine leaves it.
    fn substitute(&self) {
        let server = &self.machine.server;
        let _context = server.context();
        let mut looked = Instant::now();
        while !self.leave.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
            if looked.elapsed() < COLLECTOR {
                continue;
            }
            // What fails here is tried again, by this machine or another.
            let _ = substitute::attempt(server, self.announcement, self.unpacked, &self.leave);
            looked = Instant::now();
        }
    }

    /// Passes the messages of the workers to the places of their pieces.
    fn distribute(&self, from: &Receiver<Message>, places: &[Sender<Message>]) {
        for message in from {
            match message {
                Message::Failed(error) => {
                    lock(&self.failed).get_or_insert(error);
                    self.leave.store(true, Relaxed);
                }
                message => {
                    let place = message.piece().and_then(|place| places.get(place));
                    if let Some(place) = place {
                        // A place that has left needs no messages.
                        let _ = place.send(self.unpacked.translate(message));
                    }
                }
            }
        }
    }

    /// Extends the leases of the pieces that this machine holds, until it leaves the search.
    fn keep_leases(&self) {
        let server = &self.machine.server;
        let (began, mut looked) = (Instant::now(), Instant::now());
        let mut beaten = Instant::now() - HEARTBEAT;
        while !self.leave.load(Relaxed) {
            if self.machine.interrupt.load(Relaxed) {
                self.leave.store(true, Relaxed);
            }
            self.machine.hear(Duration::from_millis(20));
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                if self.is_over() {
                    self.leave.store(true, Relaxed);
                }
            }
            if beaten.elapsed() < HEARTBEAT {
                continue;
            }
            beaten = Instant::now();
            for held in &self.held {
                let delivery = lock(held).clone();
                if let Some(delivery) = delivery {
                    // If it is lost, another machine gets the piece, and one result is ignored.
                    let _ = server.wait(async { delivery.ack_with(AckKind::Progress).await });
                }
            }
            self.machine.beat(Some(self.name), None, false);
            if self.is_needed_elsewhere(began) {
                self.leave.store(true, Relaxed);
            }
        }
    }

    /// Whether this machine should serve another search.
    fn is_needed_elsewhere(&self, began: Instant) -> bool {
        let others = self.machine.running().into_iter().map(|(name, _)| name);
        let others: Vec<String> = others.filter(|name| name != self.name).collect();
        if others.is_empty() {
            return false;
        }
        let table = lock(&self.machine.table);
        lock(&self.used).elapsed() > UNUSED
            || balance::leaves(
                self.name,
                others.iter().map(String::as_str),
                began.elapsed() > A_WHILE,
                &self.machine.name,
                table.list(),
            )
    }

    /// Whether the search has ended. While the server is away, it has not.
    fn is_over(&self) -> bool {
        let server = &self.machine.server;
        let Ok(store) = server.searches() else { return false };
        match server.wait(async { store.get(self.name).await }) {
            Some(Ok(None)) => true,
            Some(Ok(Some(bytes))) => Announcement::parse(self.name, &bytes)
                .map_or(true, |it| it.state != State::Running || it.instance != self.instance),
            _ => false,
        }
    }

    /// Receives pieces one after another, has each run, and returns its result.
    fn take_pieces(&self, place: usize, pool: &dyn PieceRunner, from: &Receiver<Message>) {
        let _context = self.machine.server.context();
        let mut queue = None;
        while !self.leave.load(Relaxed) {
            match self.next(&mut queue) {
                Some(delivery) => {
                    *lock(&self.used) = Instant::now();
                    self.got.store(true, Relaxed);
                    *lock(&self.held[place]) = Some(Arc::clone(&delivery));
                    self.run_piece(place, pool, from, &delivery);
                    *lock(&self.held[place]) = None;
                }
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// The next piece; none if there is none for a while.
    fn next(&self, queue: &mut Option<PullConsumer>) -> Option<Arc<Delivery>> {
        let server = &self.machine.server;
        if queue.is_none() {
            *queue = server.queue(self.name).ok();
        }
        let Some(consumer) = queue else {
            std::thread::sleep(LOOK);
            return None;
        };
        let received = server.wait_for(FETCH + Duration::from_secs(1), async {
            let mut batch = consumer.batch().max_messages(1).expires(FETCH).messages().await?;
            batch.next().await.transpose()
        });
        match received {
            Some(Ok(delivery)) => delivery.map(Arc::new),
            _ => {
                *queue = None;
                std::thread::sleep(LOOK);
                None
            }
        }
    }

    fn run_piece(
        &self,
        place: usize,
        pool: &dyn PieceRunner,
        from: &Receiver<Message>,
        delivery: &Delivery,
    ) {
        let server = &self.machine.server;
        let acknowledge = |kind: AckKind| {
            let _ = server.wait(async { delivery.ack_with(kind).await });
        };
        let key = delivery.subject.rsplit('.').next().unwrap_or_default().to_owned();
        let again = delivery.info().is_ok_and(|info| info.delivered > 1);
        if again && self.has_result(&key) {
            acknowledge(AckKind::Ack);
            return;
        }
        let is_large = delivery.payload.is_empty();
        let bytes = match is_large {
            true => server.object(&key).ok().flatten(),
            false => Some(delivery.payload.to_vec()),
        };
        let piece: Option<Piece> = bytes.and_then(|bytes| unpack(&bytes).ok());
        let Some(piece) = piece.filter(|piece| piece.key == key) else {
            // It was taken back, or is no piece.
            acknowledge(AckKind::Term);
            return;
        };
        if piece.instance != self.instance {
            // Another search of the same name has begun.
            self.leave.store(true, Relaxed);
            acknowledge(AckKind::Nak(None));
            return;
        }
        pool.add(place, piece.issued, false);
        let mut messages = Vec::new();
        loop {
            match from.recv_timeout(Duration::from_millis(100)) {
                Ok(message) => {
                    let ends = message.ends_piece();
                    messages.push(message);
                    if ends {
                        break;
                    }
                }
                Err(RecvTimeoutError::Timeout) if lock(&self.failed).is_none() => {}
                // No worker runs the piece any more.
                Err(_) => {
                    acknowledge(AckKind::Nak(None));
                    return;
                }
            }
        }
        let unchanged = matches!(messages.last(), Some(Message::Lost { died: None, .. }));
        if unchanged {
            // It was interrupted, not lost.
            acknowledge(AckKind::Nak(None));
            return;
        }
        let executions = messages.iter().map(Message::executions).sum();
        let result = PieceResult { key: key.clone(), machine: self.machine.name.clone(), messages };
        if self.send(&result).is_ok() {
            self.machine.executions.fetch_add(executions, Relaxed);
            acknowledge(AckKind::Ack);
            if is_large {
                server.remove_object(&key);
            }
        }
    }

    /// Whether another machine has returned a result of the piece.
    fn has_result(&self, key: &str) -> bool {
        let server = &self.machine.server;
        let subject = result_subject(self.name, key);
        let found = server.wait(async {
            let stream = crate::protocol::results_stream(self.name);
            let stream = server.jetstream.get_stream_no_info(stream).await.ok()?;
            stream.get_last_raw_message_by_subject(&subject).await.ok()
        });
        found.flatten().is_some()
    }

    /// Sends a result. If another machine was first, its result counts.
    fn send(&self, result: &PieceResult) -> Result<(), Error> {
        let server = &self.machine.server;
        let bytes = pack(result);
        let subject = result_subject(self.name, &result.key);
        // A search that was cancelled takes no results.
        let continues = || !self.leave.load(Relaxed);
        if bytes.len() <= LARGEST {
            return server.publish_once(&subject, &bytes, &continues).map(drop);
        }
        server.put_object(&result_object(&result.key), &bytes)?;
        server.publish_once(&subject, &[], &continues).map(drop)
    }
}
