//! Clients that are processes, while an execution records what they do.
//!
//! In the recording before a search they run one after the other, in a search in which each execution has live clients
//! all at once.
//!
//! The runtime listens at the addresses of which the program believes that they are its own, and passes on the data:
//! what a client sends is one action of its task, and what the program sends is forwarded whenever the scheduler looks.
//! A client is started when the program waits for something; a further one when the client before has ended, or does
//! nothing either.

use super::actions::{act, arrive};
use super::client_waits::{self, Activity};
use super::connections;
use super::descriptors;
use super::events::Events;
use super::failure;
use super::listeners;
use super::processes::Process;
use super::sender;
use crate::fiber::switch;
use crate::state::clients;
use crate::state::open_words::WordSet;
use crate::state::root::root;
use crate::state::task::ExternalWait;
use crate::state::world::world;
use crate::steps::record;
use crate::sys::channel::header;
use crate::sys::{raw, signals};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use traces::Choice;
use traces::clients::{Action, ActionKind, Answer, Client};
use traces::wire::{FoundFailure, RecordedClient};

/// How long nothing may happen before the next client starts, in milliseconds.
const QUIET: u64 = 300;
/// The same before the first client, if the program does not listen for connections: it may do so later.
const QUIET_BEFORE_FIRST: u64 = 2000;
/// How long a client may take to do something after it got something, before the program continues: so often this
/// pause, or until its processes have waited twice. Otherwise what it does would always be late, by the program's steps.
const PAUSES: u32 = 100;
const PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
const LOOKS: u8 = 2;
/// The most bytes of one action.
const PIECE: usize = 64 << 10;
/// How many actions of a client are read ahead.
const AHEAD: usize = 64;

/// What is recorded.
struct Recording {
    clients: Vec<LiveClient>,
    links: Vec<Link>,
    /// When something happened last, in milliseconds.
    last: u64,
    /// The steps in which clients' tasks ended. What repeats the recording has none.
    ends: Vec<usize>,
    /// What may bring something new.
    events: Events,
    /// The listening sockets that are watched.
    relays: Vec<i32>,
    /// The step and the client at which all this was updated last.
    updated: (u64, usize),
}

/// A client.
#[derive(Default)]
struct LiveClient {
    process: Option<Process>,
    ended: Option<i32>,
    client: Client,
    /// What it did and its task has not done yet.
    news: VecDeque<Action>,
    /// How much of each answer it had received at its last action.
    received: Vec<u64>,
    /// The action that its task does now.
    current: Option<Box<Action>>,
    /// How often its processes may still be seen to wait before it is taken to do nothing after it got something, or was
    /// started.
    looks: u8,
}

impl LiveClient {
    /// Whether it may do something soon, of which nothing has come yet.
    fn is_expected_to_react(&self) -> bool {
        self.looks > 0 && self.news.is_empty() && self.process.is_some() && self.ended.is_none()
    }
}

/// A connection of a client.
struct Link {
    client: usize,
    /// Its number among those of the client.
    number: u32,
    /// The client's end, as far as the runtime has it.
    outer: i32,
    /// The same connection's end at the program, once there is one, or -1.
    inner: i32,
    /// Whether the client has ended its side.
    ended: bool,
}

/// The recording of this process's execution. A live execution is the only one of its process.
struct Current(RefCell<Recording>);
// SAFETY: the controlled process has one kernel thread. The `RefCell` is borrowed only within functions of this module
// that neither switch fibers nor call back into it.
unsafe impl Sync for Current {}
static CURRENT: Current = Current(RefCell::new(Recording::NONE));

/// The time, in milliseconds.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes only to the local.
    unsafe { raw::call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

impl Recording {
    const NONE: Recording = Recording {
        clients: Vec::new(),
        links: Vec::new(),
        last: 0,
        ends: Vec::new(),
        events: Events::NONE,
        relays: Vec::new(),
        updated: (u64::MAX, 0),
    };

    /// Starts clients, takes what they did, and passes on to them what the program did.
    fn look(&mut self) {
        if self.clients.is_empty() {
            self.clients.resize_with(root().live.len(), LiveClient::default);
            for (it, command) in self.clients.iter_mut().zip(&root().live) {
                it.client.command.clone_from(command);
            }
            self.last = now();
            self.events = Events::open();
        }
        while self.start_next() {}
        self.exchange();
        if !root().together {
            return;
        }
        for _ in 0..PAUSES {
            let mut waiting = self.clients.iter().filter(|it| it.is_expected_to_react());
            if waiting.next().is_none() {
                return;
            }
            // To the watchdog, this is progress.
            header().heartbeat.fetch_add(1, Relaxed);
            let pause = PAUSE;
            // SAFETY: the kernel only reads the local.
            unsafe { raw::call!(libc::SYS_nanosleep, &raw const pause, 0) };
            self.exchange();
            for it in &mut self.clients {
                let activity = |process: &Process| client_waits::activity(process.session());
                if it.is_expected_to_react()
                    && it.process.as_ref().map(activity) != Some(Activity::Runs)
                {
                    it.looks -= 1;
                }
            }
        }
        self.clients.iter_mut().for_each(|it| it.looks = 0);
    }

    /// Takes what the clients did, and passes on to them what the program did.
    fn exchange(&mut self) {
        self.take_signals();
        self.watch();
        if !self.events.are_there() {
            return;
        }
        self.accept();
        for index in 0..self.links.len() {
            self.take(index);
            self.forward(index);
        }
        for it in &mut self.clients {
            let Some(process) = it.process.as_ref().filter(|_| it.ended.is_none()) else {
                continue;
            };
            it.ended = process.ended();
            if it.ended.is_some() {
                self.events.remove(process.status());
            }
        }
    }

    /// Watches the sockets that are new.
    fn watch(&mut self) {
        for listener in listeners::all().iter().filter(|it| it.listens.get()) {
            if !self.relays.contains(&listener.relay.get()) {
                self.relays.push(listener.relay.get());
                self.events.add(listener.relay.get());
            }
        }
        for link in self.links.iter_mut().filter(|link| link.inner < 0) {
            if let Some(inner) = connections::find(link.client, link.number) {
                link.inner = inner.descriptor.get();
                self.events.add(link.inner);
            }
        }
    }

    /// Starts the next client if it is time; whether a further one may be next.
    fn start_next(&mut self) -> bool {
        let Some(next) =
            self.clients.iter().position(|it| it.process.is_none() && it.ended.is_none())
        else {
            return false;
        };
        let at_once = next > 0 && root().together;
        if !at_once && !clients::take_idle() {
            return false;
        }
        let quiet = now() - self.last;
        let is_due = match next {
            0 => listeners::are_open() || quiet >= QUIET_BEFORE_FIRST,
            _ => at_once || self.is_over(next - 1) || quiet >= QUIET,
        };
        if is_due {
            let it = &mut self.clients[next];
            it.process = Process::start(&it.client.command);
            if it.process.is_none() {
                it.ended = Some(127);
            }
            it.process.iter().for_each(|process| self.events.add(process.status()));
            it.looks = LOOKS;
            self.last = now();
        }
        is_due && root().together
    }

    /// The client that was started last: if they run one after the other, it is the one that acts.
    fn started_last(&self) -> Option<usize> {
        self.clients.iter().rposition(|it| it.process.is_some())
    }

    /// Takes the signals that came: they are those of the client that was started last.
    fn take_signals(&mut self) {
        let Some(client) = self.started_last() else { return };
        let mut signals = signals::take_from_clients();
        while signals != 0 {
            self.note(client, ActionKind::Signal(signals.trailing_zeros() as u8 + 1));
            signals &= signals - 1;
        }
    }

    /// The client that has made a connection.
    fn sender(&self, socket: i32, started_last: usize) -> usize {
        if !root().together || self.clients.len() == 1 {
            return started_last;
        }
        let session = |it: &LiveClient| it.process.as_ref().map(Process::session);
        let sessions = self.clients.iter().filter_map(session).collect::<Vec<_>>();
        let found = sender::session(socket, &sessions);
        let has_it = |it: &LiveClient| found.is_some() && session(it) == found;
        self.clients.iter().position(has_it).unwrap_or(started_last)
    }

    /// Takes new connections.
    fn accept(&mut self) {
        let Some(started_last) = self.started_last() else { return };
        for listener in listeners::all().iter().filter(|it| it.relay.get() >= 0 && it.listens.get())
        {
            loop {
                // SAFETY: passes no pointer.
                let new = unsafe {
                    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
                    raw::call!(libc::SYS_accept4, listener.relay.get(), 0, 0, flags)
                };
                if new < 0 {
                    break;
                }
                let outer = descriptors::moved(new, descriptors::RUNTIME) as i32;
                let client = self.sender(outer, started_last);
                let it = &mut self.clients[client];
                let number = it.client.answers.len() as u32;
                it.client.answers.push(Answer::default());
                it.received.push(0);
                self.events.add(outer);
                self.links.push(Link { client, number, outer, inner: -1, ended: false });
                self.note(client, ActionKind::Connect(listener.asked.get().bytes().to_vec()));
            }
        }
    }

    /// Notes what a client did.
    fn note(&mut self, client: usize, kind: ActionKind) {
        self.last = now();
        let it = &mut self.clients[client];
        let mut received = Vec::new();
        for (number, (answer, before)) in it.client.answers.iter().zip(&mut it.received).enumerate()
        {
            if answer.len() != *before {
                *before = answer.len();
                received.push((number as u32, *before));
            }
        }
        // Something further may come at once.
        it.looks = LOOKS;
        it.news.push_back(Action { received, kind });
    }

    /// Takes what a client has sent.
    fn take(&mut self, index: usize) {
        let Link { client, number, outer, ended, .. } = self.links[index];
        if ended || self.clients[client].news.len() >= AHEAD {
            return;
        }
        let mut bytes = vec![0u8; PIECE];
        // SAFETY: the kernel writes to the buffer.
        let answer = unsafe {
            let (to, len) = (bytes.as_mut_ptr(), bytes.len());
            raw::call!(libc::SYS_recvfrom, outer, to, len, libc::MSG_DONTWAIT, 0, 0)
        };
        if answer == -i64::from(libc::EAGAIN) {
            return;
        }
        bytes.truncate(answer.max(0) as usize);
        bytes.shrink_to_fit();
        let kind = match bytes.is_empty() {
            true => {
                self.links[index].ended = true;
                self.events.remove(outer);
                ActionKind::End { connection: number }
            }
            false => ActionKind::Send { connection: number, bytes },
        };
        self.note(client, kind);
    }

    /// Passes on to a client what the program has sent.
    fn forward(&mut self, index: usize) {
        let Link { client, number, outer, .. } = self.links[index];
        let Some(inner) = connections::find(client, number) else { return };
        let it = &mut self.clients[client];
        let answer = &mut it.client.answers[number as usize];
        let mut bytes = [0u8; 4096];
        while !answer.ended
            && let Some(count) = inner.take(&mut bytes)
        {
            self.last = now();
            if count == 0 {
                answer.ended = true;
                self.events.remove(self.links[index].inner);
                // SAFETY: passes no pointer.
                unsafe { raw::call!(libc::SYS_shutdown, outer, libc::SHUT_WR) };
            }
            answer.bytes.extend_from_slice(&bytes[..count]);
            send_all(outer, &bytes[..count]);
            it.looks = LOOKS;
        }
        inner.received.set(answer.len());
    }

    /// Whether a client has ended, and all that it did was taken.
    fn is_over(&self, client: usize) -> bool {
        let it = &self.clients[client];
        it.ended.is_some() && self.links.iter().all(|link| link.client != client || link.ended)
    }
}

/// Sends bytes to a client's process, unless it takes none for long.
fn send_all(to: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the kernel reads the bytes, which are borrowed.
        let answer =
            unsafe { raw::call!(libc::SYS_sendto, to, bytes.as_ptr(), bytes.len(), flags, 0, 0) };
        if answer == -i64::from(libc::EAGAIN) {
            let mut one = libc::pollfd { fd: to, events: libc::POLLOUT, revents: 0 };
            // SAFETY: the kernel writes only to the local.
            if unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 1000) } > 0 {
                continue;
            }
        }
        if answer <= 0 {
            return;
        }
        bytes = &bytes[answer as usize..];
    }
}

/// Whether the client's task has something to do, or nothing more. The scheduler asks while the task is parked.
fn has_news(number: u64) -> bool {
    let mut recording = CURRENT.0.borrow_mut();
    let client = number as usize;
    // The scheduler asks for one client after the other.
    let (step, (before, last)) = (world().step.get(), recording.updated);
    if step != before || client <= last {
        recording.look();
    }
    recording.updated = (step, client);
    !recording.clients[client].news.is_empty() || recording.is_over(client)
}

/// Takes the client's next action: its address, or 0 if there is none.
extern "C" fn next(number: u64) -> u64 {
    let mut recording = CURRENT.0.borrow_mut();
    let it = &mut recording.clients[number as usize];
    let Some(action) = it.news.pop_front() else {
        it.client.failed = it.ended.filter(|_| root().together).unwrap_or(0);
        if it.client.failed == 0 {
            // The step has been counted.
            recording.ends.extend((world().step.get() as usize).checked_sub(1));
        }
        return 0;
    };
    it.client.actions.push(action.clone());
    let current = it.current.insert(Box::new(action));
    std::ptr::from_ref::<Action>(current) as u64
}

/// The body of the client's task.
pub(super) extern "C-unwind" fn run(number: u64) -> u64 {
    let client = number as usize;
    loop {
        let wait = ExternalWait::new(has_news, number);
        arrive(&wait, WordSet::files(), 0);
        let action = switch::on_manager(next, number) as *const Action;
        if action.is_null() {
            let failed = CURRENT.0.borrow().clients[client].client.failed;
            if failed != 0 {
                failure::end(client, &root().live[client], failed);
            }
            break;
        }
        // SAFETY: `next` returned the address of an action that the recording keeps until this task asks for the next.
        act(client, unsafe { &*action });
    }
    clients::finished();
    0
}

/// Whether the running client waits for data of the program.
pub(super) fn waits_for_data(number: usize) -> bool {
    let Ok(recording) = CURRENT.0.try_borrow() else { return false };
    let process = recording.clients.get(number).and_then(|it| it.process.as_ref());
    process.is_some_and(|it| client_waits::activity(it.session()) == Activity::WaitsForData)
}

/// What the running client waits for, for a message.
pub(super) fn describe(number: usize) -> String {
    let recording = CURRENT.0.try_borrow();
    let it = recording.as_ref().ok().and_then(|recording| recording.clients.get(number));
    let what = match it {
        Some(it) if !it.client.answers.is_empty() => "neither sends anything nor ends",
        _ => "has made no connection",
    };
    let command = root().live.get(number).map_or("", String::as_str);
    format!("wait for client {} (`{command}`), which {what}", number + 1)
}

/// What was recorded in an execution that ended.
pub(crate) struct Recorded {
    /// The clients.
    pub(crate) clients: Vec<RecordedClient>,
    /// The steps in which their tasks ended.
    ends: Vec<usize>,
}

impl Recorded {
    /// Takes what was recorded. `passed`: without a failure. `stuck`: no task could run.
    pub(crate) fn take(passed: bool, stuck: bool) -> Recorded {
        let recording = CURRENT.0.replace(Recording::NONE);
        let saw_end = passed && !clients::has_rested();
        let together = root().together;
        let complete = |it: LiveClient| {
            let waits = stuck && it.ended.is_none();
            let client = Client { saw_end, together, waits, ..it.client };
            RecordedClient { status: it.ended, client }
        };
        let clients = recording.clients.into_iter().map(complete).collect();
        Recorded { clients, ends: recording.ends }
    }

    /// A failure of this execution, with what the clients did and the schedule of an execution that repeats it.
    pub(crate) fn add_to(&self, found: FoundFailure) -> FoundFailure {
        let clients = self.clients.iter().map(|it| it.client.clone()).collect();
        let choices = without_steps(record::choices(), &self.ends);
        FoundFailure { clients, choices, ..found }
    }
}

/// Choices without those of these steps.
fn without_steps(choices: Vec<Choice>, steps: &[usize]) -> Vec<Choice> {
    let mut step = 0;
    let is_left = |choice: &Choice| {
        let is_task = matches!(choice, Choice::Task(_));
        step += usize::from(is_task);
        !(is_task && steps.contains(&(step - 1)))
    };
    choices.into_iter().filter(is_left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::TaskId;

    #[test]
    fn steps_in_which_clients_end_are_left_out() {
        let data = Choice::Data { taken: 1, of: 2 };
        let task = |number| Choice::Task(TaskId(number));
        let all = vec![task(0), data, task(2), task(1), data, task(2)];
        assert_eq!(without_steps(all.clone(), &[]), all);
        let expected = vec![task(0), data, task(1), data];
        assert_eq!(without_steps(all, &[1, 3]), expected);
    }
}
