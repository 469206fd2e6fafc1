//! Reverse execution: finds the last event before the current position by running forwards again.

use super::last_events::Searched;
use super::position::{Position, Segment, StepPoint, Until, Watch};
use super::recorded::Scan;
use super::{Execution, OnHit, Reason, RecordedStop, RunGoal, Stop};
use crate::Error;
use crate::symbols::Memory;
use std::collections::BTreeSet;
use traces::FailureKind::Panic;

/// The number of single steps after which a checkpoint is made, so that the last of them can be
/// undone without repeating all of them.
const STRIDE: u64 = 512;
/// Called when a panic or an exception is raised, with the stack still intact.
const RAISE: &str = "_Unwind_RaiseException";
/// A longer backward jump is not a loop.
const FAR_BACK: u64 = 1 << 16;

impl Execution {
    /// Goes to the task's last instruction before the current position, and reports it if that
    /// instruction accessed watched memory.
    pub(crate) fn step_back(&mut self, task: u16, over: bool) -> Result<Stop, Error> {
        let scan = self.scan.take();
        let here = self.at.clone();
        let stop = self.go_to_previous(task, over)?;
        let watches = !self.armed.watches.is_empty();
        // A debugger that continues backwards from a breakpoint first leaves it by one instruction.
        let scan = scan.filter(|scan| {
            let next = self.at_rip().unwrap_or_default();
            stop.reason == Reason::Done && scan.is_left_by_step(&self.armed, &here, &self.at, next)
        });
        if stop.reason != Reason::Done || !watches || self.current() != task {
            self.keep_scan(scan);
            return Ok(stop);
        }
        // What the instruction accesses is known when it is executed again.
        let shown = self.shown_at_creator;
        let (original, at) = self.divert()?;
        let again = self.step_one(task, OnHit::Stop);
        let mut accessed: Vec<Watch> = match again.as_ref().map(|again| again.reason) {
            Ok(Reason::Touched(watch)) => vec![watch],
            _ => Vec::new(),
        };
        accessed.append(&mut self.also);
        self.rejoin(original, at);
        self.shown_at_creator = shown;
        again?;
        if accessed.is_empty() {
            self.keep_scan(scan);
        }
        Ok(match accessed.pop() {
            Some(watch) => {
                self.also = accessed;
                self.also.reverse();
                Stop { reason: Reason::Touched(watch), ..stop }
            }
            None => stop,
        })
    }

    /// The next search backwards from the current position uses these events.
    fn keep_scan(&mut self, scan: Option<Scan>) {
        self.scan = scan;
        if let Some(scan) = &mut self.scan {
            scan.move_to(&self.at);
        }
    }

    /// Goes to the task's last instruction before the current position. A debugger that only steps
    /// `over` a breakpoint expects another address afterwards; if the reply is that there is nothing
    /// before, gdb 13 hangs. So a task that is about to begin is shown at its creation site, not at
    /// its function's first instruction.
    fn go_to_previous(&mut self, task: u16, over: bool) -> Result<Stop, Error> {
        let here = self.at.clone();
        let (start, then) = here.split();
        let running = matches!(here.place, StepPoint::Inside(_)) && self.live().current() == task;
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
            // Before its first instruction, the task is about to begin.
            None if running && here.step > 0 => {
                self.go_to(&Position::chosen(here.step))?;
                self.shown_at_creator = over.then_some(task);
                Ok(Stop { task, reason: Reason::Done })
            }
            // Steps of other tasks do not belong to this task.
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

    /// The instruction before the site at which the last segment of a position ends, if it is in
    /// the same step.
    fn before(&mut self, here: &Position) -> Result<Option<Position>, Error> {
        let StepPoint::Inside(segments) = &here.place else { return Ok(None) };
        let Some((last, earlier)) = segments.split_last() else { return Ok(None) };
        if let Until::Touched(watch) = last.until
            && self.is_touched_on_the_way(here, watch)?
        {
            return Ok(None);
        }
        let start = match (last.until, last.times) {
            (Until::Entry, _) => return Ok(None),
            // From the previous occurrence on.
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
            // This is the step's first instruction in the program.
            return Ok(None);
        }
        self.approach(here.step, Some(last.until))
    }

    /// From the current position to the last instruction before an event, or before the end of the
    /// step. Calls and loops in which the event does not occur are run through at full speed.
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
                // The end of a loop body.
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
            Some(until @ Until::AtState(address, _)) => {
                Ok(at(address)? && self.matches_state(until)?)
            }
            Some(Until::Entry) => Ok(true),
        }
    }

    /// Runs to the end of a call or loop, unless the awaited event occurs first; then the position
    /// is restored. Returns whether the end was reached.
    fn run_through(
        &mut self,
        step: u64,
        until: Option<Until>,
        to: u64,
        rsp: u64,
    ) -> Result<bool, Error> {
        let kept = self.copy_current()?;
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

    /// Runs to the last time that this instruction is executed before the awaited event.
    fn reach_last_pass(&mut self, step: u64, until: Option<Until>, head: u64) -> Result<(), Error> {
        let kept = self.copy_current()?;
        let before = self.at.clone();
        // No stack pointer has this value.
        let (_, hits) = self.run_to(step, until, head, u64::MAX)?;
        self.rejoin(kept, before.clone());
        if hits > 1 {
            self.run(RunGoal::Times(Until::At(head), hits - 1), OnHit::Nothing)?;
            self.at = before;
            self.at.reached(Until::At(head), hits - 1);
        }
        Ok(())
    }

    /// Runs until an instruction is about to execute with this stack pointer, or the awaited event
    /// occurs. Returns whether it was the former, and how often the instruction was passed.
    fn run_to(
        &mut self,
        step: u64,
        until: Option<Until>,
        to: u64,
        rsp: u64,
    ) -> Result<(bool, u64), Error> {
        self.limit = Some(step + 1);
        let stop = self.run(RunGoal::Before(until, to, rsp), OnHit::Nothing);
        self.limit = None;
        Ok((stop?.reason == Reason::Breakpoint, self.hits))
    }

    fn step_watching(&mut self, task: u16, until: Until) -> Result<Stop, Error> {
        let Until::Touched(watch) = until else {
            self.awaits = Some(until);
            let stop = self.step_one(task, OnHit::Nothing);
            self.awaits = None;
            return stop;
        };
        let armed = std::mem::take(&mut self.armed);
        self.armed.watches = vec![watch];
        let stop = self.step_one(task, OnHit::Stop);
        self.armed = armed;
        stop
    }

    /// A task's last instruction before a step: the call that began its step. With `parked`, the
    /// step itself does not count, even if it is this task's.
    fn last_of(&mut self, task: u16, step: u64, parked: bool) -> Result<Option<Position>, Error> {
        let of_task: Vec<u64> =
            (0..step).rev().filter(|&step| self.task_of_step(step) == Some(task)).collect();
        let ended = matches!(self.at.place, StepPoint::End);
        let own = (parked && ended && self.task_of_step(step) == Some(task)).then_some(step);
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

    /// The last instruction of the program in a step, if it executed any.
    fn last_in(&mut self, step: u64) -> Result<Option<Position>, Error> {
        let start = Position::entry(step);
        let stop = self.go_to(&start)?;
        if stop.reason != Reason::Done || self.at.step != step {
            return Ok(None);
        }
        self.approach(step, None)
    }

    /// Executes one instruction, but does not leave the current step.
    fn step_within(&mut self, task: u16, step: u64) -> Result<Stop, Error> {
        self.limit = Some(step + 1);
        let stop = self.step_one(task, OnHit::Nothing);
        self.limit = None;
        stop
    }

    /// Goes to the last breakpoint, watchpoint hit or signal before the current position.
    pub(crate) fn resume_back(&mut self) -> Result<Stop, Error> {
        let here = self.at.clone();
        let event = match self.event_before(&here)? {
            Searched::Event(event) => *event,
            Searched::Interrupted => {
                self.go_to(&here)?;
                return Ok(Stop { task: self.current(), reason: Reason::Interrupted });
            }
            Searched::Nothing => {
                self.scan = None;
                self.go_to(&Position::entry(0))?;
                return Ok(Stop { task: self.current(), reason: Reason::Begin });
            }
        };
        let stop = self.stop_at_event(event)?;
        let scan = self.scan.take();
        self.keep_scan(scan);
        Ok(stop)
    }

    /// Goes to an event: to an instruction that is reached, and to before an access.
    pub(super) fn stop_at_event(&mut self, event: RecordedStop) -> Result<Stop, Error> {
        match event {
            RecordedStop { position, task, reason: Reason::Touched(watch), mut also, .. } => {
                // The position before the accessing instruction.
                let (start, then) = position.split();
                let before = if then > 0 {
                    start.with(then - 1)
                } else if self.is_touched_on_the_way(&position, watch)? {
                    Position::chosen(position.step)
                } else {
                    match self.before(&position)? {
                        Some(before) => before,
                        None => self.last_of(task, position.step, false)?.unwrap_or(position),
                    }
                };
                self.go_to(&before)?;
                // Backwards, the last is the first.
                also.insert(0, watch);
                let last = also.pop().unwrap_or(watch);
                also.reverse();
                self.also = also;
                Ok(Stop { task: self.current(), reason: Reason::Touched(last) })
            }
            RecordedStop { position, task, reason, .. } => {
                self.go_to(&position)?;
                Ok(Stop { task, reason })
            }
        }
    }

    /// Whether the step's own operation, inside the runtime, accesses the memory as often as the
    /// position says, before the task returns to the program. The position before such an access is
    /// the choice of the step.
    fn is_touched_on_the_way(&mut self, position: &Position, watch: Watch) -> Result<bool, Error> {
        let StepPoint::Inside(segments) = &position.place else { return Ok(false) };
        let times = match segments.as_slice() {
            [segment] if segment.then == 0 => segment.times,
            _ => return Ok(false),
        };
        self.go_to(&Position::chosen(position.step))?;
        let armed = std::mem::take(&mut self.armed);
        self.armed.watches = vec![watch];
        let left_runtime = self.first_part(&Segment::new(Until::Entry, 1), OnHit::Stop);
        self.armed = armed;
        left_runtime?;
        let touched = self.touches.get(&watch.address);
        Ok(touched.is_some_and(|&(step, count)| step == position.step && count >= times))
    }

    /// Goes to the choice of a step.
    pub(crate) fn go_to_step(&mut self, step: u64) -> Result<Stop, Error> {
        self.go_to(&Position::chosen(step))
    }

    /// Goes to the end of the execution.
    pub(crate) fn go_to_end(&mut self) -> Result<Stop, Error> {
        let last = self.trace.execution.steps.len() as u64;
        self.go_to(&Position { step: last, place: StepPoint::End })
    }

    /// Goes to the failure: to the instruction that raised a signal, or to the raising of the panic
    /// that ended the program, else to the end.
    pub(crate) fn go_to_failure(&mut self) -> Result<Stop, Error> {
        self.go_to(&Position::entry(0))?;
        let armed = std::mem::take(&mut self.armed);
        let panicked = matches!(&self.trace.failure, Some(failure) if failure.kind == Panic);
        let raises = self.symbols.exported(RAISE).filter(|_| panicked);
        self.armed.breakpoints.extend(raises.map(|at| (at, Vec::new())));
        let mut last = None;
        let stop = loop {
            let stop = self.run(RunGoal::None, OnHit::Stop);
            match &stop {
                // A signal that the program sent itself is shown at the end.
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
        // Unwinding may take steps.
        if position.step != self.at.step && reason != Reason::Breakpoint {
            return Ok(stop);
        }
        let stop = self.go_to(&position)?;
        let reason = if reason == Reason::Breakpoint { stop.reason } else { reason };
        Ok(Stop { task: self.current(), reason })
    }
}
