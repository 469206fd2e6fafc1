//! One instruction after the other, of one task.

use super::places::BEHIND;
use super::position::{Position, Until};
use super::{BREATH, Execution, Goal, Notice, Reason, Stop};
use crate::Error;
use crate::debug::process::machine::{Happened, Stand};
use crate::debug::process::tasks::WayOut;
use std::ops::Range;

/// After so many instructions of one line there is a loop in it.
const LONG: u64 = 64;

impl Execution {
    /// Executes instructions of a task, at least one, as long as it stays in `range`.
    pub(crate) fn step(&mut self, task: u16, range: &Range<u64>) -> Result<Stop, Error> {
        let mut count = 0u64;
        loop {
            let stop = self.step_one(task, Notice::Stop)?;
            if stop.reason != Reason::Done {
                return Ok(stop);
            }
            let rip = self.live.tracee().registers()?.rip;
            if !range.contains(&rip) {
                return Ok(stop);
            }
            if self.armed.breakpoints.contains_key(&rip) && self.holds(rip) {
                return Ok(Stop { task, reason: Reason::Breakpoint });
            }
            count += 1;
            if count.is_multiple_of(LONG) {
                let stop = self.run_within(task, range)?;
                let stays = self.at_rip().is_some_and(|rip| range.contains(&rip));
                if stop.reason != Reason::Done || !stays {
                    return Ok(stop);
                }
            }
            if count.is_multiple_of(BREATH) && self.interrupt.take() {
                return Ok(Stop { task, reason: Reason::Interrupted });
            }
        }
    }

    /// Executes one instruction of the program in a task; the runtime's count as part of the call.
    pub(crate) fn step_one(&mut self, task: u16, notice: Notice) -> Result<Stop, Error> {
        let rip = match self.live.stand() {
            Stand::End => return Ok(self.stop(Reason::End)),
            Stand::Gone(halt) => return Ok(self.stop(Reason::Gone(halt))),
            Stand::Program => self.live.tracee().registers()?.rip,
            Stand::Begin | Stand::Chosen => 0,
        };
        let here = rip != 0 && self.live.current() == task && !self.live.is_runtime(rip);
        if !here {
            let way_out = self.thread(task)?.and_then(|thread| thread.way_out);
            return match way_out {
                Some(way_out) => self.run(Goal::Out(task, way_out), notice),
                None => Ok(self.stop(Reason::End)),
            };
        }
        if let Some(behind) = self.live.behind_probe(rip) {
            // The runtime comes between, and executes the instruction elsewhere.
            return self.run(Goal::Out(task, WayOut { address: behind, rsp: 0 }), notice);
        }
        self.threads = None;
        self.live.clear();
        let watches = self.watches(Goal::None, notice);
        self.live.watch(&watches)?;
        let mut happened = self.live.single_step()?;
        while happened == Happened::Stopped {
            // Somebody wants to stop, or wanted to.
            happened = self.live.single_step()?;
        }
        match happened {
            Happened::Stepped | Happened::Touched(_) => {
                let registers = self.live.tracee().registers()?;
                let mut stop = self.stop(Reason::Done);
                if self.live.is_runtime(registers.rip) {
                    stop = self.come_out(task, notice)?;
                } else {
                    self.at.advance(registers.rip);
                }
                if let Happened::Touched(watch) = happened
                    && stop.reason == Reason::Done
                {
                    stop.reason = Reason::Touched(watch);
                }
                Ok(stop)
            }
            Happened::Call(number) => {
                let wanted = self.catches(number) && notice == Notice::Stop;
                if wanted || self.awaits == Some(Until::Call) {
                    return self.caught(number, 1);
                }
                let registers = self.live.tracee().registers()?;
                let way_out = WayOut { address: registers.rip, rsp: registers.rsp };
                self.run(Goal::Out(task, way_out), notice)
            }
            Happened::Signal(signal) => {
                self.at.reached(Until::Signal, 1);
                Ok(self.stop(Reason::Signal(signal)))
            }
            Happened::Hook => self.hook(),
            Happened::Gone => self.gone(),
            Happened::Hit(_) | Happened::Stopped => Ok(self.stop(Reason::Done)),
        }
    }

    /// From the runtime's code, into which the program just called.
    pub(super) fn come_out(&mut self, task: u16, notice: Notice) -> Result<Stop, Error> {
        let way_out = self.thread(task)?.and_then(|thread| thread.way_out);
        match way_out {
            Some(way_out) => self.run(Goal::Out(task, way_out), notice),
            // Its last call: nothing of the program's is left to come back to.
            None => self.run(Goal::None, notice),
        }
    }

    /// Somebody wanted it to stop: where the program's own code is, or a task is chosen. (Other code
    /// may run for ever before this task is in the program's again.)
    pub(super) fn interrupted(&mut self) -> Result<Stop, Error> {
        let task = self.live.current();
        let step = self.live.step();
        let told = |stop: Stop| match stop.reason {
            Reason::Done => Stop { reason: Reason::Interrupted, ..stop },
            _ => stop,
        };
        if self.live.stand() != Stand::Program {
            return Ok(Stop { task, reason: Reason::Interrupted });
        }
        let mut registers = self.live.tracee().registers()?;
        let at = self.at.clone();
        if self.live.is_runtime(registers.rip) {
            self.limit = Some(step + 1);
            let stop = self.come_out(task, Notice::Nothing);
            self.limit = None;
            let stop = stop?;
            let out = stop.reason == Reason::Done && self.live.stand() == Stand::Program;
            if !out || self.live.step() != step {
                return Ok(told(stop));
            }
            registers = self.live.tracee().registers()?;
        }
        // How far into the step this is nobody has counted.
        self.at = if at.step == step { at } else { Position::chosen(step) };
        let like = Until::Like(registers.rip, self.digest()?);
        self.at.reached(like, 1);
        // The way here may be long, and nobody has counted: the last instructions can be gone back
        // over without it.
        self.leave_checkpoint()?;
        self.limit = Some(step + 1);
        let stop = self.some_more(task);
        self.limit = None;
        Ok(told(stop?))
    }

    /// A few instructions of a task, as long as nothing else happens.
    fn some_more(&mut self, task: u16) -> Result<Stop, Error> {
        let step = self.at.step;
        for _ in 0..BEHIND {
            let rip = self.live.tracee().registers()?.rip;
            if self.armed.breakpoints.contains_key(&rip) {
                break;
            }
            let stop = self.step_one(task, Notice::Nothing)?;
            if stop.reason != Reason::Done || self.at.step != step {
                return Ok(stop);
            }
        }
        Ok(Stop { task, reason: Reason::Done })
    }
}
