//! A task waits within a system call that would block in the kernel.
//!
//! The call itself is made only in a form that does not wait. Where that finds that it would, the task
//! parks here, and makes the call again when it is chosen.

use crate::detect::access;
use crate::instrument::binary::open_files;
use crate::kernel::children;
use crate::kernel::descriptor_kind::inode;
use crate::kernel::polling::Poll;
use crate::primitives::cancel;
use crate::schedule::access_points;
use crate::schedule::external;
use crate::schedule::scheduler::point;
use crate::state::awaited::Awaited;
use crate::state::cancellation;
use crate::state::clock;
use crate::state::open_words::{self, WordSet};
use crate::state::outcome;
use crate::state::pipes::Read;
use crate::state::task::{ExternalWait, Gate, Interrupted};
use crate::state::world::world;
use crate::steps::record;
use crate::sys::raw;
use crate::sys::readable::is_readable;
use std::cell::Cell;
use traces::Operation;

/// Stands for the descriptor of a call that has none.
pub(crate) const NO_DESCRIPTOR: u64 = u64::MAX;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// What the task waited for is there.
    Ready,
    /// The time limit has passed.
    Expired,
    /// A signal handler ran.
    Interrupted,
}

/// Parks the running task until `wait` is over. `object` is one more than the descriptor. Cancellation acts
/// here.
fn park(wait: &ExternalWait, object: u64, interrupts: Interrupted, site: u64) -> Ended {
    match park_at(Gate::Ready(wait.address()), Operation::Ready, object, interrupts, site) {
        true => Ended::Ready,
        false => Ended::Interrupted,
    }
}

/// The same, where the call changes what these words represent in the same step.
fn park_to_change(
    words: WordSet,
    wait: &ExternalWait,
    object: u64,
    interrupts: Interrupted,
    site: u64,
) -> Ended {
    let ended = park_for(Awaited::change(words), wait, (object, interrupts, site));
    if ended == Ended::Ready {
        access_points::compare(words, true, site);
    }
    ended
}

/// Like `park`, where it is known for what.
fn park_for(
    awaited: Awaited,
    wait: &ExternalWait,
    (object, interrupts, site): (u64, Interrupted, u64),
) -> Ended {
    let task = world().task();
    task.open_files.set(Some(awaited));
    task.limited_wait.set(wait.address());
    let ended = park(wait, object, interrupts, site);
    task.open_files.set(None);
    ended
}

/// The same, until this time of the monotonic clock at most. The words are those of what the call changes
/// after the wait.
fn park_until(
    until: u64,
    words: WordSet,
    wait: &ExternalWait,
    (object, interrupts, site): (u64, Interrupted, u64),
) -> Ended {
    let task = world().task();
    clock::limit_monotonic(until);
    task.limited_wait.set(wait.address());
    task.open_files.set(Some(Awaited::change(words)));
    let ended = park_at(Gate::Open, Operation::Ready, object, interrupts, site);
    task.open_files.set(None);
    // SAFETY: the address is that of `wait`.
    match ended && !unsafe { ExternalWait::is_over(wait.address()) } {
        true => {
            clock::reach_monotonic(until);
            record::value(libc::ETIMEDOUT as u64);
            Ended::Expired
        }
        false if ended => Ended::Ready,
        false => Ended::Interrupted,
    }
}

/// A client's task waits for its next action (`wait`), which is one step with the end of the wait, and changes what
/// these words represent.
pub(crate) fn client_step(words: WordSet, wait: &ExternalWait, object: u64, site: u64) {
    park_to_change(words, wait, object, Interrupted::Never, site);
}

/// Parks the running task at a gate that something outside the program may open; false if a signal
/// handler ended the wait. Cancellation acts here.
pub(crate) fn park_at(
    gate: Gate,
    operation: Operation,
    object: u64,
    interrupts: Interrupted,
    site: u64,
) -> bool {
    let task = world().task();
    task.interrupts.set(interrupts);
    external::wait(|| point(operation, object, site, gate));
    task.interrupts.set(Interrupted::Never);
    // A cancellation request may have opened the gate, if the function is a cancellation point.
    if cancellation::is_at_point(task) {
        cancel::act_if_due();
    }
    !task.interrupted.replace(false)
}

/// What a blocking call has done so far, and how its waits end.
pub(crate) struct Blocking {
    descriptor: u64,
    /// What has to be ready.
    events: i16,
    /// How much was transferred. That is state of the task, as it is in the kernel: a signal then ends
    /// the call with this result.
    pub(crate) done: usize,
    /// When the call ends without result, if it has a time limit.
    until: Cell<Option<u64>>,
    /// The socket's option with the time limit, or 0.
    limit: Cell<i32>,
    /// Which handlers end the call before it has transferred anything.
    interrupts: Cell<Interrupted>,
    /// Whether the call was tried again because the descriptor was ready after all.
    retried: Cell<bool>,
    /// The words of what the call changes, beside the descriptor's.
    further: WordSet,
    /// Whether the step that ends the wait also makes the call.
    changes: bool,
    /// The words of the pipe that the call reads, and what it reads.
    read: Option<(WordSet, Read)>,
    site: u64,
}

impl Blocking {
    /// A call at `site` that waits for these events of the descriptor.
    pub(crate) fn new(descriptor: u64, events: i16, site: u64) -> Blocking {
        Blocking {
            descriptor,
            events,
            done: 0,
            until: Cell::new(None),
            limit: Cell::new(0),
            interrupts: Cell::new(Interrupted::UnlessRestarted),
            retried: Cell::new(false),
            further: WordSet::NONE,
            changes: false,
            read: None,
            site,
        }
    }

    /// The same, for at most as long as this option of the socket says (`SO_RCVTIMEO`, `SO_SNDTIMEO`).
    pub(crate) fn limited_by(self, option: i32) -> Blocking {
        self.limit.set(option);
        self
    }

    /// The same, where any handler ends the call: the kernel never restarts it, whatever `SA_RESTART` says
    /// (signal(7)).
    pub(crate) fn never_restarted(self) -> Blocking {
        self.interrupts.set(Interrupted::Always);
        self
    }

    /// The same, where the call also changes what these words represent.
    pub(crate) fn changing(self, words: WordSet) -> Blocking {
        Blocking { further: words, ..self }
    }

    /// The same, where the step that ends the wait also makes the call.
    pub(crate) fn in_one_step(self) -> Blocking {
        Blocking { changes: true, ..self }
    }

    /// The same, for at most this long.
    pub(crate) fn until(self, nanoseconds: u64) -> Blocking {
        self.until.set(Some(clock::now().saturating_add(nanoseconds)));
        self
    }

    /// The same, until the time at this address, of this clock.
    pub(crate) fn until_time(self, clock: i32, deadline: u64) -> Blocking {
        self.until.set(Some(clock::since_start(clock, clock::nanoseconds(deadline))));
        self
    }

    /// Waits after an attempt that would have blocked; the call's result if it ends with the wait.
    pub(crate) fn wait(&self) -> Result<(), i64> {
        let held = Held::new(self.descriptor);
        let mut one = libc::pollfd { fd: held.descriptor(), events: self.events, revents: 0 };
        let poll = Poll::of(std::slice::from_mut(&mut one));
        if !poll.is_ready() {
            // Without a step: whether the other process was faster decides nothing.
            children::give_time(|| poll.is_ready());
            if poll.is_ready() {
                return Ok(());
            }
            let result = self.wait_for(&poll.wait());
            if result.is_ok() && !held.is_same() {
                closed_meanwhile(self.site);
            }
            return result;
        }
        drop(held);
        // Another process may have made it ready since the kernel refused the call.
        if !self.retried.replace(true) {
            return Ok(());
        }
        // The kernel says that the descriptor is ready although it refused the call: what the call
        // waits for is the state of another object, such as the receiver's queue. The kernel does not
        // report when that changes, so the task tries again after any step of another task.
        self.wait_for_step()
    }

    /// The step of a read of a pipe with these words, which may have to wait: none if other tasks do not use the pipe.
    /// The call's result if it ends with the wait.
    pub(crate) fn wait_to_read(self, words: WordSet, read: Read) -> Result<(), i64> {
        let is_ready = || is_readable(self.descriptor);
        let is_there = is_ready() || {
            children::give_time(is_ready);
            is_ready()
        };
        // Bytes that the task knows to be there, other tasks that write do not affect.
        let is_known = is_there && read.has_all();
        let observed = if is_known { words.only(open_words::is_taken) } else { words };
        if !is_there || access_points::is_step(observed, self.site) {
            let held = Held::new(self.descriptor);
            let mut one = libc::pollfd { fd: held.descriptor(), events: self.events, revents: 0 };
            let call = Blocking { read: Some((words, read)), ..self };
            call.wait_for(&Poll::of(std::slice::from_mut(&mut one)).wait())?;
            if !held.is_same() {
                closed_meanwhile(self.site);
            }
        }
        access_points::compare_read(words, is_known, self.site);
        Ok(())
    }

    /// Waits for any step of another task; the call's result if it ends with the wait.
    pub(crate) fn wait_for_step(&self) -> Result<(), i64> {
        let held = Held::new(self.descriptor);
        let before = record::fingerprint();
        let result = self.wait_for(&ExternalWait::new(has_stepped, &raw const before as u64));
        if result.is_ok() && !held.is_same() {
            closed_meanwhile(self.site);
        }
        result
    }

    /// Waits until this is over; the call's result if it ends with the wait.
    pub(crate) fn wait_for(&self, wait: &ExternalWait) -> Result<(), i64> {
        self.retried.set(false);
        let object = match self.further.iter().next() {
            Some(word) if self.further.is_apart() => word,
            _ => self.descriptor.wrapping_add(1),
        };
        let limit = match self.limit.replace(0) {
            0 => None,
            option => time_limit(self.descriptor, option),
        };
        if let Some(limit) = limit {
            self.until.set(Some(clock::now().saturating_add(limit)));
            // The kernel would have to know how much of the limit was left.
            self.interrupts.set(Interrupted::Always);
        }
        let interrupts = match self.done {
            0 => self.interrupts.get(),
            _ => Interrupted::Always,
        };
        let ended = match self.until.get() {
            Some(until) => park_until(until, self.words(), wait, (object, interrupts, self.site)),
            None if let Some((words, read)) = self.read => {
                park_for(Awaited::read(words, read), wait, (object, interrupts, self.site))
            }
            None if self.changes => {
                park_to_change(self.words(), wait, object, interrupts, self.site)
            }
            None => park(wait, object, interrupts, self.site),
        };
        let error = match ended {
            Ended::Ready => return Ok(()),
            Ended::Expired => libc::EAGAIN,
            Ended::Interrupted => libc::EINTR,
        };
        Err(self.result(-i64::from(error)))
    }

    /// The words of what the call changes, if other tasks may change that.
    fn words(&self) -> WordSet {
        match self.descriptor {
            _ if !access::is_in_company() => WordSet::NONE,
            // The call waits for no data of the descriptor, if it has one.
            _ if self.further.is_apart() => self.further,
            NO_DESCRIPTOR => self.further,
            descriptor => self.further.and(words_of(descriptor)),
        }
    }

    /// The call's result where it ends with this error.
    pub(crate) fn result(&self, error: i64) -> i64 {
        if self.done > 0 { self.done as i64 } else { error }
    }
}

/// The words of a descriptor's open file.
pub(crate) fn words_of(descriptor: u64) -> WordSet {
    let mut words = WordSet::NONE;
    if access::is_in_company() {
        open_files::each_awaited(descriptor, &mut |word, size| words.add(word, size));
    }
    words
}

/// The call would continue with the open file, to which no descriptor of the program leads.
pub(crate) fn closed_meanwhile(site: u64) -> ! {
    outcome::unsupported("a descriptor that was closed while a task waited for it", site)
}

/// The open file that a task waits for. As in the kernel, a wait keeps it open: closing the descriptor
/// neither ends the wait nor closes the file.
pub(crate) struct Held {
    descriptor: u64,
    /// A second descriptor, or an error.
    second: i64,
}

impl Held {
    /// Descriptors for this are from this number on, out of the program's way.
    const FROM: i32 = 900;

    /// The open file of this descriptor.
    pub(crate) fn new(descriptor: u64) -> Held {
        // SAFETY: passes no pointer.
        let second =
            unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, Held::FROM) };
        Held { descriptor, second }
    }

    /// A descriptor of it that the program does not know.
    pub(crate) fn descriptor(&self) -> i32 {
        if self.second >= 0 { self.second as i32 } else { self.descriptor as i32 }
    }

    /// Whether the program's descriptor still refers to the same file.
    fn is_same(&self) -> bool {
        self.second < 0 || inode(self.descriptor) == inode(self.second as u64)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.second >= 0 {
            // SAFETY: passes no pointer; the descriptor is this value's own.
            unsafe { raw::call!(libc::SYS_close, self.second) };
        }
    }
}

/// Whether a task made a step since the record was as this word says.
pub(crate) fn has_stepped(before: u64) -> bool {
    // SAFETY: the address is that of a word on the stack of a task that is parked in `Blocking::wait`.
    record::fingerprint() != unsafe { *(before as *const u64) }
}

/// A time limit that is an option of a socket, in nanoseconds; none if it has none.
fn time_limit(descriptor: u64, option: i32) -> Option<u64> {
    let mut limit = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let mut len = size_of::<libc::timeval>() as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe {
        raw::call!(
            libc::SYS_getsockopt,
            descriptor,
            libc::SOL_SOCKET,
            option,
            &raw mut limit,
            &raw mut len
        )
    };
    let limit = limit.tv_sec as u64 * 1_000_000_000 + limit.tv_usec as u64 * 1000;
    (answer == 0 && limit > 0).then_some(limit)
}
