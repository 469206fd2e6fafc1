//! A search that several workers share: pieces of work come through the parcel region, and return
//! the same way.

use crate::state::root::{Portion, Root};
use crate::steps::record;
use crate::sys::channel::{self, header};
use crate::sys::raw;
use search::Strategy;
use search::share::frontier::{Work, WorkResult};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::compact;
use traces::points::Learned;
use traces::wire::state;

impl Portion {
    /// Counts an execution; returns its number among those of this piece that were not redundant.
    pub(crate) fn count(&mut self, redundant: bool, class: Option<u64>, fingerprint: u64) -> u64 {
        self.ran += 1;
        if redundant {
            self.redundant += 1;
        } else {
            self.classes.extend(class);
            self.fingerprints.push(fingerprint);
        }
        self.ran - self.redundant
    }

    /// The number of the execution within its part of the search.
    pub(crate) fn number(&self) -> u64 {
        self.work.first + self.ran
    }
}

impl Root {
    /// Whether the current executions check the results of the search: then all memory accesses are
    /// monitored, including those that were never seen to conflict.
    pub(crate) fn is_checking(&self) -> bool {
        self.portion.borrow().as_ref().is_some_and(|portion| !portion.work.searches)
    }
}

/// Begins the next execution of the current piece of work, or of the next one; false if there is
/// none.
pub(crate) fn ready(root: &Root) -> bool {
    loop {
        if let Some(next) = next_of_piece(root) {
            if next.is_some_and(|execution| root.strategy.borrow().begin(execution)) {
                return true;
            }
            hand_over(root, next.is_some());
        }
        if !receive(root) {
            return false;
        }
    }
}

/// The number of the next execution of the current piece of work, if there is a piece; none inside
/// if the piece is over.
fn next_of_piece(root: &Root) -> Option<Option<u64>> {
    let portion = root.portion.borrow();
    let portion = portion.as_ref()?;
    let strategy = root.strategy.borrow();
    // Only this process knows which execution is to be tried again.
    let over = portion.failed
        || portion.grew
        || header().stop.load(Acquire) != 0
        || !strategy.will_retry()
            && (portion.ran >= portion.work.budget || strategy.must_share() || asked_back());
    Some((!over).then_some(portion.number()))
}

fn asked_back() -> bool {
    header().pause.load(Acquire) != 0 || header().stop.load(Acquire) != 0
}

/// Returns the piece of work to the controller.
fn hand_over(root: &Root, exhausted: bool) {
    let is_at_end = |portion: &Portion| {
        exhausted
            || portion.failed
            || portion.grew
            || portion.ran >= portion.work.budget
            || root.strategy.borrow().must_share()
    };
    let finished = root.portion.borrow().as_ref().is_some_and(is_at_end);
    if finished {
        // What the executions found may show that the search is not over.
        root.adopt_points();
    }
    let Some(portion) = root.portion.take() else { return };
    let Portion { mut work, ran, redundant, classes, fingerprints, grew, .. } = portion;
    work.unsettled = root.learned.borrow().take_unsettled();
    root.strategy.borrow().abandon_retry();
    let visits = root.strategy.borrow().take_visits();
    let rest = root.strategy.borrow().rest().clone();
    let work = work.with(rest);
    let done = WorkResult { work, executions: ran, redundant, exhausted, classes };
    let bytes = compact::encode(&(
        done,
        fingerprints,
        finished,
        grew,
        root.learned.borrow().known(),
        visits,
    ));
    if bytes.len() as u64 > header().parcel.len {
        channel::fail("the rest of the search does not fit into the memory for its transfer")
    }
    put(&bytes);
}

fn put(bytes: &[u8]) {
    let header = header();
    let to = channel::address(header.parcel) as *mut u8;
    // SAFETY: the caller checked that the bytes fit, and the controller does not access the parcel
    // until the worker is idle.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    header.parcel_len.store(bytes.len() as u64, Release);
}

/// Waits for a piece of work; false if there will be none.
fn receive(root: &Root) -> bool {
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
    // SAFETY: the controller wrote `len` bytes before it set `resume`, and does not change them
    // while the worker runs.
    let bytes =
        unsafe { std::slice::from_raw_parts(channel::address(header.parcel) as *const u8, len) };
    let (mut work, learned): (Work, Learned) = match compact::decode(bytes) {
        Ok(work) => work,
        Err(error) => channel::fail(&format!("cannot decode a piece of work: {error}")),
    };
    root.learned.borrow().take_over(learned);
    let unsettled = std::mem::take(&mut work.unsettled);
    root.learned.borrow().set_unsettled(unsettled);
    // Races reported in another piece are reported again: pieces are independent.
    root.raced.borrow().clear();
    if let Some(table) = channel::common() {
        work.strategy.share(table);
    }
    // The rest of the piece stays here; the strategy goes to the root.
    let strategy = std::mem::replace(&mut work.strategy, search::AnyStrategy::nothing());
    let common = root.strategy.borrow().continue_with(strategy, record::trail);
    root.common.set(common);
    root.strategy_replaced();
    // The longest execution of a piece that is dropped is none of the search; those of the learning phase
    // are.
    if root.portions.get() > 0 {
        header.max_steps.store(0, Relaxed);
    }
    header.state.store(state::RUNNING, Relaxed);
    root.portions.set(root.portions.get() + 1);
    root.portion.set(Some(Portion {
        serial: root.portions.get(),
        work,
        ran: 0,
        redundant: 0,
        classes: Vec::new(),
        fingerprints: Vec::new(),
        failed: false,
        grew: false,
    }));
    true
}
