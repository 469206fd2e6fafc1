//! A search that is shared by several workers: pieces of it come by parcel, and go back the same way.

use super::Root;
use crate::channel::{self, header};
use crate::raw;
use search::Strategy;
use search::frontier::{Done, Work};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::points::Learned;
use traces::wire::state;

/// A piece of work that is being done; its strategy is the root's.
pub(super) struct Portion {
    work: Work,
    ran: u64,
    redundant: u64,
    classes: Vec<u64>,
    fingerprints: Vec<u64>,
    /// The how-manieth of this worker it is, from 1.
    pub(super) serial: u64,
    /// Whether an execution failed, and that is to be the end of it.
    pub(super) failed: bool,
    /// Whether accesses turned out to conflict that were not known to.
    pub(super) grew: bool,
}

impl Portion {
    /// An execution came to an end: its number among those of this piece that showed something.
    pub(super) fn count(&mut self, redundant: bool, class: Option<u64>, fingerprint: u64) -> u64 {
        self.ran += 1;
        if redundant {
            self.redundant += 1;
        } else {
            self.classes.extend(class);
            self.fingerprints.push(fingerprint);
        }
        self.ran - self.redundant
    }
}

impl Root {
    /// Whether the executions that run are to check what the search says of the program: then all
    /// accesses to memory are looked at, those too that were never seen to conflict.
    pub(crate) fn is_checking(&self) -> bool {
        self.portion.as_ref().is_some_and(|portion| !portion.work.searches)
    }
}

/// Begins the next execution of the piece of work at hand, or of the next one; false if there is none.
pub(super) fn ready(root: &mut Root) -> bool {
    loop {
        if let Some(portion) = &root.portion {
            // What is to be tried again is known here alone.
            let over = portion.failed
                || portion.grew
                || header().stop.load(Acquire) != 0
                || !root.strategy.is_to_try_again()
                    && (portion.ran >= portion.work.budget
                        || root.strategy.is_full()
                        || asked_back());
            if !over && root.strategy.begin(portion.work.first + portion.ran) {
                return true;
            }
            hand_over(root, !over);
        }
        if !receive(root) {
            return false;
        }
    }
}

fn asked_back() -> bool {
    header().pause.load(Acquire) != 0 || header().stop.load(Acquire) != 0
}

/// Gives the piece of work back.
fn hand_over(root: &mut Root, exhausted: bool) {
    let Some(portion) = root.portion.take() else { return };
    let Portion { work, ran, redundant, classes, fingerprints, failed, grew, .. } = portion;
    let finished = exhausted || failed || grew || ran >= work.budget || root.strategy.is_full();
    root.strategy.abandon();
    let visits = root.strategy.take_visits();
    let work = work.with(root.strategy.rest().clone());
    let done = Done { work, executions: ran, redundant, exhausted, classes };
    match rmp_serde::to_vec(&(done, fingerprints, finished, grew, root.learned.known(), visits)) {
        Ok(bytes) if bytes.len() as u64 <= header().parcel.len => put(&bytes),
        Ok(_) => channel::fail("what is left of the search does not fit into the memory for it"),
        Err(error) => channel::fail(&format!("the search cannot be written down: {error}")),
    }
}

fn put(bytes: &[u8]) {
    let header = header();
    let to = channel::address(header.parcel) as *mut u8;
    // SAFETY: it fits, and the parcel is the worker's as long as it is not idle.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    header.parcel_len.store(bytes.len() as u64, Release);
}

/// Waits for a piece of work; false if there will be none.
fn receive(root: &mut Root) -> bool {
    let header = header();
    if header.stop.load(Acquire) != 0 {
        return false;
    }
    header.resume.store(0, Release);
    channel::set_state(state::IDLE);
    while header.resume.load(Acquire) == 0 {
        if header.stop.load(Acquire) != 0 {
            return false;
        }
        raw::futex_wait(&header.resume, 0, 1000);
    }
    let len = header.parcel_len.load(Acquire).min(header.parcel.len) as usize;
    // SAFETY: the controller wrote the bytes before it set the word.
    let bytes =
        unsafe { std::slice::from_raw_parts(channel::address(header.parcel) as *const u8, len) };
    let (mut work, learned): (Work, Learned) = match rmp_serde::from_slice(bytes) {
        Ok(work) => work,
        Err(error) => channel::fail(&format!("a bad piece of work: {error}")),
    };
    root.learned.take_over(learned);
    // What was told of in another piece is told of again: each piece is for itself.
    root.raced.clear();
    if let Some(table) = channel::common() {
        work.strategy.share(table);
    }
    // What stays here is everything but the strategy.
    let strategy = std::mem::replace(&mut work.strategy, search::Any::nothing());
    root.strategy.set_rest(strategy);
    root.heed_strategy();
    header.state.store(state::RUNNING, Relaxed);
    root.portions += 1;
    root.portion = Some(Portion {
        serial: root.portions,
        work,
        ran: 0,
        redundant: 0,
        classes: Vec::new(),
        fingerprints: Vec::new(),
        failed: false,
        grew: false,
    });
    true
}
