//! Goes to a position: from the nearest checkpoint before it, along the segments of the position.

use super::checkpoint::Checkpoint;
use super::position::{Position, Segment, StepPoint, Until};
use super::recorded::Recorded;
use super::run::counted;
use super::{Execution, INTERRUPT_INTERVAL, OnHit, Reason, RecordedStop, RunGoal, Stop};
use crate::Error;
use crate::debug::process::machine::{Machine, ProcessState};
use crate::debug::process::tasks::RuntimeExit;

/// The number of checkpoints, in addition to the start.
const CHECKPOINTS: usize = 12;
/// A checkpoint is made on the way if more single steps than this are needed.
const LONG_STEPPING: u64 = 64;
/// The checkpoint's distance from the destination, in instructions.
pub(super) const CHECKPOINT_DISTANCE: u64 = 48;

impl Execution {
    /// Goes to a position.
    pub(crate) fn go_to(&mut self, position: &Position) -> Result<Stop, Error> {
        self.start_from(position)?;
        self.follow(position, OnHit::Nothing)
    }

    /// Replaces the running process by a copy of the nearest checkpoint.
    fn start_from(&mut self, position: &Position) -> Result<(), Error> {
        self.outside = self.outside.max(self.live.outside());
        let outside = self.outside;
        let fits = |checkpoint: &&mut Checkpoint| {
            checkpoint.outside == outside && leads_to(&checkpoint.position, position)
        };
        let best = self.checkpoints.iter_mut().filter(fits).max_by_key(|checkpoint| {
            let then = checkpoint.position.split().1;
            let segments = match &checkpoint.position.place {
                StepPoint::Inside(segments) => segments.len(),
                _ => 0,
            };
            (checkpoint.position.step, segments, then)
        });
        let (machine, at) = match best {
            Some(checkpoint) => (checkpoint.machine.copy()?, checkpoint.position.clone()),
            None => (self.copy_of_start()?, Position::chosen(0)),
        };
        self.replace(machine, at);
        Ok(())
    }

    /// A process at the start, which finds the files that the first one found.
    fn copy_of_start(&mut self) -> Result<Machine, Error> {
        if let Some(files) = &mut self.files {
            files.restore()?;
        }
        self.beginning.copy()
    }

    /// Goes back to the start, for a run that records all events.
    pub(crate) fn rewind(&mut self) -> Result<(), Error> {
        let machine = self.copy_of_start()?;
        self.replace(machine, Position::chosen(0));
        self.recorded_events = Recorded::default();
        Ok(())
    }

    /// Goes back to a checkpoint that a search keeps. If a copy of the process read or wrote through
    /// a descriptor since, the way there is run again. Returns whether it arrived.
    pub(super) fn return_to(&mut self, checkpoint: &mut Checkpoint) -> Result<bool, Error> {
        self.outside = self.outside.max(self.live.outside());
        if checkpoint.outside != self.outside {
            let position = checkpoint.position.clone();
            return Ok(self.go_to(&position)?.reason == Reason::Done);
        }
        let machine = checkpoint.machine.copy()?;
        self.replace(machine, checkpoint.position.clone());
        Ok(true)
    }

    fn replace(&mut self, machine: Machine, at: Position) {
        self.interrupt.follow(machine.tracee().handle());
        self.live = machine;
        self.at = at;
        self.threads = None;
        self.call = None;
        self.also.clear();
        self.shown_at_creator = None;
        self.counts.clear();
        self.touches.clear();
        self.origin = None;
        self.serving = None;
    }

    /// Runs from an earlier position to a position.
    pub(crate) fn follow(&mut self, position: &Position, notice: OnHit) -> Result<Stop, Error> {
        if position.step > self.at.step {
            let stop = self.run(RunGoal::Chosen(position.step), notice)?;
            if stop.reason != Reason::Done {
                return Ok(stop);
            }
        }
        let segments = match &position.place {
            StepPoint::Chosen => return Ok(self.stop(Reason::Done)),
            StepPoint::End => loop {
                let stop = self.run(RunGoal::None, notice)?;
                if matches!(
                    stop.reason,
                    Reason::End | Reason::Gone(_) | Reason::Enough | Reason::Interrupted
                ) {
                    return Ok(stop);
                }
            },
            StepPoint::Inside(segments) => segments,
        };
        let done = match &self.at.place {
            StepPoint::Inside(done) => done.len(),
            _ => 0,
        };
        // The last segment of a checkpoint may be partly done.
        for (index, segment) in segments.iter().enumerate().skip(done.saturating_sub(1)) {
            let last = index + 1 == segments.len();
            let begun = match &self.at.place {
                StepPoint::Inside(here) if index + 1 == done => here
                    .last()
                    .filter(|here| (here.until, here.times) == (segment.until, segment.times)),
                _ => None,
            };
            let mut then = begun.map_or(0, |begun| begun.then);
            if begun.is_none() {
                let stop = self.first_part(segment, notice)?;
                if stop.reason != Reason::Done {
                    return Ok(stop);
                }
                if notice == OnHit::Record && !(last && then == segment.then) {
                    // The run to this instruction has counted it already.
                    let is_new = !matches!(segment.until, Until::At(_));
                    self.note_stepped(is_new)?;
                }
            }
            let far = segment.then.saturating_sub(then) > LONG_STEPPING;
            while then < segment.then {
                if far && segment.then - then == CHECKPOINT_DISTANCE && notice == OnHit::Nothing {
                    self.leave_checkpoint()?;
                }
                let task = self.live.current();
                let recording = notice == OnHit::Record;
                let stop = match recording {
                    true => self.step_one(task, OnHit::Record)?,
                    false => self.step_one(task, OnHit::Nothing)?,
                };
                match stop.reason {
                    Reason::Done => {}
                    Reason::Touched(_) if recording => self.record_touched(&stop),
                    _ => return Ok(stop),
                }
                then += 1;
                if then.is_multiple_of(INTERRUPT_INTERVAL) && self.interrupt.is_wanted() {
                    return Ok(self.stop(Reason::Interrupted));
                }
                if notice == OnHit::Record && !(last && then == segment.then) {
                    self.note_stepped(true)?;
                }
                if notice == OnHit::Record && self.recorded_events.is_full() {
                    return Ok(self.stop(Reason::Enough));
                }
            }
        }
        // A position entered by the user may not exist in this step.
        if self.live.step() == position.step {
            self.at = position.clone();
        }
        Ok(self.stop(Reason::Done))
    }

    /// Records a breakpoint that is reached by single steps or at the end of a segment.
    pub(super) fn note_stepped(&mut self, is_new: bool) -> Result<(), Error> {
        let rip = self.live.tracee().registers()?.rip;
        if is_new && self.armed.breakpoints.contains_key(&rip) {
            counted(&mut self.counts, rip, self.live.step());
        }
        if self.armed.breakpoints.contains_key(&rip) && self.holds(rip) {
            let task = self.live.current();
            let position = self.at.clone();
            self.recorded_events.add(RecordedStop::new(position, task, Reason::Breakpoint));
        }
        Ok(())
    }

    pub(super) fn first_part(&mut self, segment: &Segment, notice: OnHit) -> Result<Stop, Error> {
        let (step, before) = (self.at.step, self.at.clone());
        let goal = match segment.until {
            Until::Entry => {
                let task = self.live.current();
                let runtime_exit = match self.live.state() {
                    ProcessState::Begin => Some(RuntimeExit { address: self.main, rsp: 0 }),
                    _ => self.thread(task)?.and_then(|thread| thread.runtime_exit),
                };
                match runtime_exit {
                    Some(runtime_exit) => RunGoal::Out(task, runtime_exit),
                    None => return Ok(self.stop(Reason::End)),
                }
            }
            until => RunGoal::Times(until, segment.times),
        };
        let mut stop = self.run(goal, notice)?;
        let mut touched = None;
        if notice == OnHit::Record && matches!(stop.reason, Reason::Touched(_)) {
            touched = Some(stop);
            stop.reason = Reason::Done;
        }
        if let (Until::Touched(_), Reason::Done) = (segment.until, stop.reason)
            && self.live.is_runtime(self.live.tracee().registers()?.rip)
        {
            // The position is where the runtime returns to the program.
            stop = self.run_out_of_runtime(self.live.current(), OnHit::Nothing)?;
        }
        if stop.reason == Reason::Done {
            self.at = before;
            self.at.step = step;
            match (&mut self.at.place, segment.until) {
                (StepPoint::Inside(segments), _) => {
                    segments.push(Segment::new(segment.until, segment.times))
                }
                (place, _) => {
                    *place = StepPoint::Inside(vec![Segment::new(segment.until, segment.times)])
                }
            }
        }
        if let Some(touched) = touched {
            self.record_touched(&touched);
        }
        Ok(stop)
    }

    /// Makes a checkpoint of the running process.
    pub(crate) fn leave_checkpoint(&mut self) -> Result<(), Error> {
        if self.checkpoints.iter().any(|checkpoint| checkpoint.position == self.at) {
            return Ok(());
        }
        let outside = self.live.outside();
        let machine = self.live.copy()?;
        if self.checkpoints.len() >= CHECKPOINTS {
            self.checkpoints.remove(0);
        }
        self.checkpoints.push(Checkpoint { machine, position: self.at.clone(), outside });
        Ok(())
    }

    /// A copy of the running process, to return to.
    pub(crate) fn copy_current(&mut self) -> Result<Machine, Error> {
        self.live.copy()
    }

    /// Replaces the running process by a copy; returns the original.
    pub(crate) fn divert(&mut self) -> Result<(Machine, Position), Error> {
        let copy = self.live.copy()?;
        let at = self.at.clone();
        let (counts, touches) = (self.counts.clone(), self.touches.clone());
        self.interrupt.follow(copy.tracee().handle());
        let original = std::mem::replace(&mut self.live, copy);
        (self.counts, self.touches) = (counts, touches);
        self.threads = None;
        Ok((original, at))
    }

    /// Restores the process that [`Execution::divert`] returned.
    pub(crate) fn rejoin(&mut self, original: Machine, at: Position) {
        self.replace(original, at);
    }
}

/// Whether a checkpoint lies on the way to a position.
fn leads_to(checkpoint: &Position, position: &Position) -> bool {
    if checkpoint.step != position.step {
        // Breakpoints within the step may not have been counted.
        return checkpoint.step < position.step;
    }
    match (&checkpoint.place, &position.place) {
        (StepPoint::Chosen, _) => true,
        (StepPoint::Inside(_), StepPoint::End) => true,
        (StepPoint::Inside(from), StepPoint::Inside(to)) => {
            let Some((last, before)) = from.split_last() else { return true };
            let Some(same) = to.get(before.len()) else { return false };
            to.starts_with(before)
                && (last.until, last.times) == (same.until, same.times)
                && (last.then <= same.then)
                && (last.then == same.then || to.len() == from.len())
        }
        _ => false,
    }
}
