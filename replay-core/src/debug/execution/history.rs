//! The writes to some memory in an execution.

use super::memory_write::Written;
use super::position::{Position, StepPoint, Watch};
use super::recorded::{Found, Recorded};
use super::{Execution, OnHit, Reason, RecordedStop, StopRequests};
use crate::Error;

/// Writes to some memory, in order.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The contents of each watched part before the first of the writes.
    pub(crate) before: Vec<u64>,
    pub(crate) writes: Vec<Written>,
    /// How many of them come before the position at which the history was asked for.
    pub(crate) passed: usize,
    /// There are earlier writes, and later ones.
    pub(crate) has_earlier: bool,
    pub(crate) has_later: bool,
    /// The user interrupted the run: later writes are missing.
    pub(crate) cut: bool,
}

/// The last writes before a position.
pub(super) struct LastWrites {
    /// The contents of each watched part before the first of the writes.
    pub(super) before: Vec<u64>,
    pub(super) writes: Vec<Written>,
    /// The contents at the position, if possible in the process whose writes these are: each has its
    /// own process id.
    pub(super) after: Vec<u64>,
    /// There are earlier writes.
    pub(super) has_earlier: bool,
}

impl Execution {
    /// All writes of the execution, which is run once and stops at each, up to `most` before the
    /// position and as many after it: `has_later` says that there are more. The position stays as it
    /// is.
    pub(crate) fn writes_to(&mut self, watches: &[Watch], most: usize) -> Result<History, Error> {
        self.apart(watches, |execution, here| {
            execution.rewind()?;
            let before = execution.all_contents(watches);
            execution.recorded_events = Recorded::with_limit(Some(most));
            // First to the position, then on to the end: what is recorded there comes after it.
            let mut stop = execution.follow(here, OnHit::Record)?;
            let mut events = execution.recorded_events.take();
            let passed = events.len();
            let is_over =
                matches!(stop.reason, Reason::End | Reason::Gone(_) | Reason::Interrupted);
            if !is_over && stop.reason != Reason::Enough {
                let last = execution.trace.execution.steps.len() as u64;
                stop = execution.follow(&Position::end(last), OnHit::Record)?;
            }
            events.append(&mut execution.recorded_events.take());
            let cut = execution.interrupt.take() || stop.reason == Reason::Interrupted;
            let (writes, has_later) = (writes_of(events), stop.reason == Reason::Enough);
            Ok(History { before, writes, passed, has_later, cut, ..History::default() })
        })
    }

    /// The writes nearest to the position: up to `most` before it, and as many after it, or somewhat
    /// more. The position stays as it is.
    pub(crate) fn nearest_writes(
        &mut self,
        watches: &[Watch],
        most: usize,
    ) -> Result<History, Error> {
        self.apart(watches, |execution, here| {
            let Some(last) = execution.last_writes(here, most)? else {
                return Ok(History { cut: true, ..History::default() });
            };
            let passed = last.writes.len();
            let mut history = History {
                before: last.before,
                writes: last.writes,
                passed,
                has_earlier: last.has_earlier,
                ..History::default()
            };
            let stop = execution.go_to(here)?;
            if here.place == StepPoint::End || stop.reason != Reason::Done {
                return Ok(history);
            }
            execution.record_from_here(Some(most));
            let end = Position::end(execution.trace.execution.steps.len() as u64);
            let stop = execution.follow(&end, OnHit::Record)?;
            history.has_later = stop.reason == Reason::Enough;
            history.cut = execution.interrupt.take() || stop.reason == Reason::Interrupted;
            history.writes.append(&mut writes_of(execution.recorded_events.take()));
            Ok(history)
        })
    }

    /// Runs a query in a copy of the process, with nothing but this memory watched.
    fn apart<R>(
        &mut self,
        watches: &[Watch],
        query: impl FnOnce(&mut Execution, &Position) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let here = self.at.clone();
        let (original, at) = self.divert()?;
        let requests = StopRequests { watches: watches.to_vec(), ..StopRequests::default() };
        let armed = std::mem::replace(&mut self.armed, requests);
        self.collects = true;
        let result = query(self, &here);
        self.collects = false;
        self.recorded_events = Recorded::default();
        self.armed = armed;
        self.rejoin(original, at);
        result
    }

    /// At least this many of the last writes to the watched memory before a position, unless there
    /// are fewer. None if the user interrupts.
    pub(super) fn last_writes(
        &mut self,
        here: &Position,
        wanted: usize,
    ) -> Result<Option<LastWrites>, Error> {
        let (mut writes, mut from): (Vec<Written>, _) = (Vec::new(), here.clone());
        let watches = self.armed.watches.clone();
        let mut after = None;
        loop {
            let Some(found) = self.scan_before(&from, from != *here, wanted)? else {
                return Ok(None);
            };
            let Found { events, from: beginning, is_partial } = found;
            if beginning.is_none() && from == *here {
                after = Some(self.all_contents(&watches));
            }
            let mut earlier = writes_of(events);
            earlier.append(&mut writes);
            writes = earlier;
            let place = match beginning {
                Some(position) => position,
                None if is_partial => from.clone(),
                None => Position::chosen(0),
            };
            let is_first = place == Position::chosen(0);
            if is_first || is_partial || writes.len() >= wanted {
                let after = match after {
                    Some(after) => after,
                    None => {
                        self.go_to(here)?;
                        self.all_contents(&watches)
                    }
                };
                match is_first {
                    true => self.rewind()?,
                    false => drop(self.go_to(&place)?),
                }
                let before = self.all_contents(&watches);
                return Ok(Some(LastWrites { before, writes, after, has_earlier: !is_first }));
            }
            from = place;
        }
    }

    /// A write that was just recorded: an address in the instruction, and the contents.
    pub(super) fn write_of(&mut self, recorded: &RecordedStop) -> Option<(u64, u64)> {
        let Reason::Touched(watch) = recorded.reason else { return None };
        let rip = self.at_rip()?;
        let value = self.contents(watch);
        let near = match self.live.probe_of_copy(rip) {
            Some(probe) => probe.address,
            None if !self.live.is_runtime(rip) => rip.saturating_sub(1),
            // The runtime writes in place of a call.
            None => {
                let exit = self.thread(recorded.task).ok().flatten();
                exit.and_then(|thread| thread.runtime_exit).map_or(0, |exit| exit.address - 1)
            }
        };
        Some((near, value))
    }

    /// What watched memory contains.
    pub(super) fn contents(&self, watch: Watch) -> u64 {
        let mut bytes = [0; 8];
        self.live.read(watch.address, &mut bytes[..usize::from(watch.len)]);
        u64::from_le_bytes(bytes)
    }

    fn all_contents(&self, watches: &[Watch]) -> Vec<u64> {
        watches.iter().map(|watch| self.contents(*watch)).collect()
    }
}

fn writes_of(events: Vec<RecordedStop>) -> Vec<Written> {
    let write = |event: RecordedStop| {
        let (near, value) = event.write?;
        let Reason::Touched(watch) = event.reason else { return None };
        let RecordedStop { position, task, .. } = event;
        Some(Written { position, task, near, watch, value })
    };
    events.into_iter().filter_map(write).collect()
}
