//! Sends failures to the controller: each kind and site once, and again if a smaller schedule shows
//! it; the rest is counted. In a shared search, a failure is sent once for each piece of work, and
//! again with fewer preemptions, so that the reports do not depend on which worker did which piece.

use crate::state::world::world;
use crate::steps::record;
use crate::sys::channel::{self, header};
use crate::sys::raw;
use search::Divergence;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::compact;
use traces::points::LearningResult;
use traces::wire::{FoundFailure, KeyCount, RecordedClient, RuntimeMessage};

/// The ring is large, for messages about long executions. If the controller has read everything, the next
/// message after this many bytes goes to the start again: a long search would touch every page otherwise.
const AGAIN: u64 = 1 << 20;

/// Sends the failure of the execution that just ended, if it is new. `piece` numbers pieces of work
/// from 1; 0 if the search is not shared.
pub(crate) fn report(found: FoundFailure, piece: u64) {
    // Failures beyond the capacity of the table are counted as failing executions only.
    let Some(entry) = count(found.key) else { return };
    let before = entry.count.load(Relaxed);
    entry.count.store(before + 1, Relaxed);
    let preemptions = world().preemptions.get();
    let last_report = entry.last_report.load(Relaxed);
    let now = match piece {
        0 => size(),
        piece => piece << 32 | u64::from(preemptions),
    };
    let same_piece = piece == 0 || last_report >> 32 == piece;
    if before > 0 && same_piece && now >= last_report {
        return;
    }
    entry.last_report.store(now, Relaxed);
    put(&RuntimeMessage::Found(with_schedule(found)));
    // The controller is notified at the end of the piece, and looks after each tick: to wake it for each
    // failure of each piece takes as long as tens of executions.
    if piece == 0 {
        channel::notify();
    }
}

/// Counts and sends a failure of an execution of the learning phase.
pub(crate) fn report_early(found: FoundFailure) {
    if let Some(entry) = count(found.key) {
        entry.count.store(entry.count.load(Relaxed) + 1, Relaxed);
    }
    early(found);
}

/// Sends a failure from before the search.
pub(crate) fn early(found: FoundFailure) {
    send(&RuntimeMessage::Found(with_schedule(found)));
}

/// Sends a failure of an earlier execution of the learning phase, with its schedule.
pub(crate) fn postponed(found: FoundFailure) {
    send(&RuntimeMessage::Found(found));
}

/// A failure of the execution that just ended, with its schedule. One with clients has that already.
pub(crate) fn with_schedule(found: FoundFailure) -> FoundFailure {
    let choices = match found.clients.is_empty() {
        true => record::choices(),
        false => found.choices,
    };
    FoundFailure { choices, preemptions: world().preemptions.get(), ..found }
}

/// Sends the result of the learning phase.
pub(crate) fn learned(result: LearningResult, known: bool) {
    send(&RuntimeMessage::Learned { result, known });
}

/// Sends what the clients of the execution did.
pub(crate) fn recorded(clients: Vec<RecordedClient>) {
    send(&RuntimeMessage::Recorded(clients));
}

/// The size of the last execution's schedule as one number: fewer preemptions, then switches, then
/// steps make it smaller.
fn size() -> u64 {
    let world = world();
    let preemptions = u64::from(world.preemptions.get()).min((1 << 20) - 1);
    let switches = world.switches.get().min((1 << 20) - 1);
    let steps = world.step.get().min((1 << 24) - 1);
    preemptions << 44 | switches << 24 | steps
}

/// Reports an execution that diverged from its schedule.
pub(crate) fn diverged(execution: u64, divergence: Divergence) {
    send(&RuntimeMessage::Diverged { execution, step: divergence.step, what: divergence.what });
}

/// Puts a message into the ring and notifies the controller.
fn send(message: &RuntimeMessage) {
    put(message);
    channel::notify();
}

/// Puts a message into the ring; waits for room while the controller is behind.
fn put(message: &RuntimeMessage) {
    let bytes = compact::encode(message);
    let header = header();
    let ring = header.outbox.len;
    let need = (4 + bytes.len() as u64).next_multiple_of(8);
    if need + 8 > ring {
        return;
    }
    let mut head = header.outbox_head.load(Relaxed);
    let left = ring - head % ring;
    let is_empty = head == header.outbox_tail.load(Acquire);
    let again = is_empty && head % ring >= need.max(AGAIN);
    let skip = if left < need || again { left } else { 0 };
    while head + skip + need - header.outbox_tail.load(Acquire) > ring {
        channel::notify();
        let news = header.news.load(Acquire);
        raw::futex_wait(&header.news, news, 10);
    }
    let base = channel::address(header.outbox) as u64;
    // SAFETY: the frame is within the ring, in the part that the controller has read already and
    // does not access any more; this process is the only writer.
    unsafe {
        if skip > 0 {
            ((base + head % ring) as *mut u32).write(u32::MAX);
            head += skip;
        }
        let to = (base + head % ring) as *mut u8;
        to.cast::<u32>().write(bytes.len() as u32);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(4), bytes.len());
    }
    header.outbox_head.store(head + need, Release);
}

/// The counter of a failure's key.
fn count(key: u64) -> Option<&'static KeyCount> {
    let counts = &header().counts;
    let start = key as usize % counts.len();
    (0..counts.len()).map(|i| &counts[(start + i) % counts.len()]).find(|entry| {
        let known = entry.key.load(Relaxed);
        if known == 0 {
            entry.key.store(key, Relaxed);
        }
        known == 0 || known == key
    })
}
