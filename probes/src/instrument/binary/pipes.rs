//! What a call on a pipe depends on.
//!
//! A pipe has two words. A write, and a close, access the one for what was *written*. A read accesses the one for
//! what was *taken*, and that for what was written only where its result may depend on it: if the pipe held as
//! much as the read asks for when the task last looked, no later write can change what it returns. Nor can one
//! where all writes are of a multiple of what the read asks for: it waits, or finds all of that. A call that
//! can observe how full the pipe is (a poll, a call that does not wait) accesses both. So a write and the reads of
//! what it wrote are as many steps as there are results, and not one for each read.
//!
//! A writer that waits for room may continue after any read that makes some. While each read makes room for a page
//! at most, it continues page by page, and the reads need not be steps for that. After any other read it fills all
//! the room at once, as the kernel does, and the reads that follow are steps.

use crate::state::open_words::PIPES;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;

/// A pipe that a call used in the current execution.
#[derive(Debug, Clone, Copy)]
struct Pipe {
    /// The inode.
    number: u64,
    /// The lowest descriptor that led to it when it was used first: which one that is does not depend on the
    /// descriptors that are closed later.
    first: i32,
    /// The task that looked last at how much there is, plus one, and how much of that it has not taken yet.
    left: (u16, u64),
    /// Whether a call may have made room for several pages since a writer began to wait.
    coarse: bool,
    /// The greatest common divisor of the sizes of all writes.
    grain: u64,
}

/// The pipes of the current execution.
struct Seen {
    all: [Cell<Pipe>; PIPES],
    count: Cell<usize>,
}

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Seen {}

const NONE: Pipe = Pipe { number: 0, first: 0, left: (0, 0), coarse: false, grain: 0 };
/// The size of a part of a pipe that is used again when all of it was read.
const PAGE: u64 = 4096;
static SEEN: Seen = Seen { all: [const { Cell::new(NONE) }; PIPES], count: Cell::new(0) };

fn entry(number: u64) -> Option<&'static Cell<Pipe>> {
    SEEN.all[..SEEN.count.get()].iter().find(|pipe| pipe.get().number == number)
}

/// An execution begins.
pub(super) fn begin() {
    SEEN.count.set(0);
}

/// The descriptor by which the pipe with this inode is known; `lowest` finds the lowest that leads to it.
pub(super) fn first(number: u64, lowest: impl FnOnce() -> i32) -> i32 {
    if let Some(known) = entry(number) {
        return known.get().first;
    }
    let first = lowest();
    if let Some(next) = SEEN.all.get(SEEN.count.get()) {
        next.set(Pipe { number, first, ..NONE });
        SEEN.count.set(SEEN.count.get() + 1);
    }
    first
}

/// Whether the pipe is known to hold this much for the running task, whatever other tasks write. Then the task
/// takes it.
pub(super) fn take(number: u64, len: u64) -> bool {
    let Some(known) = entry(number) else { return false };
    let pipe = known.get();
    let is_fine = !pipe.coarse && len <= PAGE;
    let holds = is_fine && pipe.left.0 == world().current.get() + 1 && len <= pipe.left.1;
    let left = if holds { pipe.left.1 - len } else { 0 };
    known.set(Pipe { left: (pipe.left.0, left), ..pipe });
    holds
}

/// The running task looks at how much the pipe holds, and is about to take at most this much.
pub(super) fn look(number: u64, descriptor: i32, len: u64) {
    let Some(known) = entry(number) else { return };
    let left = (world().current.get() + 1, held(descriptor).saturating_sub(len));
    // A read of more than a page may free several.
    let coarse = known.get().coarse || len > PAGE;
    known.set(Pipe { left, coarse, ..known.get() });
}

/// Whether no order of the writes so far, and none that are to come, changes what a read of this much returns,
/// which waits while the pipe is empty.
pub(super) fn finds_all(number: u64, descriptor: i32, len: u64) -> bool {
    finds_all_of(number, || held(descriptor), len)
}

/// Whether a read of this much returns the same whichever writes end its wait, as far as the writes so far show.
pub(super) fn returns_all(number: u64, len: u64) -> bool {
    let Some(pipe) = entry(number).map(Cell::get).filter(|pipe| !pipe.coarse) else {
        return false;
    };
    let is_small = (1..=PAGE).contains(&len);
    len == 1 || is_small && pipe.grain > 0 && pipe.grain.is_multiple_of(len)
}

/// Whether a read of this much, which does not wait, finds what depends on the order of the writes.
pub(super) fn depends_on_writes(number: u64, descriptor: i32, len: u64) -> bool {
    let held = held(descriptor);
    held > 0 && !finds_all_of(number, || held, len)
}

fn finds_all_of(number: u64, held: impl FnOnce() -> u64, len: u64) -> bool {
    let Some(pipe) = entry(number).map(Cell::get).filter(|pipe| !pipe.coarse) else {
        return false;
    };
    let held = held();
    let is_small = (1..=PAGE).contains(&len);
    len == 1
        || is_small && held >= len && held.is_multiple_of(len) && pipe.grain.is_multiple_of(len)
}

/// A task is about to write this much.
pub(super) fn give(number: u64, len: u64) {
    if let Some(known) = entry(number) {
        // A larger write may be made in parts of any size.
        let len = if len > PAGE { 1 } else { len };
        let (mut grain, mut rest) = (known.get().grain, len);
        while rest > 0 {
            (grain, rest) = (rest, grain % rest);
        }
        known.set(Pipe { grain, ..known.get() });
    }
}

/// How many bytes the pipe holds.
fn held(descriptor: i32) -> u64 {
    let mut held = 0i32;
    // SAFETY: the kernel writes only to the local.
    let answer = unsafe { raw::call!(libc::SYS_ioctl, descriptor, libc::FIONREAD, &raw mut held) };
    if answer == 0 { held.max(0) as u64 } else { 0 }
}

/// The running task begins to wait for room, after it wrote this much.
pub(super) fn wait(number: u64, descriptor: i32, done: u64) {
    if let Some(known) = entry(number) {
        // What others wrote may be in parts smaller than a page, of which one read frees several.
        known.set(Pipe { coarse: held(descriptor) > done, ..known.get() });
    }
}

/// Whether a writer that waited continues page by page.
pub(super) fn is_fine(number: u64) -> bool {
    entry(number).is_some_and(|known| !known.get().coarse)
}

/// Something other than a read takes from the pipe, or may.
pub(super) fn forget(number: u64) {
    if let Some(known) = entry(number) {
        known.set(Pipe { left: (0, 0), coarse: true, grain: 1, ..known.get() });
    }
}
