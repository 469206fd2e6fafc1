//! A connection: a thread reads requests, so that they can be cancelled; they are carried out one
//! after the other.

use super::answer::bounded;
use super::mcp;
use super::message::{self, Fault, Line, Parsed, Request};
use super::registry;
use super::state::{Settings, State};
use crate::report::json_text;
use crate::walk::opening::Opener;
use crate::walk::panics::catch_panic;
use crate::walk::session::{Call, Refusal};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the end of the connection is checked.
const TICK: Duration = Duration::from_millis(50);
/// The time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(200);
/// How long requests may continue after the input has ended.
const GRACE: Duration = Duration::from_secs(5);
/// How long a cancelled request may take before the process ends nevertheless.
const LAST: Duration = Duration::from_secs(10);
/// Requests that wait. When there are more, no further ones are read.
const QUEUE: usize = 64;

/// The protocol on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The methods of the table as methods of JSON-RPC.
    Plain,
    /// The Model Context Protocol: the methods of the table as tools.
    Mcp,
}

/// A line of requests with the flags that cancel them.
struct Queued {
    requests: Vec<(Parsed, Arc<AtomicBool>)>,
    batch: bool,
}

/// What the reader and the one who carries out requests share.
#[derive(Default)]
struct Shared {
    /// The requests that have no answer yet.
    pending: Mutex<Vec<(Value, Arc<AtomicBool>)>>,
    /// When the input ended.
    ended: Mutex<Option<Instant>>,
    /// Whether everything was answered.
    done: AtomicBool,
    /// Whether the client does not read any more.
    broken: AtomicBool,
    /// Whether the process serves this client only, and ends with it.
    alone: bool,
}

impl Shared {
    fn pending(&self) -> std::sync::MutexGuard<'_, Vec<(Value, Arc<AtomicBool>)>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self, id: Option<&Value>) {
        for (known, flag) in &*self.pending() {
            if id.is_none_or(|id| id == known) {
                flag.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// Serves a client until its input ends or `stop` is set. With `alone`, the process ends if a request
/// of a client that is gone cannot be cancelled.
///
/// # Errors
/// If no thread can be started.
pub fn serve(
    input: impl Read + Send + 'static,
    output: impl Write,
    (dialect, alone): (Dialect, bool),
    (opener, settings): (&dyn Opener, &Settings),
    stop: &Arc<AtomicBool>,
) -> std::io::Result<()> {
    let shared = Arc::new(Shared { alone, ..Shared::default() });
    let (sender, queue) = sync_channel(QUEUE);
    let reader = Arc::clone(&shared);
    // Its read cannot be interrupted: it ends with the process or the socket.
    std::thread::Builder::new().spawn(move || read(input, dialect, &reader, &sender))?;
    let (watched, stopped) = (Arc::clone(&shared), Arc::clone(stop));
    std::thread::Builder::new().spawn(move || watch(&watched, &stopped))?;
    let mut server = Server {
        state: State::new(opener, settings),
        output: RefCell::new(output),
        dialect,
        shared: Arc::clone(&shared),
        initialized: false,
    };
    server.run(&queue, stop);
    drop(server);
    shared.done.store(true, Ordering::Relaxed);
    Ok(())
}

/// Reads requests until the input ends. A request to cancel another one is obeyed at once.
fn read(input: impl Read, dialect: Dialect, shared: &Shared, queue: &SyncSender<Queued>) {
    let mut input = BufReader::new(input);
    while let Ok(Some((line, length))) = message::read_line(&mut input) {
        let (requests, batch) = match message::parse(&line, length) {
            Line::Empty => continue,
            Line::One(one) => (vec![one], false),
            Line::Batch(several) => (several, true),
        };
        let mut queued = Vec::new();
        for request in requests {
            let flag = Arc::<AtomicBool>::default();
            if let Ok(request) = &request {
                if let Some(id) = cancels(dialect, request) {
                    shared.cancel(Some(id));
                    continue;
                }
                if let Some(id) = &request.id {
                    shared.pending().push((id.clone(), Arc::clone(&flag)));
                }
            }
            queued.push((request, flag));
        }
        if !queued.is_empty() && queue.send(Queued { requests: queued, batch }).is_err() {
            return;
        }
    }
    *shared.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// The request that a notification cancels.
fn cancels(dialect: Dialect, request: &Request) -> Option<&Value> {
    let (method, id) = match dialect {
        Dialect::Plain => ("cancel", "id"),
        Dialect::Mcp => ("notifications/cancelled", "requestId"),
    };
    (request.method == method && request.id.is_none()).then(|| request.params.get(id)).flatten()
}

/// Cancels all requests when the process is to end, when the client does not read any more, or some
/// time after the input has ended. Ends the process if that does not help.
fn watch(shared: &Shared, stop: &AtomicBool) {
    let mut cancelled: Option<Instant> = None;
    while !shared.done.load(Ordering::Relaxed) {
        std::thread::sleep(TICK);
        let ended = *shared.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let over = stop.load(Ordering::Relaxed)
            || shared.broken.load(Ordering::Relaxed)
            || ended.is_some_and(|ended| ended.elapsed() > GRACE);
        if over {
            shared.cancel(None);
            let waited = cancelled.get_or_insert_with(Instant::now).elapsed();
            if waited > LAST && (shared.alone || stop.load(Ordering::Relaxed)) {
                // The processes of targets end with this one.
                std::process::exit(i32::from(crate::exit::Status::Interrupted as u8));
            }
        }
    }
}

struct Server<'a, W> {
    state: State<'a>,
    output: RefCell<W>,
    dialect: Dialect,
    shared: Arc<Shared>,
    /// Whether an MCP client has said which revision it speaks.
    initialized: bool,
}

impl<W: Write> Server<'_, W> {
    fn run(&mut self, queue: &Receiver<Queued>, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) && !self.shared.broken.load(Ordering::Relaxed) {
            let Queued { requests, batch } = match queue.recv_timeout(TICK) {
                Ok(queued) => queued,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut answers = Vec::new();
            for (request, cancelled) in requests {
                let answer = match request {
                    Ok(request) => self.answer(&request, &cancelled),
                    Err(answer) => Some(answer),
                };
                answers.extend(answer);
            }
            match batch {
                true if answers.is_empty() => {}
                true => self.write(&Value::Array(answers)),
                false => answers.iter().for_each(|answer| self.write(answer)),
            }
        }
    }

    /// Carries out a request; none if it needs no answer.
    fn answer(&mut self, request: &Request, cancelled: &Arc<AtomicBool>) -> Option<Value> {
        let outcome = match cancelled.load(Ordering::Relaxed) {
            true => Err(Fault::cancelled()),
            false => self.carry_out(request, cancelled),
        };
        self.shared.pending().retain(|(_, flag)| !Arc::ptr_eq(flag, cancelled));
        let id = request.id.as_ref()?;
        // In MCP a cancelled request has no answer.
        if self.dialect == Dialect::Mcp && cancelled.load(Ordering::Relaxed) {
            return None;
        }
        Some(match outcome {
            Ok(value) => message::result(id, value),
            Err(fault) => message::error(id, fault),
        })
    }

    fn carry_out(
        &mut self,
        request: &Request,
        cancelled: &Arc<AtomicBool>,
    ) -> Result<Value, Fault> {
        let Server { state, output, dialect, shared, initialized } = self;
        let token = match dialect {
            Dialect::Plain => request.id.clone(),
            Dialect::Mcp => mcp::progress_token(&request.params),
        };
        let last = Cell::new(None::<Instant>);
        let number = Cell::new(0u64);
        let tell = |text: &str| {
            let Some(token) = &token else { return };
            if last.get().is_some_and(|last| last.elapsed() < PROGRESS) {
                return;
            }
            last.set(Some(Instant::now()));
            number.set(number.get() + 1);
            let news = match dialect {
                Dialect::Plain => {
                    message::notification("progress", json!({ "id": token, "text": text }))
                }
                Dialect::Mcp => mcp::progress(token, number.get(), text),
            };
            if write(&mut *output.borrow_mut(), &news).is_err() {
                shared.broken.store(true, Ordering::Relaxed);
            }
        };
        let call = Call { cancelled, tell: &tell };
        let work = || match dialect {
            Dialect::Plain => plain(state, request, &call),
            Dialect::Mcp => mcp::answer(state, request, &call, initialized),
        };
        match catch_panic(work) {
            Ok(outcome) => outcome,
            Err(why) => {
                self.state = State::new(self.state.opener, self.state.settings);
                Err(Fault::new(Fault::INTERNAL, format!("{why}; what was open is closed")))
            }
        }
    }

    fn write(&self, value: &Value) {
        if write(&mut *self.output.borrow_mut(), value).is_err() {
            self.shared.broken.store(true, Ordering::Relaxed);
        }
    }
}

fn write(output: &mut impl Write, value: &Value) -> std::io::Result<()> {
    let mut line = json_text::text(value);
    line.push('\n');
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// Carries out a method of the table.
fn plain(state: &mut State<'_>, request: &Request, call: &Call<'_>) -> Result<Value, Fault> {
    let Some(method) = registry::method(&request.method) else {
        let shown: String = request.method.chars().take(60).collect();
        return Err(Fault::new(
            Fault::METHOD,
            format!("there is no method `{shown}`: `heddle serve --schema` lists them"),
        ));
    };
    let value = method.call(state, &request.params, call).map_err(|refusal| match refusal {
        Refusal::Invalid(text) => Fault::new(Fault::PARAMS, text),
        Refusal::Failed(text) => Fault::new(Fault::FAILED, text),
        Refusal::Cancelled => Fault::cancelled(),
    })?;
    bounded(value)
}
