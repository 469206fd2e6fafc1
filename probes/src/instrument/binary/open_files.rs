//! Which open file a call of a library function uses, and the word that represents its state.
//!
//! Descriptors that lead to the same file, directory, pipe or connection share a word, so that a write through one
//! and a read through the other depend on each other: the word of the lowest of them, also after that was closed
//! ([`known_files`]). [Pipes](pipes) have two words. Closing a descriptor is an access to that word as well, since
//! afterwards it may lead to another file.

use crate::detect::access::is_in_company;
use crate::instrument::binary::known_files::{self, File};
use crate::instrument::binary::sockets;
use crate::schedule::access_points::{transfer_at_once, visit_in_company};
use crate::state::open_words::{self, DESCRIPTORS, PIPES, WordSet};
use crate::state::pipes::{self, Read};
use crate::state::task::ExternalWait;
use crate::state::world::world;
use crate::sys::open_flags::OpenFlags;
use crate::sys::raw;
use crate::sys::readable::{is_readable, least_readable};
use std::cell::Cell;
use std::mem::MaybeUninit;

/// Descriptors below this are never merged, as the standard streams often are one terminal.
const STANDARD: i32 = 3;

/// The state of an open file.
#[derive(Debug, Clone, Copy)]
enum State {
    /// One word.
    Whole(u64),
    /// The pipe with this inode, and its words for what was written and for what was taken.
    Pipe { number: u64, written: u64, taken: u64 },
}

impl State {
    /// All its words.
    fn words(self) -> WordSet {
        let mut words = WordSet::NONE;
        match self {
            State::Whole(word) => words.add(word, 8),
            State::Pipe { written, taken, .. } => {
                words.add(written, 8);
                words.add(taken, 8);
            }
        }
        words
    }
}

/// The state of the open file of a descriptor; none if the program's output there is captured for each task, so
/// that no task observes it.
fn state(descriptor: u64) -> Option<State> {
    if world().is_captured(u64::from(descriptor as u32)) {
        return None;
    }
    let descriptor = descriptor as u32 as i32;
    let Some(status) = status(descriptor) else { return Some(State::Whole(word(descriptor))) };
    if status.st_mode & libc::S_IFMT != libc::S_IFIFO {
        return Some(State::Whole(word(lowest_of(descriptor, &status))));
    }
    let number = status.st_ino;
    let first = pipes::first(number, descriptor, || lowest_of(descriptor, &status));
    let index = (first as u32 as usize).min(PIPES - 1);
    let at = |index: usize| open_words::at(DESCRIPTORS + index);
    Some(State::Pipe { number, written: at(index), taken: at(PIPES + index) })
}

/// The words of a descriptor's open file, for a call that may observe all of its state; none if output there is
/// captured.
pub(crate) fn each_file(descriptor: u64, each: &mut dyn FnMut(u64, u64)) {
    match state(descriptor) {
        None => {}
        Some(State::Whole(word)) => each(word, 8),
        Some(State::Pipe { number, written, taken }) => {
            each(taken, 8);
            // The next step of another task may be a read that returns what this call writes.
            pipes::forget(number);
            each(written, 8);
        }
    }
}

/// The same and the word of the descriptor itself, which another task may close or let lead to another file.
pub(super) fn each_word(descriptor: u64, site: u64, each: &mut dyn FnMut(u64, u64)) {
    use_descriptor(descriptor, state(descriptor), site);
    each_file(descriptor, each);
}

/// What a task that waits for the descriptor to be ready waits for. Unlike a call, that changes nothing.
pub(crate) fn each_awaited(descriptor: u64, each: &mut dyn FnMut(u64, u64)) {
    let found = state(descriptor);
    own(descriptor, found, each);
    match found {
        None => {}
        Some(State::Whole(word)) => each(word, 8),
        Some(State::Pipe { written, taken, .. }) => {
            each(taken, 8);
            each(written, 8);
        }
    }
}

/// The words that a read of at most `len` bytes, or to `len` buffers, accesses. A read that does not wait makes its step here; one of a pipe
/// that waits makes it later ([`crate::kernel::transfer`]).
pub(super) fn each_taken((descriptor, len): (u64, u64), site: u64, each: &mut dyn FnMut(u64, u64)) {
    let found = state(descriptor);
    use_descriptor(descriptor, found, site);
    let flags = OpenFlags::of(descriptor);
    if flags.is_some_and(|flags| !flags.reads()) {
        // The call fails without using the file.
        return;
    }
    let waits = flags.is_some_and(OpenFlags::waits);
    if let Some(found) = found.filter(|_| len > 0 && is_in_company() && !waits)
        && is_exact(descriptor, found)
    {
        return transfer(descriptor, found, is_readable, site);
    }
    match found {
        Some(State::Pipe { .. }) if len > 0 && waits => {}
        Some(State::Pipe { written, taken, .. }) => {
            each(taken, 8);
            each(written, 8);
        }
        _ => each_file(descriptor, each),
    }
}

/// If the descriptor is that of a pipe: its words, and what a read of at most `len` bytes by the running task is.
pub(crate) fn read_of_pipe(descriptor: u64, len: u64) -> Option<(WordSet, Read)> {
    let file = state(descriptor)?;
    let State::Pipe { number, .. } = file else { return None };
    Some((file.words(), Read::new(number, descriptor as u32 as i32, world().current.get(), len)))
}

/// A call of the running task returned this, and transferred so many bytes of a pipe if the descriptor is that of one.
/// Returns the same.
pub(crate) fn transferred(descriptor: u64, answer: i64, reads: bool) -> i64 {
    if answer > 0
        && pipes::are_any()
        && let Some(State::Pipe { number, .. }) = state(descriptor)
    {
        match reads {
            true => pipes::took(number, world().current.get(), answer as u64),
            false => pipes::wrote(number, answer as u64),
        }
    }
    answer
}

/// Whether a read that does not wait takes something exactly if a poll finds the descriptor readable.
fn is_exact(descriptor: u64, file: State) -> bool {
    match file {
        State::Pipe { .. } => true,
        State::Whole(_) => least_readable(descriptor).is_some_and(|least| least <= 1),
    }
}

/// Whether a write to the descriptor passes something to a reader.
fn is_transfer(descriptor: u64, file: State) -> bool {
    matches!(file, State::Pipe { .. }) || least_readable(descriptor).is_some()
}

/// A call that does not wait makes one step: it changes nothing unless `would_succeed` holds for the descriptor.
fn transfer(descriptor: u64, file: State, would_succeed: fn(u64) -> bool, site: u64) {
    transfer_at_once(file.words(), descriptor, &ExternalWait::new(would_succeed, descriptor), site);
}

/// The words that a write accesses: one that waits for room writes all in any case. A write that does
/// not wait makes its step here.
pub(super) fn each_given(descriptor: u64, site: u64, each: &mut dyn FnMut(u64, u64)) {
    let found = state(descriptor);
    use_descriptor(descriptor, found, site);
    let flags = OpenFlags::of(descriptor);
    if flags.is_some_and(|flags| !flags.writes()) {
        return;
    }
    let waits = flags.is_some_and(OpenFlags::waits);
    match found {
        Some(found) if is_in_company() && !waits && is_transfer(descriptor, found) => {
            // Whether there is room decides nothing here: a full pipe may take a little, and the call shows then
            // whether it was refused.
            transfer(descriptor, found, |_| true, site);
            if let State::Pipe { number, .. } = found {
                pipes::forget(number);
            }
        }
        Some(State::Pipe { number, written, .. }) if waits => {
            each(written, 8);
            pipes::post(number);
        }
        _ => each_file(descriptor, each),
    }
}

/// The words that closing a descriptor accesses. What is in a pipe stays there.
pub(super) fn each_closed(descriptor: u64, each: &mut dyn FnMut(u64, u64)) {
    let found = state(descriptor);
    own(descriptor, found, each);
    match found {
        Some(State::Pipe { written, .. }) => each(written, 8),
        _ => each_file(descriptor, each),
    }
}

/// The descriptor is about to be closed.
pub(super) fn closes(descriptor: u64) {
    let descriptor = descriptor as u32 as i32;
    if DUPLICATES.0.get() && identity(descriptor).is_none() {
        let rest = (descriptor + 1)..DESCRIPTORS as i32;
        let rest = rest.filter(|&other| other >= STANDARD || is_replaced(other));
        known_files::closes(descriptor, rest.filter(|&other| is_duplicate(descriptor, other)));
    }
}

/// A write to a pipe, of which this much is done, begins to wait for room.
pub(crate) fn waits_for_room(descriptor: u64, done: usize) {
    if let Some(State::Pipe { number, .. }) = state(descriptor) {
        pipes::wait(number, descriptor as u32 as i32, done as u64);
    }
}

/// A write to a pipe that had to wait continues: which reads find what it writes now is a matter of order. Whether
/// it writes a page only.
pub(crate) fn continues(descriptor: u64, site: u64) -> bool {
    let Some(State::Pipe { number, written: address, .. }) = state(descriptor) else {
        return false;
    };
    visit_in_company(address, 8, true, site);
    pipes::post(number);
    pipes::is_fine(number)
}

/// The word of a descriptor with this open file, unless it is also that of the file.
fn own(descriptor: u64, file: Option<State>, each: &mut dyn FnMut(u64, u64)) {
    let own = word(descriptor as u32 as i32);
    match file {
        None => {}
        Some(State::Whole(file)) if file == own => {}
        Some(_) => each(own, 8),
    }
}

/// A call uses a descriptor, which it does not change: it depends on what else that may lead to, but not on other
/// calls that use it.
fn use_descriptor(descriptor: u64, file: Option<State>, site: u64) {
    own(descriptor, file, &mut |address, size| visit_in_company(address, size, false, site));
}

/// An execution begins.
pub(crate) fn begin() {
    pipes::begin();
    known_files::begin();
    sockets::begin();
}

/// The open file of this descriptor is known as that of `other` from here on, unless it was used already: which of two
/// ends of a connection is used first would decide otherwise.
pub(crate) fn know_as(descriptor: i32, other: i32) {
    if let Some(file) = identity(descriptor) {
        known_files::first(file, || other);
    }
}

/// The lowest descriptor that leads to the same file, or to the same open file.
pub(crate) fn lowest(descriptor: i32) -> i32 {
    status(descriptor).map_or(descriptor, |status| lowest_of(descriptor, &status))
}

fn lowest_of(descriptor: i32, status: &libc::stat) -> i32 {
    let same = match file_of(descriptor, status) {
        Some(file) if descriptor >= STANDARD || is_replaced(descriptor) => {
            let lowest = || first_of(file, descriptor).unwrap_or(descriptor);
            Some(known_files::first(file, lowest))
        }
        Some(_) => None,
        None if DUPLICATES.0.get() => {
            let lowest = others(descriptor).find(|&other| is_duplicate(other, descriptor));
            Some(known_files::inherited(lowest.unwrap_or(descriptor)))
        }
        None => None,
    };
    same.unwrap_or(descriptor)
}

/// Whether the program has replaced standard output or error by another file.
fn is_replaced(descriptor: i32) -> bool {
    (1..STANDARD).contains(&descriptor) && !world().is_captured(descriptor as u64)
}

/// The lower descriptors that may be merged with this one: the standard input, since the program may have a
/// duplicate of it, and those that are no standard streams. (Standard streams are not merged, so that none is known by
/// another's descriptor.)
fn others(descriptor: i32) -> impl Iterator<Item = i32> {
    let is_merged = |one: i32| one >= STANDARD || is_replaced(one);
    let end = if is_merged(descriptor) { descriptor.min(DESCRIPTORS as i32) } else { 0 };
    (0..end).filter(move |&other| other == 0 || is_merged(other))
}

/// The program begins: descriptors that it has already, or received from its parent, may be duplicates.
pub(crate) fn prepare() {
    let are_there = (STANDARD..DESCRIPTORS as i32)
        .any(|one| status(one).is_some() && others(one).any(|other| is_duplicate(other, one)));
    if are_there {
        duplicates();
    }
}

/// Whether two descriptors of the program may have one open file, in any execution of this process: before
/// that no two descriptors but those of files share a state.
struct Duplicates(Cell<bool>);

// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Duplicates {}

static DUPLICATES: Duplicates = Duplicates(Cell::new(false));

/// The program duplicates a descriptor.
pub(crate) fn duplicates() {
    DUPLICATES.0.set(true);
}

/// Whether two descriptors have one open file. Where the kernel does not say, those of one inode count as the
/// same.
fn is_duplicate(one: i32, other: i32) -> bool {
    /// `KCMP_FILE`
    const FILE: i32 = 0;
    // SAFETY: passes no pointers.
    let answer = unsafe {
        let process = raw::call!(libc::SYS_getpid);
        raw::call!(libc::SYS_kcmp, process, process, FILE, one, other)
    };
    if answer >= 0 || answer == -i64::from(libc::EBADF) {
        return answer == 0;
    }
    let (Some(first), Some(second)) = (status(one), status(other)) else { return false };
    (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
}

/// The words of a descriptor and of all others that may lead to the same open file. Duplicates of a descriptor
/// share the state of the open file, and the kernel has no number for it: files are compared instead.
pub(super) fn may_share(descriptor: u64, each: &mut dyn FnMut(u64, u64)) {
    let descriptor = descriptor as u32 as i32;
    each(word(descriptor), 8);
    let Some(status) = status(descriptor) else { return };
    let file = (status.st_dev, status.st_ino);
    for other in (0..DESCRIPTORS as i32).filter(|&other| other != descriptor) {
        if self::status(other).is_some_and(|status| (status.st_dev, status.st_ino) == file) {
            each(word(other), 8);
        }
    }
}

/// The words of the open file with this path; none if no descriptor leads to it.
pub(super) fn each_at_path(path: u64, is_pipe: bool, each: &mut dyn FnMut(u64, u64)) {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the program is about to pass the same path to the kernel, which checks it, and the buffer has the
    // size of the structure.
    let result =
        unsafe { raw::call!(libc::SYS_newfstatat, libc::AT_FDCWD, path, status.as_mut_ptr(), 0) };
    // SAFETY: the kernel has written it.
    let file = (result == 0).then(|| unsafe { status.assume_init_ref() }).and_then(file_with_path);
    let Some(descriptor) = file.and_then(|file| first_of(file, DESCRIPTORS as i32)) else { return };
    match state(descriptor as u64) {
        // To open or to name a pipe may change which ends it has, but not what it holds.
        Some(State::Pipe { written, taken, .. }) => {
            each(taken, 8);
            each(written, 8);
        }
        _ if is_pipe => {}
        _ => each_file(descriptor as u64, each),
    }
}

/// The word of the open file with this device and number, which is no pipe; none if no descriptor leads to it.
pub(crate) fn open_as(file: File) -> Option<u64> {
    known_files::find(file).or_else(|| first_of(file, DESCRIPTORS as i32)).map(word)
}

fn word(descriptor: i32) -> u64 {
    let index = (descriptor as u32 as usize).min(DESCRIPTORS - 1);
    open_words::at(index)
}

/// None if it is no file, directory, pipe or socket: event counters and timers all share one number. The ends
/// of a pipe are one file, and those of a connection have one number: how much a call reads depends on what was
/// written to the other end.
fn file_of(descriptor: i32, status: &libc::stat) -> Option<File> {
    match status.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => Some((status.st_dev, sockets::connection(descriptor, status.st_ino))),
        _ => file_with_path(status),
    }
}

/// The same where a path leads to it, or a descriptor of which it is known that it is no socket.
fn file_with_path(status: &libc::stat) -> Option<File> {
    let has_number =
        matches!(status.st_mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR | libc::S_IFIFO);
    has_number.then_some((status.st_dev, status.st_ino))
}

fn identity(descriptor: i32) -> Option<File> {
    status(descriptor).and_then(|status| file_of(descriptor, &status))
}

/// The program made a pair of sockets, whose descriptors are at this address.
pub(crate) fn paired(descriptors: u64) {
    // SAFETY: the kernel has written two descriptors there.
    let [one, other] = unsafe { *(descriptors as *const [i32; 2]) };
    if let (Some(one), Some(other)) = (status(one), status(other)) {
        sockets::made((one.st_ino, other.st_ino));
    }
}

/// Whether this is the descriptor of a regular file.
pub(super) fn is_file(descriptor: u64) -> bool {
    status(descriptor as u32 as i32)
        .is_some_and(|status| status.st_mode & libc::S_IFMT == libc::S_IFREG)
}

fn status(descriptor: i32) -> Option<libc::stat> {
    let mut status = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the buffer has the size of the structure.
    let result = unsafe { raw::call!(libc::SYS_fstat, descriptor, status.as_mut_ptr()) };
    // SAFETY: the kernel has written it.
    (result == 0).then(|| unsafe { status.assume_init() })
}

/// The lowest descriptor that leads to a file, below a number.
fn first_of(file: File, below: i32) -> Option<i32> {
    others(below).find(|&descriptor| identity(descriptor) == Some(file))
}
