//! The last events of a part of one step: of the last passes of an instruction, which the process
//! counts at full speed.

use super::checkpoint::Checkpoint;
use super::position::{Position, Segment, Until};
use super::recorded::Found;
use super::{Execution, OnHit, Reason, RecordedStop, RunGoal};
use crate::Error;
use std::collections::BTreeSet;
use std::ops::Range;

/// The number of events that a run records.
pub(super) const MOST: usize = 64;
/// Each part is this many times as long as the one behind it.
pub(super) const WIDER: u64 = 4;
/// How a run ends that nothing else ends.
pub(super) const ENDS: [Reason; 2] = [Reason::Done, Reason::End];
/// How often a part is divided by the passes of yet another instruction.
const DEPTH: u32 = 8;
/// The number of instructions that are examined for one that can be counted, and the number of
/// those that are tried.
const LOOK: usize = 256;
const TRIES: usize = 4;

/// The end of a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum PartEnd {
    /// An event occurs this often.
    Event(Until, u64),
    /// The next step is chosen, or the execution ends.
    NextStep,
}

impl Execution {
    /// The last events of a part of one step.
    pub(super) fn in_part(
        &mut self,
        base: &mut Checkpoint,
        end: PartEnd,
        arriving: bool,
        depth: u32,
    ) -> Result<Found, Error> {
        self.go_back_to(base)?;
        self.record_from_here(Some(MOST));
        let (events, is_full) = self.record_part(end, arriving)?;
        if !is_full || self.is_over() {
            return Ok(Found::of(events, base.position.clone()));
        }
        let tick = if depth < DEPTH { self.tick_in(base, end)? } else { None };
        let Some((tick, passes)) = tick else {
            self.go_back_to(base)?;
            self.record_from_here(None);
            let (events, _) = self.record_part(end, arriving)?;
            let from = Some(base.position.clone());
            return Ok(Found { events, from, is_partial: true });
        };
        let mut behind = self.checkpoint_at_pass(base, tick, passes)?;
        let found = self.in_part(&mut behind, end, arriving, depth + 1)?;
        if self.is_over() || !found.events.is_empty() {
            return Ok(found);
        }
        self.in_passes(base, tick, passes, true, depth)
    }

    /// The last events up to the `passes`-th pass of an instruction.
    pub(super) fn in_passes(
        &mut self,
        base: &mut Checkpoint,
        tick: u64,
        passes: u64,
        arriving: bool,
        depth: u32,
    ) -> Result<Found, Error> {
        let (mut events, mut from, mut width) = (Vec::new(), passes, 1);
        let mut wider = WIDER;
        let (mut low, mut high) = loop {
            if from == 0 || events.len() >= self.wanted || self.is_over() {
                return Ok(Found::of(events, pass_of(base, tick, from)));
            }
            let start = from.saturating_sub(width);
            let counts = arriving || from < passes;
            let (mut found, is_full) = self.record_passes(base, tick, start..from, counts)?;
            if is_full && events.is_empty() {
                break (start, from);
            }
            if is_full && width == 1 {
                return Ok(Found::of(events, pass_of(base, tick, from)));
            }
            if is_full {
                (width, wider) = (width / WIDER, 1);
                continue;
            }
            found.append(&mut events);
            (events, from, width) = (found, start, width * wider);
        };
        while high - low > 1 && !self.is_over() {
            let middle = low + (high - low) / 2;
            let counts = arriving || high < passes;
            let (found, is_full) = self.record_passes(base, tick, middle..high, counts)?;
            match (is_full, found.is_empty()) {
                (true, _) => low = middle,
                (false, true) => high = middle,
                (false, false) => return Ok(Found::of(found, pass_of(base, tick, middle))),
            }
        }
        let counts = arriving || high < passes;
        let mut base = self.checkpoint_at_pass(base, tick, low)?;
        self.in_part(&mut base, PartEnd::Event(Until::At(tick), 1), counts, depth + 1)
    }

    /// The events behind one pass of an instruction up to another one, and whether there are more
    /// than a run records.
    fn record_passes(
        &mut self,
        base: &mut Checkpoint,
        tick: u64,
        passes: Range<u64>,
        arriving: bool,
    ) -> Result<(Vec<RecordedStop>, bool), Error> {
        self.go_to_pass(base, tick, passes.start)?;
        if self.is_over() {
            return Ok((Vec::new(), false));
        }
        self.record_from_here(Some(MOST));
        self.record_part(PartEnd::Event(Until::At(tick), passes.end - passes.start), arriving)
    }

    /// Runs to the end of a part; returns its events, and whether there are more than a run records.
    fn record_part(
        &mut self,
        end: PartEnd,
        arriving: bool,
    ) -> Result<(Vec<RecordedStop>, bool), Error> {
        let from = self.at.clone();
        let stop = match end {
            PartEnd::Event(until, times) => {
                self.first_part(&Segment::new(until, times), OnHit::Record)?
            }
            PartEnd::NextStep => self.run(RunGoal::Chosen(from.step + 1), OnHit::Record)?,
        };
        self.note_end(
            stop,
            match end {
                PartEnd::NextStep => &ENDS,
                PartEnd::Event(..) => &[Reason::Done],
            },
        );
        if let PartEnd::Event(until, times) = end
            && arriving
            && stop.reason == Reason::Done
        {
            let mut there = from;
            there.reached(until, times);
            self.note_arrival(&there)?;
        }
        Ok((self.recorded_events.take(), stop.reason == Reason::Enough))
    }

    /// An instruction that the process passes often on the way from `base` to the end of a part, and
    /// how often. The process is at one of the events.
    fn tick_in(
        &mut self,
        base: &mut Checkpoint,
        end: PartEnd,
    ) -> Result<Option<(u64, u64)>, Error> {
        let step = base.position.step;
        let until = match end {
            PartEnd::Event(until, _) => Some(until),
            PartEnd::NextStep => None,
        };
        let mut others: BTreeSet<u64> = self.armed.breakpoints.keys().copied().collect();
        if let Some(Until::At(at) | Until::AtState(at, _)) = until {
            others.insert(at);
        }
        let task = self.live.current();
        let mut turn = Vec::new();
        self.limit = Some(step + 1);
        while turn.len() < LOOK {
            let Some(rip) = self.at_rip() else { break };
            if turn.first() == Some(&rip) {
                break;
            }
            if !self.live.is_runtime(rip) {
                turn.push(rip);
            }
            if self.step_one(task, OnHit::Nothing)?.reason != Reason::Done {
                break;
            }
        }
        self.limit = None;
        self.live.clear();
        let is_end =
            |at: u64| matches!(until, Some(Until::At(end) | Until::AtState(end, _)) if end == at);
        let able = turn.into_iter().filter(|&at| {
            !is_end(at) && self.live.can_count(at, &others, self.is_never_jumped_into(at))
        });
        for tick in able.take(TRIES).collect::<Vec<_>>() {
            self.go_back_to(base)?;
            self.limit = Some(step + 1);
            let stop = self.run(RunGoal::Before(until, tick, u64::MAX), OnHit::Nothing);
            self.limit = None;
            self.note_end(stop?, &ENDS);
            if self.is_over() {
                break;
            }
            if self.hits > 1 {
                return Ok(Some((tick, self.hits)));
            }
        }
        Ok(None)
    }

    /// Goes to a pass of an instruction, from `base` on.
    fn go_to_pass(&mut self, base: &mut Checkpoint, tick: u64, pass: u64) -> Result<(), Error> {
        self.go_back_to(base)?;
        if pass > 0 {
            let stop = self.run(RunGoal::Times(Until::At(tick), pass), OnHit::Nothing)?;
            self.note_end(stop, &[Reason::Done]);
            self.at = pass_of(base, tick, pass);
        }
        Ok(())
    }

    fn checkpoint_at_pass(
        &mut self,
        base: &mut Checkpoint,
        tick: u64,
        pass: u64,
    ) -> Result<Checkpoint, Error> {
        self.go_to_pass(base, tick, pass)?;
        self.checkpoint_here()
    }
}

/// The position at a pass of an instruction, counted from `base`.
fn pass_of(base: &Checkpoint, tick: u64, pass: u64) -> Position {
    let mut position = base.position.clone();
    if pass > 0 {
        position.reached(Until::At(tick), pass);
    }
    position
}
