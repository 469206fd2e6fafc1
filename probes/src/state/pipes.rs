//! What the program's pipes hold, and what a call on one depends on.
//!
//! A pipe has two words. A write, and a close, access the one for what was *written*, and send a message
//! ([`search::reduction::stream`]). A read that waits accesses that for what was *taken*, and receives the message that has its
//! bytes, so that it is one step, whether it has to wait or not. It accesses the word for what was written as well
//! if its result depends on further writes. If the task has received all bytes before, the read is a step for those that
//! other tasks read only. A call that can observe how full the pipe is (a poll, a call that does not wait) accesses both.
//!
//! A writer that waits for room may continue after any read that makes some. While each read makes room for a page
//! at most, it continues page by page, and the reads need not be steps for that. After any other read it fills all
//! the room at once, as the kernel does, and the reads that follow depend on the writes.

use crate::state::open_words::{self, PIPES, WordSet};
use crate::sys::raw;
use search::reduction::stream::{self, Needs, Stream};
use std::cell::Cell;

/// A pipe that a call used in the current execution.
#[derive(Debug, Clone, Copy)]
struct Pipe {
    /// The inode.
    number: u64,
    /// The lowest descriptor that led to it when it was used first: which one that is does not depend on the
    /// descriptors that are closed later.
    first: i32,
    /// Whether a call may have made room for several pages since a writer began to wait, or may have taken or
    /// written bytes that are not known.
    coarse: bool,
    /// Whether it has a name, so that ends may be opened again.
    named: bool,
}

/// The pipes of the current execution.
struct Seen {
    all: [Cell<Pipe>; PIPES],
    streams: [Cell<Stream>; PIPES],
    count: Cell<usize>,
}

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Seen {}

const NONE: Pipe = Pipe { number: 0, first: 0, coarse: false, named: false };
/// The size of a part of a pipe that is used again when all of it was read.
const PAGE: u64 = 4096;
static SEEN: Seen = Seen {
    all: [const { Cell::new(NONE) }; PIPES],
    streams: [const { Cell::new(Stream::NONE) }; PIPES],
    count: Cell::new(0),
};

/// A read of a pipe, which is about to be a step or is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    /// The pipe's inode.
    number: u64,
    /// The reading task.
    task: u16,
    /// How many bytes it takes at most.
    len: u64,
    descriptor: i32,
}

fn index(number: u64) -> Option<usize> {
    SEEN.all[..SEEN.count.get()].iter().position(|pipe| pipe.get().number == number)
}

fn set(number: u64, how: impl FnOnce(&mut Pipe)) {
    if let Some(at) = index(number) {
        let mut pipe = SEEN.all[at].get();
        how(&mut pipe);
        SEEN.all[at].set(pipe);
    }
}

fn change_stream(number: u64, how: impl FnOnce(&mut Stream)) {
    if let Some(at) = index(number) {
        let mut stream = SEEN.streams[at].get();
        how(&mut stream);
        SEEN.streams[at].set(stream);
    }
}

/// An execution begins.
pub(crate) fn begin() {
    SEEN.count.set(0);
}

/// Whether the execution has used any.
pub(crate) fn are_any() -> bool {
    SEEN.count.get() > 0
}

/// The descriptor by which the pipe with this inode is known; `lowest` finds the lowest that leads to it.
pub(crate) fn first(number: u64, descriptor: i32, lowest: impl FnOnce() -> i32) -> i32 {
    if let Some(known) = index(number) {
        return SEEN.all[known].get().first;
    }
    let first = lowest();
    let count = SEEN.count.get();
    if let Some(next) = SEEN.all.get(count) {
        // Messages of an earlier pipe with these words have other numbers.
        let earlier = newest(first).map_or(0, |at| SEEN.streams[at].get().next());
        SEEN.streams[count].set(Stream::new(earlier, held(descriptor)));
        next.set(Pipe { number, first, named: is_named(descriptor), ..NONE });
        SEEN.count.set(count + 1);
    }
    first
}

/// The last pipe that is known by this descriptor.
fn newest(first: i32) -> Option<usize> {
    SEEN.all[..SEEN.count.get()].iter().rposition(|pipe| pipe.get().first == first)
}

/// A task has made the step of a write.
pub(crate) fn post(number: u64) {
    change_stream(number, |stream| stream.post(false));
}

/// A task has made a step that changes these words, such as those of a pipe of which it opens or closes an end. `closes`:
/// it closes one through which bytes are written.
pub(crate) fn change(words: WordSet, closes: bool) {
    let written = words.iter().filter_map(open_words::pipe_written);
    for at in written.filter_map(|first| newest(first as i32)) {
        change_stream(SEEN.all[at].get().number, |stream| stream.post(closes));
    }
}

/// A call has written this much.
pub(crate) fn wrote(number: u64, bytes: u64) {
    change_stream(number, |stream| stream.write(bytes));
}

/// A call of this task has read this much.
pub(crate) fn took(number: u64, task: u16, bytes: u64) {
    // A read of more than a page may free several.
    if bytes > PAGE || index(number).is_some_and(|at| SEEN.streams[at].get().held() < bytes) {
        return forget(number);
    }
    change_stream(number, |stream| stream.take(task, bytes));
}

/// Something other than a read takes from the pipe, or may.
pub(crate) fn forget(number: u64) {
    set(number, |pipe| pipe.coarse = true);
}

/// A task begins to wait for room, after it wrote this much.
pub(crate) fn wait(number: u64, descriptor: i32, done: u64) {
    // What others wrote may be in parts smaller than a page, of which one read frees several.
    let others = held(descriptor) > done;
    set(number, |pipe| pipe.coarse |= others);
}

/// Whether a writer that waited continues page by page.
pub(crate) fn is_fine(number: u64) -> bool {
    index(number).is_some_and(|at| !SEEN.all[at].get().coarse)
}

impl Read {
    /// A read of at most this much by this task from a pipe.
    pub(crate) fn new(number: u64, descriptor: i32, task: u16, len: u64) -> Read {
        Read { number, task, len, descriptor }
    }

    /// What it depends on. `is_over`: it would not wait.
    fn needs(&self, is_over: bool) -> Needs {
        let Some(at) = index(self.number) else { return Needs::Unknown };
        let (pipe, stream) = (SEEN.all[at].get(), SEEN.streams[at].get());
        if pipe.coarse || pipe.first >= PIPES as i32 - 1 {
            return Needs::Unknown;
        }
        let is_empty = stream.held() == 0;
        // A pipe with a name loses what it holds when all ends are closed.
        if !is_over && !is_empty || pipe.named && held(self.descriptor) != stream.held() {
            return Needs::Unknown;
        }
        if !is_over {
            return Needs::Message { number: stream.next(), exact: true };
        }
        // Another process may have written what no task wrote.
        let ended = is_empty && !pipe.named && held(self.descriptor) == 0;
        match stream.needs(self.task, self.len, ended) {
            Needs::Message { number, exact } if self.len > PAGE => {
                Needs::Message { number, exact: exact && ended }
            }
            needs => needs,
        }
    }

    /// It returned this, like the call.
    pub(crate) fn took(&self, answer: i64) -> i64 {
        if answer > 0 {
            took(self.number, self.task, answer as u64);
        }
        answer
    }

    /// Whether it needs nothing that other tasks write.
    pub(crate) fn has_all(&self) -> bool {
        self.len <= PAGE && self.needs(true) == Needs::Nothing
    }

    /// The message that it receives, as an object; 0 if that is not known.
    pub(crate) fn message(&self, is_over: bool) -> u64 {
        match self.needs(is_over) {
            Needs::Message { number, .. } => object(self.number, number),
            Needs::Nothing | Needs::Unknown => 0,
        }
    }

    /// Of the words of the pipe those that it accesses.
    pub(crate) fn words(&self, all: WordSet, is_over: bool) -> WordSet {
        match self.needs(is_over) {
            Needs::Nothing | Needs::Message { exact: true, .. } => all.only(open_words::is_taken),
            _ => all,
        }
    }
}

/// A message of a pipe as an object.
fn object(number: u64, message: u64) -> u64 {
    let first = index(number).map_or(0, |at| SEEN.all[at].get().first);
    stream::message(first as u32, message)
}

/// The message that a task sends whose next step writes to one of these words, as an object; 0 if there is none.
pub(crate) fn sent(mut words: impl Iterator<Item = u64>) -> u64 {
    let sent = |word: u64| {
        let at = newest(open_words::pipe_written(word)? as i32)?;
        let (pipe, stream) = (SEEN.all[at].get(), SEEN.streams[at].get());
        (pipe.first < PIPES as i32 - 1).then(|| object(pipe.number, stream.next()))
    };
    if are_any() { words.find_map(sent).unwrap_or(0) } else { 0 }
}

/// How many bytes the pipe holds.
fn held(descriptor: i32) -> u64 {
    let mut held = 0i32;
    // SAFETY: the kernel writes only to the local.
    let answer = unsafe { raw::call!(libc::SYS_ioctl, descriptor, libc::FIONREAD, &raw mut held) };
    if answer == 0 { held.max(0) as u64 } else { 0 }
}

/// Whether the pipe of this descriptor is in a directory.
fn is_named(descriptor: i32) -> bool {
    /// `PIPEFS_MAGIC`
    const UNNAMED: i64 = 0x5049_5045;
    // SAFETY: `statfs` is plain data, and the kernel writes it.
    let (answer, status) = unsafe {
        let mut status: libc::statfs = std::mem::zeroed();
        (raw::call!(libc::SYS_fstatfs, descriptor, &raw mut status), status)
    };
    answer != 0 || status.f_type != UNNAMED
}
