//! Failures on their way to the controller: each kind and place once, and again where it took a smaller
//! schedule; the rest counted. In a search that is shared, once in each piece of work, and again where
//! it took fewer preemptions: what is told of must not depend on which worker did what before.

use super::count;
use crate::channel::{self, header};
use crate::failure;
use crate::raw;
use crate::world::world;
use search::Divergence;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::points::Lesson;
use traces::wire::{Found, News};

/// Tells of the failure of the execution that just ended, if it is news. `piece` counts pieces of work
/// from 1; 0 where there are none.
pub(super) fn report(found: Found, piece: u64) {
    // Where there are more different failures than can be counted, those beyond are counted as
    // failing only.
    let Some(entry) = count(found.key) else { return };
    let before = entry.count.load(Relaxed);
    entry.count.store(before + 1, Relaxed);
    let preemptions = world().preemptions.get();
    let told = entry.told.load(Relaxed);
    let now = match piece {
        0 => size(),
        piece => piece << 32 | u64::from(preemptions),
    };
    let same_piece = piece == 0 || told >> 32 == piece;
    if before > 0 && same_piece && now >= told {
        return;
    }
    entry.told.store(now, Relaxed);
    let found = Found { choices: failure::choices(), preemptions, ..found };
    if let Ok(bytes) = rmp_serde::to_vec(&News::Found(found)) {
        send(&bytes);
    }
}

/// Tells of a failure that was met before the search began.
pub(super) fn early(found: Found) {
    let preemptions = world().preemptions.get();
    let found = Found { choices: failure::choices(), preemptions, ..found };
    if let Ok(bytes) = rmp_serde::to_vec(&News::Found(found)) {
        send(&bytes);
    }
}

/// Tells what learning came to.
pub(super) fn learned(lesson: Lesson, known: bool) {
    if let Ok(bytes) = rmp_serde::to_vec(&News::Learned { lesson, known }) {
        send(&bytes);
    }
}

/// How small the schedule of the execution that just ended is, as one number that is the smaller the
/// fewer preemptions, then switches, then steps it has.
fn size() -> u64 {
    let world = world();
    let preemptions = u64::from(world.preemptions.get()).min((1 << 20) - 1);
    let switches = world.switches.get().min((1 << 20) - 1);
    let steps = world.step.get().min((1 << 24) - 1);
    preemptions << 44 | switches << 24 | steps
}

/// Tells of an execution that was not the one to be followed.
pub(super) fn diverged(execution: u64, divergence: Divergence) {
    let news = News::Diverged { execution, step: divergence.step, what: divergence.what };
    if let Ok(bytes) = rmp_serde::to_vec(&news) {
        send(&bytes);
    }
}

/// Puts a frame into the ring, and waits for room while the controller is behind.
fn send(bytes: &[u8]) {
    let header = header();
    let ring = header.outbox.len;
    let need = (4 + bytes.len() as u64).next_multiple_of(8);
    if need + 8 > ring {
        return;
    }
    let mut head = header.outbox_head.load(Relaxed);
    let left = ring - head % ring;
    let skip = if left < need { left } else { 0 };
    while head + skip + need - header.outbox_tail.load(Acquire) > ring {
        channel::notify();
        let news = header.news.load(Acquire);
        raw::futex_wait(&header.news, news, 10);
    }
    let base = channel::address(header.outbox) as u64;
    // SAFETY: the frame lies within the ring, in the part that the controller has read.
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
    channel::notify();
}
