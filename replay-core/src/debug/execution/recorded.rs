//! The events that a run with [`super::OnHit::Record`] meets, and those of the last search
//! backwards.

use super::events::{RecordedStop, StopRequests};
use super::position::Position;

/// The events of a run.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    events: Vec<RecordedStop>,
    /// The run ends after this many. Without a limit, only the last one is stored.
    most: Option<usize>,
}

impl Recorded {
    /// For a run that begins.
    pub(super) fn with_limit(most: Option<usize>) -> Recorded {
        Recorded { events: Vec::new(), most }
    }

    pub(super) fn add(&mut self, event: RecordedStop) {
        if self.most.is_none() {
            self.events.clear();
        }
        self.events.push(event);
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut RecordedStop> {
        self.events.last_mut()
    }

    pub(super) fn most(&self) -> Option<usize> {
        self.most
    }

    pub(super) fn is_full(&self) -> bool {
        self.most.is_some_and(|most| self.events.len() >= most)
    }

    pub(super) fn take(&mut self) -> Vec<RecordedStop> {
        std::mem::take(&mut self.events)
    }
}

/// The events of a part of the execution.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) events: Vec<RecordedStop>,
    /// The beginning of the part: the start of the execution if there is none.
    pub(super) from: Option<Position>,
    /// Only the last event is known.
    pub(super) is_partial: bool,
}

impl Found {
    pub(super) fn of(events: Vec<RecordedStop>, from: Position) -> Found {
        Found { events, from: Some(from), is_partial: false }
    }
}

/// How a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    Runs,
    Interrupted,
    /// The program did not do again what it did before.
    Lost,
}

/// What a search backwards found before a position. The next search takes further events from it.
#[derive(Debug)]
pub(super) struct Scan {
    requests: StopRequests,
    /// The position that the next search begins at.
    here: Position,
    /// All events in this range, the last one last.
    pub(super) events: Vec<RecordedStop>,
    /// The beginning of the range: the start of the execution if there is none.
    pub(super) from: Option<Position>,
    /// Only the last event of the range is known.
    pub(super) is_partial: bool,
}

impl Scan {
    pub(super) fn new(requests: &StopRequests, here: &Position, found: Found) -> Scan {
        let Found { events, from, is_partial } = found;
        Scan { requests: requests.clone(), here: here.clone(), events, from, is_partial }
    }

    /// Whether the events are those before a position, with these requests.
    pub(super) fn is_of(&self, requests: &StopRequests, here: &Position) -> bool {
        self.requests.breakpoints == requests.breakpoints
            && self.requests.watches == requests.watches
            && self.here == *here
    }

    /// The position is now this one: there is no event between it and the last of the events.
    pub(super) fn move_to(&mut self, here: &Position) {
        self.here = here.clone();
    }

    /// Whether one instruction back from the present position, at a position before instruction
    /// `next`, the last of the events is still behind. Watched memory was not accessed.
    pub(super) fn is_left_by_step(
        &self,
        requests: &StopRequests,
        from: &Position,
        to: &Position,
        next: u64,
    ) -> bool {
        self.here == *from
            && self.requests.watches == requests.watches
            && from.step == to.step
            && !self.requests.breakpoints.contains_key(&next)
    }
}
