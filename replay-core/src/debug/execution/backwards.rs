//! Backwards: whatever came last before here. Found by running forwards again.

use super::position::{Leg, Place, Position, Until, Watch};
use super::{Execution, Goal, Notice, Passed, Reason, Stop};
use crate::Error;
use crate::symbols::Memory;
use std::collections::BTreeSet;
use traces::FailureKind::Panic;

/// So many instructions are executed one by one before a checkpoint is left, so that the last of
/// them can be gone back to without all of the others.
const STRIDE: u64 = 512;
/// What raises a panic, or an exception, with the stack as it was.
const RAISE: &str = "_Unwind_RaiseException";
/// A jump back over more than this is no loop.
const FAR_BACK: u64 = 1 << 16;

impl Execution {
    /// Goes to where the task executed its last instruction before here. A debugger that only wants
    /// to be `over` a breakpoint has to see another address afterwards, and is at a loss where it is
    /// told that there is nothing before: gdb 13 waits for ever then. It is shown a task that is about
    /// to begin where it comes from, not at its function's first instruction.
    pub(crate) fn step_back(&mut self, task: u16, over: bool) -> Result<Stop, Error> {
        let here = self.at.clone();
        let (start, then) = here.split();
        let running = matches!(here.place, Place::Inside(_)) && self.live().current() == task;
        if running && then > 0 {
            return self.arrive(&start.with(then - 1), task);
        }
        let found = if running { self.before(&here)? } else { None };
        let found = match found {
            Some(position) => Some(position),
            None => self.last_of(task, here.step, !running)?,
        };
        match found {
            Some(position) => self.arrive(&position, task),
            // Before a task's first instruction is where it is about to begin.
            None if running && here.step > 0 => {
                self.go_to(&Position::chosen(here.step))?;
                self.unborn = over.then_some(task);
                Ok(Stop { task, reason: Reason::Done })
            }
            // What others did before is no step of its.
            None => {
                self.go_to(&here)?;
                Ok(Stop { task, reason: Reason::Begin })
            }
        }
    }

    fn arrive(&mut self, position: &Position, task: u16) -> Result<Stop, Error> {
        let stop = self.go_to(position)?;
        Ok(match stop.reason {
            Reason::Done => Stop { task: self.current(), reason: Reason::Done },
            _ => Stop { task, ..stop },
        })
    }

    /// The instruction before the place at which the last leg of a position ends, if it is in the
    /// same step.
    fn before(&mut self, here: &Position) -> Result<Option<Position>, Error> {
        let Place::Inside(legs) = &here.place else { return Ok(None) };
        let Some((last, earlier)) = legs.split_last() else { return Ok(None) };
        if let Until::Touched(watch) = last.until
            && self.is_touched_on_the_way(here, watch)?
        {
            return Ok(None);
        }
        let start = match (last.until, last.times) {
            (Until::Entry, _) => return Ok(None),
            // From the time before on.
            (until @ (Until::At(_) | Until::Touched(_) | Until::Signal | Until::Call), 2..) => {
                let mut start = Position::inside(here.step, earlier.to_vec());
                start.reached(until, last.times - 1);
                start
            }
            _ if earlier.is_empty() => Position::entry(here.step),
            _ => Position::inside(here.step, earlier.to_vec()),
        };
        if self.go_to(&start)?.reason != Reason::Done {
            return Ok(None);
        }
        if let Until::At(address) = last.until
            && last.times == 1
            && earlier.is_empty()
            && self.live().tracee().registers()?.rip == address
        {
            // The step's first instruction of the program.
            return Ok(None);
        }
        self.approach(here.step, Some(last.until))
    }

    /// From where it stands to the last instruction before something happens: this, or the end of the
    /// step. Calls and loops in which it does not happen are run through, not stepped through.
    fn approach(&mut self, step: u64, until: Option<Until>) -> Result<Option<Position>, Error> {
        let task = self.current();
        let mut stepped = 0u64;
        let mut known: BTreeSet<(u64, u64)> = BTreeSet::new();
        loop {
            if stepped > 0 && stepped.is_multiple_of(STRIDE) {
                self.leave_checkpoint()?;
            }
            let place = self.at.clone();
            let from = self.live().tracee().registers()?;
            let stop = match until {
                Some(until) => self.step_watching(task, until)?,
                None => self.step_within(task, step)?,
            };
            if self.interrupt.take() {
                return Ok(Some(place));
            }
            let gone = self.at.step != step || stop.reason == Reason::End;
            if self.has_happened(until, &stop)?
                || until.is_none() && (gone || stop.reason != Reason::Done)
            {
                return Ok(Some(place));
            }
            if gone || stop.reason != Reason::Done {
                return Ok(None);
            }
            stepped += 1;
            let to = self.live().tracee().registers()?;
            if self.live().is_runtime(to.rip) {
                continue;
            }
            if to.rsp == from.rsp.wrapping_sub(8)
                && let Some(back) = self.live().tracee().word(to.rsp)
                && (from.rip + 2..from.rip + 16).contains(&back)
            {
                // A call.
                self.run_through(step, until, back, from.rsp)?;
            } else if to.rsp == from.rsp
                && to.rip < from.rip
                && from.rip - to.rip < FAR_BACK
                && known.insert((from.rip, to.rip))
            {
                // The end of a loop's body.
                let mut code = [0; 2];
                self.live().tracee().read(from.rip, &mut code);
                let len = match code {
                    [0x70..=0x7f, _] => Some(2),
                    [0x0f, 0x80..=0x8f] => Some(6),
                    _ => None,
                };
                let through = match len {
                    Some(len) => self.run_through(step, until, from.rip + len, from.rsp)?,
                    None => false,
                };
                if !through {
                    self.reach_last_pass(step, until, to.rip)?;
                }
            }
        }
    }

    fn has_happened(&self, until: Option<Until>, stop: &Stop) -> Result<bool, Error> {
        let at = |address| Ok(self.live().tracee().registers()?.rip == address);
        match until {
            None => Ok(false),
            Some(Until::At(address)) => at(address),
            Some(Until::Touched(_)) => Ok(matches!(stop.reason, Reason::Touched(_))),
            Some(Until::Signal) => Ok(!matches!(stop.reason, Reason::Done | Reason::Touched(_))),
            Some(Until::Call) => Ok(matches!(stop.reason, Reason::Call(_))),
            Some(until @ Until::Like(address, _)) => Ok(at(address)? && self.is_like(until)?),
            Some(Until::Entry) => Ok(true),
        }
    }

    /// Runs to where a call or a loop is over, unless what is looked for happens before: then it
    /// stays. Whether it went there.
    fn run_through(
        &mut self,
        step: u64,
        until: Option<Until>,
        to: u64,
        rsp: u64,
    ) -> Result<bool, Error> {
        let kept = self.set_aside()?;
        let before = self.at.clone();
        let (there, hits) = self.run_to(step, until, to, rsp)?;
        if there {
            self.at = before;
            self.at.reached(Until::At(to), hits);
            return Ok(true);
        }
        self.rejoin(kept, before);
        Ok(false)
    }

    /// Runs to the last time that this instruction is passed before what is looked for happens.
    fn reach_last_pass(&mut self, step: u64, until: Option<Until>, head: u64) -> Result<(), Error> {
        let kept = self.set_aside()?;
        let before = self.at.clone();
        // No stack pointer is that.
        let (_, hits) = self.run_to(step, until, head, u64::MAX)?;
        self.rejoin(kept, before.clone());
        if hits > 1 {
            self.run(Goal::Times(Until::At(head), hits - 1), Notice::Nothing)?;
            self.at = before;
            self.at.reached(Until::At(head), hits - 1);
        }
        Ok(())
    }

    /// Runs until an instruction is about to be executed with this stack pointer, or what is looked
    /// for happens: whether it was the first, and how often the instruction was passed.
    fn run_to(
        &mut self,
        step: u64,
        until: Option<Until>,
        to: u64,
        rsp: u64,
    ) -> Result<(bool, u64), Error> {
        self.limit = Some(step + 1);
        let stop = self.run(Goal::Before(until, to, rsp), Notice::Nothing);
        self.limit = None;
        Ok((stop?.reason == Reason::Breakpoint, self.hits))
    }

    fn step_watching(&mut self, task: u16, until: Until) -> Result<Stop, Error> {
        let Until::Touched(watch) = until else {
            self.awaits = Some(until);
            let stop = self.step_one(task, Notice::Nothing);
            self.awaits = None;
            return stop;
        };
        let armed = std::mem::take(&mut self.armed);
        self.armed.watches = vec![watch];
        let stop = self.step_one(task, Notice::Stop);
        self.armed = armed;
        stop
    }

    /// Where a task executed its last instruction before a step: the call that began its step. With
    /// `parked`, the step itself does not count even if it is the task's.
    fn last_of(&mut self, task: u16, step: u64, parked: bool) -> Result<Option<Position>, Error> {
        let of_task: Vec<u64> =
            (0..step).rev().filter(|&step| self.mover(step) == Some(task)).collect();
        let ended = matches!(self.at.place, Place::End);
        let own = (parked && ended && self.mover(step) == Some(task)).then_some(step);
        let steps: Vec<u64> = own.into_iter().chain(of_task).collect();
        for step in steps {
            if let Some(position) = self.last_in(step)? {
                return Ok(Some(position));
            }
            if self.interrupt.take() {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The last instruction of the program that a step executed, if it executed any.
    fn last_in(&mut self, step: u64) -> Result<Option<Position>, Error> {
        let start = Position::entry(step);
        let stop = self.go_to(&start)?;
        if stop.reason != Reason::Done || self.at.step != step {
            return Ok(None);
        }
        self.approach(step, None)
    }

    /// One instruction, but not beyond the step that runs.
    fn step_within(&mut self, task: u16, step: u64) -> Result<Stop, Error> {
        self.limit = Some(step + 1);
        let stop = self.step_one(task, Notice::Nothing);
        self.limit = None;
        stop
    }

    /// Goes to the last place before here that is armed.
    pub(crate) fn resume_back(&mut self) -> Result<Stop, Error> {
        let here = self.at.clone();
        self.rewind()?;
        let stop = self.follow(&here, Notice::Record)?;
        if self.interrupt.take() || stop.reason == Reason::Interrupted {
            self.go_to(&here)?;
            return Ok(Stop { task: self.current(), reason: Reason::Interrupted });
        }
        match self.passed.take() {
            None => {
                self.go_to(&Position::entry(0))?;
                Ok(Stop { task: self.current(), reason: Reason::Begin })
            }
            Some(Passed { position, reason: Reason::Touched(watch), .. })
                if self.is_touched_on_the_way(&position, watch)? =>
            {
                self.go_to(&Position::chosen(position.step))?;
                Ok(Stop { task: self.current(), reason: Reason::Touched(watch) })
            }
            Some(Passed { position, task, reason: Reason::Touched(watch) }) => {
                // Before the instruction that did it.
                let position = match self.before(&position)? {
                    Some(before) => before,
                    None => self.last_of(task, position.step, false)?.unwrap_or(position),
                };
                self.go_to(&position)?;
                Ok(Stop { task: self.current(), reason: Reason::Touched(watch) })
            }
            Some(Passed { position, task, reason }) => {
                self.go_to(&position)?;
                Ok(Stop { task, reason })
            }
        }
    }

    /// Whether memory is touched, as often as a position says, before the step's task comes out of the
    /// runtime: by the operation itself that the step is. What is before it is where it is chosen.
    fn is_touched_on_the_way(&mut self, position: &Position, watch: Watch) -> Result<bool, Error> {
        let Place::Inside(legs) = &position.place else { return Ok(false) };
        let times = match legs.as_slice() {
            [leg] if leg.then == 0 => leg.times,
            _ => return Ok(false),
        };
        self.go_to(&Position::chosen(position.step))?;
        let armed = std::mem::take(&mut self.armed);
        self.armed.watches = vec![watch];
        let came_out = self.first_part(&Leg::new(Until::Entry, 1), Notice::Stop);
        self.armed = armed;
        came_out?;
        let touched = self.touches.get(&watch.address);
        Ok(touched.is_some_and(|&(step, count)| step == position.step && count >= times))
    }

    /// Goes to where a step was chosen.
    pub(crate) fn go_to_step(&mut self, step: u64) -> Result<Stop, Error> {
        self.go_to(&Position::chosen(step))
    }

    /// Goes to the end.
    pub(crate) fn go_to_end(&mut self) -> Result<Stop, Error> {
        let last = self.trace.execution.steps.len() as u64;
        self.go_to(&Position { step: last, place: Place::End })
    }

    /// Goes to where the failure shows: at the instruction that a signal came from, where a panic that
    /// ended the program was raised, else the end.
    pub(crate) fn go_to_failure(&mut self) -> Result<Stop, Error> {
        self.go_to(&Position::entry(0))?;
        let armed = std::mem::take(&mut self.armed);
        let panicked = matches!(&self.trace.failure, Some(failure) if failure.kind == Panic);
        let raises = self.symbols.exported(RAISE).filter(|_| panicked);
        self.armed.breakpoints.extend(raises.map(|at| (at, Vec::new())));
        let mut last = None;
        let stop = loop {
            let stop = self.run(Goal::None, Notice::Stop);
            match &stop {
                // Of what the program sends itself the end tells.
                Ok(Stop { reason: Reason::Signal(_), .. }) if !self.live().is_faulting() => {}
                Ok(Stop { reason: reason @ (Reason::Signal(_) | Reason::Breakpoint), .. }) => {
                    last = Some((self.at.clone(), *reason));
                }
                _ => break stop,
            }
        };
        self.armed = armed;
        let stop = stop?;
        let Some((position, reason)) = last else { return Ok(stop) };
        // What unwinds may take steps.
        if position.step != self.at.step && reason != Reason::Breakpoint {
            return Ok(stop);
        }
        let stop = self.go_to(&position)?;
        let reason = if reason == Reason::Breakpoint { stop.reason } else { reason };
        Ok(Stop { task: self.current(), reason })
    }
}
