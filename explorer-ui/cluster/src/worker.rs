//! `heddle worker`: runs pieces of the searches at a server.

use crate::bundle::{Bundle, Unpacked};
use crate::protocol::{
    Announcement, HEARTBEAT, HEARTBEATS, Heartbeat, LARGEST, Piece, PieceResult, State, pack,
    result_object, result_subject, unpack,
};
use crate::quiet::Quiet;
use crate::server::Server;
use crate::substitute;
use crate::trust::Trust;
use async_nats::jetstream::AckKind;
use async_nats::jetstream::Message as Delivery;
use async_nats::jetstream::consumer::PullConsumer;
use explorer_ui::cli::arguments::WorkerArgs;
use explorer_ui::console::Console;
use explorer_ui::exit::{Problem, Status};
use explorer_ui::interrupt;
use futures_util::StreamExt;
use replay_core::pieces::{Message, PieceRunner};
use replay_core::scratch::Scratch;
use replay_core::{Error, WorkerPool, this_build};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use traces::wire::{Job, RuntimeMessage};

/// How long one request for a piece is open at the server.
const FETCH: Duration = Duration::from_secs(2);
/// A machine that got no piece for this long looks for another search.
const UNUSED: Duration = Duration::from_secs(3);
/// The pause between two looks at the list of searches.
const LOOK: Duration = Duration::from_millis(300);
/// How often a machine looks whether the search has a collector.
const COLLECTOR: Duration = Duration::from_secs(1);
/// How often in a row the pieces of a search may fail on a machine before it refuses the search.
const FAILURES: u32 = 3;
/// How many pieces wait on this machine, so that no worker waits for the network.
const AHEAD: usize = 1;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A machine that runs pieces.
struct Machine<'a> {
    server: Server,
    console: &'a Console,
    trust: Trust,
    name: String,
    host: String,
    workers: u32,
    max_memory: Option<u64>,
    interrupt: Arc<AtomicBool>,
    executions: AtomicU64,
    /// How often in a row the pieces of the search last served failed.
    failures: AtomicU32,
    /// The executions at the last heartbeat, and its time.
    last: Mutex<(u64, Instant)>,
}

/// Runs the verb.
pub(crate) fn main(args: &WorkerArgs, url: &str, console: &Console) -> Result<Status, Problem> {
    explorer_ui::commands::install()?;
    let trust = Trust::new(&args.trust, args.trust_cluster).map_err(Problem::Usage)?;
    let server = Server::connect(url, &args.connection)?;
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
    let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let machine = Machine {
        server,
        console,
        trust,
        name: format!("{host}-{}", std::process::id()),
        host,
        workers: args.workers.unwrap_or_else(cores),
        max_memory: args.max_memory,
        interrupt: interrupt::flag(),
        executions: AtomicU64::new(0),
        failures: AtomicU32::new(0),
        last: Mutex::new((0, Instant::now())),
    };
    let _context = machine.server.context();
    limit_this_process();
    console.note(&format!(
        "heddle: {} offers {} at {}",
        machine.name,
        if machine.workers == 1 {
            "1 worker".into()
        } else {
            format!("{} workers", machine.workers)
        },
        machine.server.address
    ));
    machine.serve(args.max_idle)?;
    machine.beat(None, None, true);
    Ok(Status::Fine)
}

/// No core dumps, which could fill the disk: the programs come from elsewhere, and crash.
fn limit_this_process() {
    use nix::sys::resource::{Resource, setrlimit};
    // Without the limit, the worker works as well.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
}

impl Machine<'_> {
    /// Serves searches until interrupted, or without a search for this time.
    fn serve(&self, max_idle: Option<Duration>) -> Result<(), Error> {
        let mut refused: BTreeMap<(String, String), String> = BTreeMap::new();
        let mut idle = Instant::now();
        let mut beaten = Instant::now() - HEARTBEAT;
        let mut served = String::new();
        while !self.interrupt.load(Relaxed) && max_idle.is_none_or(|most| idle.elapsed() < most) {
            let mut running = self.running();
            // The search after the one that was served last.
            running.sort_by_key(|(name, _)| (*name <= served, name.clone()));
            let due = beaten.elapsed() >= HEARTBEAT;
            let (mut did, mut refuses) = (false, false);
            for (name, announcement) in running {
                let announcement = match announcement {
                    Ok(announcement) => announcement,
                    Err(why) => {
                        self.refuse(&name, &why, &mut refused, String::new(), due);
                        refuses = true;
                        continue;
                    }
                };
                let key = (name.clone(), announcement.bundle.clone());
                if let Some(why) = refused.get(&key) {
                    refuses = true;
                    if due {
                        self.beat(Some(&name), Some(why), false);
                    }
                    continue;
                }
                served.clone_from(&name);
                match self.run(&announcement) {
                    Ok(got) => did |= got,
                    Err(error) => {
                        let why = error.to_string();
                        self.refuse(&name, &why, &mut refused, announcement.bundle, true);
                    }
                }
                break;
            }
            if due {
                beaten = Instant::now();
                if !refuses {
                    self.beat(None, None, false);
                }
            }
            match did {
                true => idle = Instant::now(),
                false => std::thread::sleep(LOOK),
            }
        }
        Ok(())
    }

    fn refuse(
        &self,
        name: &str,
        why: &str,
        refused: &mut BTreeMap<(String, String), String>,
        bundle: String,
        due: bool,
    ) {
        if due {
            self.beat(Some(name), Some(why), false);
        }
        if refused.insert((name.to_owned(), bundle), why.to_owned()).is_none() {
            self.console.note(&format!("heddle: {} refuses the search {name}: {why}", self.name));
        }
    }

    /// The searches that are running, each as announced, or why its announcement cannot be used.
    fn running(&self) -> Vec<(String, Result<Announcement, String>)> {
        let Ok(store) = self.server.searches() else { return Vec::new() };
        let listed = self.server.wait(async {
            let mut found = Vec::new();
            let mut names = store.keys().await.ok()?;
            while let Some(name) = names.next().await {
                let name = name.ok()?;
                if let Ok(Some(bytes)) = store.get(&name).await {
                    found.push((name.clone(), Announcement::parse(&name, &bytes)));
                }
            }
            Some(found)
        });
        let runs = |one: &Result<Announcement, String>| {
            one.as_ref().map_or(true, |one| one.state == State::Running)
        };
        let all = listed.flatten().unwrap_or_default();
        all.into_iter().filter(|(_, one)| runs(one)).collect()
    }

    /// Says that this machine is there.
    fn beat(&self, search: Option<&str>, refuses: Option<&str>, leaves: bool) {
        let executions = self.executions.load(Relaxed);
        let rate = {
            let mut last = lock(&self.last);
            let seconds = last.1.elapsed().as_secs_f64();
            let rate = (executions - last.0) as f64 / seconds.max(1e-3);
            *last = (executions, Instant::now());
            rate
        };
        let beat = Heartbeat {
            machine: self.name.clone(),
            host: self.host.clone(),
            workers: self.workers,
            search: search.map(str::to_owned),
            executions,
            rate,
            refuses: refuses.map(str::to_owned),
            leaves,
        };
        if let Ok(bytes) = serde_json::to_vec(&beat) {
            self.server.broadcast(HEARTBEATS, bytes);
        }
    }

    /// Runs pieces of a search until it is over. Returns whether there was one.
    fn run(&self, announcement: &Announcement) -> Result<bool, Error> {
        if let Some(why) = announcement.foreign_build(this_build()) {
            return Err(Error::Usage(why));
        }
        let signed = announcement.signed.as_ref();
        if let Some(why) = self.trust.refusal(&announcement.bundle, signed) {
            return Err(Error::NotConfirmed(why));
        }
        let Some(bytes) = self.server.object(&announcement.bundle)? else { return Ok(false) };
        if blake3::hash(&bytes).to_hex().as_str() != announcement.bundle {
            return Err(Error::Runtime(
                "its program at the server is not the announced one: send it again".into(),
            ));
        }
        let bundle: Bundle = unpack(&bytes)
            .map_err(|why| Error::Runtime(format!("its program cannot be read: {why}")))?;
        let scratch = Scratch::new().map_err(Error::system("cannot create a directory"))?;
        let mut unpacked = bundle.unpack(scratch.path())?;
        replay_core::runtime::set_library_directory(unpacked.libraries.clone());
        self.beat(Some(&announcement.name), None, false);
        if let Some(why) = unpacked.difference(&self.interrupt, &mut Quiet)? {
            return Err(Error::Target(why));
        }
        if let Some(most) = self.max_memory {
            unpacked.job.memory = unpacked.job.memory.min(most);
        }
        let ran = Search::new(self, announcement, &unpacked).run();
        match ran {
            // It may be a matter of these pieces, or of the state of this machine: once more, with other
            // processes.
            Err(error) if self.failures.fetch_add(1, Relaxed) + 1 < FAILURES => {
                let name = &announcement.name;
                self.console.note(&format!("heddle: {} begins {name} again: {error}", self.name));
                Ok(true)
            }
            Err(error) => {
                self.failures.store(0, Relaxed);
                Err(error)
            }
            Ok(got) => {
                self.failures.store(0, Relaxed);
                Ok(got)
            }
        }
    }
}

/// The pieces of one search on this machine.
struct Search<'a> {
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
    fn new(
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

    fn run(&self) -> Result<bool, Error> {
        let Unpacked { target, job, spin_after, .. } = self.unpacked;
        let never = AtomicBool::new(false);
        let pool = WorkerPool::new(target, Job::clone(job), *spin_after, &never)?;
        std::thread::scope(|scope| {
            let (to, from) = channel();
            for number in 0..self.machine.workers {
                let (pool, to) = (&pool, to.clone());
                scope.spawn(move || pool.work(number as usize, &to));
            }
            drop(to);
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
            // Pieces are returned as they are.
            pool.recall_all();
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
                        let _ = place.send(self.translate(message));
                    }
                }
            }
        }
    }

    /// The message with the paths that files have on the machine of the collector.
    fn translate(&self, message: Message) -> Message {
        match message {
            Message::FromRuntime(piece, RuntimeMessage::Found(mut found)) => {
                for (path, _) in &mut found.places {
                    if let Some(original) = self.unpacked.original(path) {
                        *path = original.to_owned();
                    }
                }
                Message::FromRuntime(piece, RuntimeMessage::Found(found))
            }
            message => message,
        }
    }

    /// Extends the leases of the pieces that this machine holds, until it leaves the search.
    fn keep_leases(&self) {
        let server = &self.machine.server;
        let mut beaten = Instant::now() - HEARTBEAT;
        while !self.leave.load(Relaxed) {
            if self.machine.interrupt.load(Relaxed) {
                self.leave.store(true, Relaxed);
            }
            std::thread::sleep(Duration::from_millis(20));
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
            let others = lock(&self.used).elapsed() > UNUSED
                && self.machine.running().iter().any(|(name, _)| name != self.name);
            if self.is_over() || others {
                self.leave.store(true, Relaxed);
            }
        }
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
                Err(RecvTimeoutError::Timeout) if !self.leave.load(Relaxed) => {}
                // This machine leaves before the piece was begun.
                Err(_) => {
                    let waiting = pool.drop_from(place).contains(&place);
                    if waiting || lock(&self.failed).is_some() {
                        acknowledge(AckKind::Nak(None));
                        return;
                    }
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
