//! The last events before a position.
//!
//! A run that records events stops at each of them, which takes more than a hundred microseconds. So
//! a run records a limited number. If there are more, a later part of the range is searched: the
//! last steps, then the last passes of an instruction within a step, which the process counts at
//! full speed. Nothing is assumed about the instructions that cause the events: a part whose events
//! are returned was run from its first to its last instruction with all requests active.

use super::checkpoint::Checkpoint;
use super::parts::{ENDS, MOST, PartEnd, WIDER};
use super::position::{Position, Segment, StepPoint, Until};
use super::recorded::{Course, Found, Recorded, Scan};
use super::{Execution, OnHit, Reason, RecordedStop, Stop};
use crate::Error;
use std::ops::Range;

/// A part is extended backwards until it has this many events, for the next searches.
const FEW: usize = 16;

/// The result of a search backwards.
#[derive(Debug)]
pub(super) enum Searched {
    Event(Box<RecordedStop>),
    Nothing,
    Interrupted,
}

impl Execution {
    /// The last event before a position; the position itself does not count.
    pub(super) fn event_before(&mut self, here: &Position) -> Result<Searched, Error> {
        let known = self.scan.take().filter(|scan| scan.is_of(&self.armed, here));
        let mut scan = match known {
            Some(scan) => scan,
            None => match self.scan_before(here, false, FEW)? {
                Some(found) => Scan::new(&self.armed, here, found),
                None => return Ok(Searched::Interrupted),
            },
        };
        while scan.events.is_empty()
            && let Some(from) = scan.from.take()
        {
            match self.scan_before(&from, true, FEW)? {
                Some(found) => scan = Scan::new(&self.armed, here, found),
                None => return Ok(Searched::Interrupted),
            }
        }
        let event = scan.events.pop();
        self.scan = Some(scan).filter(|scan| !scan.is_partial);
        Ok(event.map_or(Searched::Nothing, |event| Searched::Event(Box::new(event))))
    }

    /// The last events before a position, about as many as `wanted` or all. `arriving` says that an
    /// event on arrival at the position counts. None if the user interrupts.
    pub(super) fn scan_before(
        &mut self,
        here: &Position,
        arriving: bool,
        wanted: usize,
    ) -> Result<Option<Found>, Error> {
        (self.course, self.wanted) = (Course::Runs, wanted);
        let mut found = self.all_before(here, arriving, Some(MOST.max(wanted)))?;
        if found.is_none() && self.course == Course::Runs {
            found = Some(self.divide(here, arriving)?);
        }
        if self.course == Course::Lost {
            // A part of the way could not be repeated: the whole way is run again.
            self.course = Course::Runs;
            found = self.all_before(here, arriving, None)?;
        }
        self.recorded_events = Recorded::default();
        Ok(found.filter(|_| self.course == Course::Runs))
    }

    /// The events of the whole execution before a position. None if they are more than `most`.
    /// Without a limit only the last one is recorded.
    fn all_before(
        &mut self,
        here: &Position,
        arriving: bool,
        most: Option<usize>,
    ) -> Result<Option<Found>, Error> {
        self.rewind()?;
        self.recorded_events = Recorded::with_limit(most);
        let stop = self.follow(here, OnHit::Record)?;
        if stop.reason == Reason::Interrupted || self.interrupt.take() {
            self.course = Course::Interrupted;
        }
        if stop.reason == Reason::Enough || self.course == Course::Interrupted {
            return Ok(None);
        }
        if arriving && stop.reason == Reason::Done {
            self.note_arrival(here)?;
        }
        let events = self.recorded_events.take();
        let is_partial = most.is_none() && !events.is_empty();
        Ok(Some(Found { events, from: None, is_partial }))
    }

    /// Records a breakpoint at the end of a part.
    pub(super) fn note_arrival(&mut self, at: &Position) -> Result<(), Error> {
        let StepPoint::Inside(segments) = &at.place else { return Ok(()) };
        let counted = segments
            .last()
            .is_some_and(|last| last.then == 0 && matches!(last.until, Until::At(_)));
        self.at = at.clone();
        self.note_stepped(!counted)
    }

    /// The last events before a position, of more than a run records: from the parts of the way to
    /// it in its step, then from the steps before.
    fn divide(&mut self, here: &Position, arriving: bool) -> Result<Found, Error> {
        let last_step = self.trace.execution.steps.len() as u64;
        let end = match &here.place {
            StepPoint::Chosen => here.step,
            StepPoint::End => last_step + 1,
            StepPoint::Inside(segments) => {
                for (index, segment) in segments.iter().enumerate().rev() {
                    let counts = arriving || index + 1 < segments.len();
                    let start = match index {
                        0 => Position::chosen(here.step),
                        _ => Position::inside(here.step, segments[..index].to_vec()),
                    };
                    let found = self.in_segment(&start, segment, counts)?;
                    if self.is_over() || !found.events.is_empty() {
                        return Ok(found);
                    }
                }
                here.step
            }
        };
        self.in_steps(end)
    }

    /// The last events in one segment of a position.
    fn in_segment(
        &mut self,
        start: &Position,
        segment: &Segment,
        arriving: bool,
    ) -> Result<Found, Error> {
        let mut reached = start.clone();
        reached.reached(segment.until, segment.times);
        if segment.then > 0 {
            let mut end = reached.clone();
            if let StepPoint::Inside(segments) = &mut end.place
                && let Some(last) = segments.last_mut()
            {
                last.then = segment.then;
            }
            let found = self.in_single_steps(&reached, &end, arriving)?;
            if self.is_over() || !found.events.is_empty() {
                return Ok(found);
            }
        }
        let arriving = arriving || segment.then > 0;
        if let Until::At(tick) = segment.until {
            let mut base = self.checkpoint_at(start)?;
            return self.in_passes(&mut base, tick, segment.times, arriving, 0);
        }
        let mut found = Found::of(Vec::new(), start.clone());
        for times in (0..segment.times).rev() {
            let mut from = start.clone();
            if times > 0 {
                from.reached(segment.until, times);
            }
            let mut base = self.checkpoint_at(&from)?;
            let counts = arriving || times + 1 < segment.times;
            let end = PartEnd::Event(segment.until, 1);
            found = self.in_part(&mut base, end, counts, 0)?;
            if self.is_over() || !found.events.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// The events of the single steps at the end of a position.
    fn in_single_steps(
        &mut self,
        from: &Position,
        to: &Position,
        arriving: bool,
    ) -> Result<Found, Error> {
        let mut base = self.checkpoint_at(from)?;
        let mut most = Some(MOST);
        loop {
            self.go_back_to(&mut base)?;
            self.record_from_here(most);
            let stop = self.follow(to, OnHit::Record)?;
            if stop.reason == Reason::Enough && most.take().is_some() {
                continue;
            }
            self.note_end(stop, &[Reason::Done]);
            if arriving {
                self.note_arrival(to)?;
            }
            let is_partial = most.is_none();
            let events = self.recorded_events.take();
            return Ok(Found { events, from: Some(from.clone()), is_partial });
        }
    }

    /// The last events of the steps before one.
    fn in_steps(&mut self, end: u64) -> Result<Found, Error> {
        let mut widths: Vec<u64> =
            std::iter::successors(Some(1), |width: &u64| width.checked_mul(WIDER))
                .take_while(|&width| width < end)
                .collect();
        let mut ladder = Vec::new();
        self.rewind()?;
        ladder.push(self.checkpoint_here()?);
        while let Some(width) = widths.pop() {
            let stop = self.follow(&Position::chosen(end - width), OnHit::Nothing)?;
            self.note_end(stop, &[Reason::Done]);
            if self.is_over() {
                break;
            }
            ladder.push(self.checkpoint_here()?);
        }
        let (mut events, mut end) = (Vec::new(), end);
        while let Some(mut base) = ladder.pop() {
            if self.is_over() {
                break;
            }
            let start = base.position.step;
            let (mut found, is_full) = self.record_steps(&mut base, start..end)?;
            if is_full && events.is_empty() {
                return self.in_full_steps(&mut base, end);
            }
            if is_full {
                break;
            }
            found.append(&mut events);
            (events, end) = (found, start);
            if events.len() >= self.wanted {
                break;
            }
        }
        let from = (end > 0).then(|| Position::chosen(end));
        Ok(Found { events, from, is_partial: false })
    }

    /// The last events of steps that have more than a run records.
    fn in_full_steps(&mut self, base: &mut Checkpoint, end: u64) -> Result<Found, Error> {
        let (mut low, mut high) = (base.position.step, end);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let (found, is_full) = self.record_steps(base, middle..high)?;
            match (is_full, found.is_empty()) {
                _ if self.is_over() => return Ok(Found::of(Vec::new(), base.position.clone())),
                (true, _) => low = middle,
                (false, true) => high = middle,
                (false, false) => return Ok(Found::of(found, Position::chosen(middle))),
            }
        }
        let mut base = self.checkpoint_at(&Position::chosen(low))?;
        self.in_part(&mut base, PartEnd::NextStep, true, 0)
    }

    /// The events of some steps, and whether there are more than a run records.
    fn record_steps(
        &mut self,
        base: &mut Checkpoint,
        steps: Range<u64>,
    ) -> Result<(Vec<RecordedStop>, bool), Error> {
        self.go_back_to(base)?;
        let stop = self.follow(&Position::chosen(steps.start), OnHit::Nothing)?;
        self.note_end(stop, &[Reason::Done]);
        if self.is_over() {
            return Ok((Vec::new(), false));
        }
        self.record_from_here(Some(MOST));
        let last_step = self.trace.execution.steps.len() as u64;
        let stop = match steps.end {
            end if end > last_step => self.follow(&Position::end(last_step), OnHit::Record)?,
            end => self.follow(&Position::chosen(end), OnHit::Record)?,
        };
        self.note_end(stop, if steps.end > last_step { &ENDS } else { &[Reason::Done] });
        Ok((self.recorded_events.take(), stop.reason == Reason::Enough))
    }

    /// Goes to where a part begins.
    pub(super) fn go_back_to(&mut self, base: &mut Checkpoint) -> Result<(), Error> {
        if !self.return_to(base)? && self.course == Course::Runs {
            self.course = Course::Lost;
        }
        Ok(())
    }

    /// A run ended; the search is over unless that was expected.
    pub(super) fn note_end(&mut self, stop: Stop, expected: &[Reason]) {
        let is_expected = stop.reason == Reason::Enough
            || expected.contains(&stop.reason)
            || matches!(stop.reason, Reason::Gone(_)) && expected.contains(&Reason::End);
        if stop.reason == Reason::Interrupted {
            self.course = Course::Interrupted;
        } else if !is_expected && self.course == Course::Runs {
            self.course = Course::Lost;
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.course != Course::Runs
    }

    /// From here on events are recorded, and counted from here.
    pub(super) fn record_from_here(&mut self, most: Option<usize>) {
        self.recorded_events = Recorded::with_limit(most);
        self.counts.clear();
        self.touches.clear();
        self.origin = Some(self.at.clone());
    }

    pub(super) fn checkpoint_here(&mut self) -> Result<Checkpoint, Error> {
        let outside = self.live.outside();
        Ok(Checkpoint { machine: self.live.copy()?, position: self.at.clone(), outside })
    }

    fn checkpoint_at(&mut self, position: &Position) -> Result<Checkpoint, Error> {
        let stop = self.go_to(position)?;
        self.note_end(stop, &[Reason::Done]);
        self.checkpoint_here()
    }
}
