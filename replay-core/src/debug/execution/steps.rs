//! Executes single instructions of one task.

use super::go_to::CHECKPOINT_DISTANCE;
use super::position::{Position, Until};
use super::run::counted;
use super::{Execution, INTERRUPT_INTERVAL, OnHit, Reason, RunGoal, Stop};
use crate::Error;
use crate::debug::process::machine::{ProcessState, StopEvent};
use crate::debug::process::tasks::RuntimeExit;
use std::ops::Range;

/// A line with more instructions than this contains a loop.
const LONG: u64 = 64;

impl Execution {
    /// Executes instructions of a task, at least one, until it leaves `range`.
    pub(crate) fn step(&mut self, task: u16, range: &Range<u64>) -> Result<Stop, Error> {
        let mut count = 0u64;
        loop {
            let stop = self.step_one(task, OnHit::Stop)?;
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
            if count.is_multiple_of(INTERRUPT_INTERVAL) && self.interrupt.take() {
                return Ok(Stop { task, reason: Reason::Interrupted });
            }
        }
    }

    /// Executes one instruction of the program in a task. Instructions of the runtime count as part
    /// of the call.
    pub(crate) fn step_one(&mut self, task: u16, notice: OnHit) -> Result<Stop, Error> {
        let rip = match self.live.state() {
            ProcessState::End => return Ok(self.stop(Reason::End)),
            ProcessState::Gone(status) => return Ok(self.stop(Reason::Gone(status))),
            ProcessState::Program => self.live.tracee().registers()?.rip,
            ProcessState::Begin | ProcessState::Chosen => 0,
        };
        let here = rip != 0 && self.live.current() == task && !self.live.is_runtime(rip);
        if !here {
            let runtime_exit = self.thread(task)?.and_then(|thread| thread.runtime_exit);
            return match runtime_exit {
                Some(runtime_exit) => self.run(RunGoal::Out(task, runtime_exit), notice),
                None => Ok(self.stop(Reason::End)),
            };
        }
        if let Some(behind) = self.live.behind_probe(rip) {
            // The instruction has a probe: the runtime executes it elsewhere.
            return self.run(RunGoal::Out(task, RuntimeExit { address: behind, rsp: 0 }), notice);
        }
        self.threads = None;
        self.live.clear();
        let watches = self.watches(RunGoal::None, notice);
        self.live.watch(&watches)?;
        let mut happened = self.live.single_step()?;
        while happened == StopEvent::Stopped {
            // The stop belongs to an interrupt.
            happened = self.live.single_step()?;
        }
        match happened {
            StopEvent::Stepped | StopEvent::Touched(_) => {
                let registers = self.live.tracee().registers()?;
                let mut stop = self.stop(Reason::Done);
                let further = self.live.take_further();
                if self.live.is_runtime(registers.rip) {
                    stop = self.run_out_of_runtime(task, notice)?;
                } else {
                    self.at.advance(registers.rip);
                }
                if let StopEvent::Touched(watch) = happened
                    && stop.reason == Reason::Done
                {
                    stop.reason = Reason::Touched(watch);
                    let step = self.live.step();
                    for watch in std::iter::once(&watch).chain(&further) {
                        counted(&mut self.touches, watch.address, step);
                    }
                    self.also = further;
                }
                Ok(stop)
            }
            StopEvent::Call(number) => {
                let wanted = self.catches(number) && notice == OnHit::Stop;
                if wanted || self.awaits == Some(Until::Call) {
                    return self.caught(number, 1);
                }
                let registers = self.live.tracee().registers()?;
                let runtime_exit = RuntimeExit { address: registers.rip, rsp: registers.rsp };
                self.run(RunGoal::Out(task, runtime_exit), notice)
            }
            StopEvent::Signal(signal) => {
                self.at.reached(Until::Signal, 1);
                Ok(self.stop(Reason::Signal(signal)))
            }
            StopEvent::Hook => self.hook(),
            StopEvent::Gone => self.gone(),
            StopEvent::Blocked => Ok(self.stop(Reason::Waits)),
            StopEvent::Hit(_) | StopEvent::Stopped => Ok(self.stop(Reason::Done)),
        }
    }

    /// Leaves the runtime after the program called it.
    pub(super) fn run_out_of_runtime(&mut self, task: u16, notice: OnHit) -> Result<Stop, Error> {
        let runtime_exit = self.thread(task)?.and_then(|thread| thread.runtime_exit);
        match runtime_exit {
            Some(runtime_exit) => self.run(RunGoal::Out(task, runtime_exit), notice),
            // The task's last call: it does not return to the program.
            None => self.run(RunGoal::None, notice),
        }
    }

    /// Stops after an interrupt: in the program's own code, or at a choice. (Other code may run for
    /// a long time before this task is in the program's code again.)
    pub(super) fn interrupted(&mut self) -> Result<Stop, Error> {
        let task = self.live.current();
        if self.call.is_some() {
            return Ok(Stop { task, reason: Reason::Interrupted });
        }
        let step = self.live.step();
        let as_interrupted = |stop: Stop| match stop.reason {
            Reason::Done => Stop { reason: Reason::Interrupted, ..stop },
            _ => stop,
        };
        if self.live.state() != ProcessState::Program {
            return Ok(Stop { task, reason: Reason::Interrupted });
        }
        let mut registers = self.live.tracee().registers()?;
        let at = self.at.clone();
        if self.live.is_runtime(registers.rip) {
            self.limit = Some(step + 1);
            let stop = self.run_out_of_runtime(task, OnHit::Nothing);
            self.limit = None;
            let stop = stop?;
            let out = stop.reason == Reason::Done && self.live.state() == ProcessState::Program;
            if !out || self.live.step() != step {
                return Ok(as_interrupted(stop));
            }
            registers = self.live.tracee().registers()?;
        }
        // The position within the step was not counted.
        self.at = if at.step == step { at } else { Position::chosen(step) };
        let like = Until::AtState(registers.rip, self.digest()?);
        self.at.reached(like, 1);
        // Reaching this state again may take long, so make a checkpoint: the next instructions can
        // then be undone quickly.
        self.leave_checkpoint()?;
        self.limit = Some(step + 1);
        let stop = self.step_few_more(task);
        self.limit = None;
        Ok(as_interrupted(stop?))
    }

    /// Executes a few instructions of a task, unless something else happens.
    fn step_few_more(&mut self, task: u16) -> Result<Stop, Error> {
        let step = self.at.step;
        for _ in 0..CHECKPOINT_DISTANCE {
            let rip = self.live.tracee().registers()?.rip;
            if self.armed.breakpoints.contains_key(&rip) {
                break;
            }
            let stop = self.step_one(task, OnHit::Nothing)?;
            if stop.reason != Reason::Done || self.at.step != step {
                return Ok(stop);
            }
        }
        Ok(Stop { task, reason: Reason::Done })
    }
}
