//! The instructions of one task in one step, recorded with the registers before each.

use super::position::{Position, StepPoint};
use super::{Execution, INTERRUPT_INTERVAL, OnHit, Reason};
use crate::Error;
use crate::debug::dataflow::State;
use crate::debug::process::machine::ProcessState;
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Register};
use std::collections::HashMap;

/// How many instructions of a step are recorded at most, and followed for one load.
pub(super) const MOST: usize = 1_000_000;
/// The longest instruction.
const LONGEST: usize = 15;

/// The instructions that a task executed in a step, in order. What the last one does may belong to the task's
/// next step.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) task: u16,
    pub(super) step: u64,
    /// The registers before each instruction.
    pub(super) states: Vec<State>,
    /// The registers behind the last instruction, unless its effect belongs to the task's next step.
    pub(super) end: Option<State>,
    /// From these instructions on, positions are counted from here.
    positions: Vec<(usize, Position)>,
    /// The step has more instructions than were recorded, or the user interrupted.
    pub(super) is_cut: bool,
}

impl Stretch {
    /// The position before an instruction.
    pub(super) fn position(&self, index: usize) -> Position {
        let behind = self.positions.partition_point(|(from, _)| *from <= index);
        let Some((from, position)) = behind.checked_sub(1).and_then(|at| self.positions.get(at))
        else {
            return Position::chosen(self.step);
        };
        let (_, then) = position.split();
        position.with(then + (index - from) as u64)
    }

    /// The registers behind an instruction. `later`: those at the beginning of the task's next step.
    pub(super) fn after(&self, index: usize, later: Option<&State>) -> Option<State> {
        self.states.get(index + 1).copied().or(self.end).or(later.copied())
    }
}

/// The instructions that were decoded so far, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Code {
    known: HashMap<u64, Instruction>,
}

impl Code {
    pub(super) fn at(&mut self, address: u64, execution: &Execution) -> Instruction {
        *self.known.entry(address).or_insert_with(|| execution.instruction_at(address))
    }
}

/// Whether an instruction left for code that is not the program's, which returned to the caller: a call, or a
/// jump of a linker's entry.
pub(super) fn is_outside_call(one: &Instruction, before: &State, after: &State) -> bool {
    let (from, to) = (before.value(Register::RSP), after.value(Register::RSP));
    match one.flow_control() {
        FlowControl::Call | FlowControl::IndirectCall => to == from,
        FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {
            to == from.wrapping_add(8)
        }
        _ => false,
    }
}

impl Execution {
    /// The instruction at an address; an invalid one where there is no code.
    pub(super) fn instruction_at(&self, address: u64) -> Instruction {
        let mut bytes = [0; LONGEST];
        let len = self.live.read(address, &mut bytes);
        Decoder::with_ip(64, &bytes[..len], address, DecoderOptions::NONE).decode()
    }

    /// Records the instructions of a step, up to a position if there is one.
    pub(super) fn record_step(
        &mut self,
        step: u64,
        until: Option<&Position>,
    ) -> Result<Stretch, Error> {
        let task = self.task_of_step(step).unwrap_or(0);
        let mut stretch = Stretch {
            task,
            step,
            states: Vec::new(),
            end: None,
            positions: Vec::new(),
            is_cut: false,
        };
        // A position at the choice of the step has none of its instructions before it.
        if until.is_some_and(|until| until.step == step && until.place == StepPoint::Chosen) {
            return Ok(stretch);
        }
        let stop = self.go_to(&Position::entry(step))?;
        if stop.reason != Reason::Done {
            return Ok(stretch);
        }
        self.limit = Some(step + 1);
        let result = self.record_instructions(&mut stretch, until);
        self.limit = None;
        result.map(|()| stretch)
    }

    /// The registers of the running task.
    pub(super) fn state_now(&self) -> Result<State, Error> {
        let registers = self.live.tracee().registers()?;
        Ok(State {
            general: [
                registers.rax,
                registers.rcx,
                registers.rdx,
                registers.rbx,
                registers.rsp,
                registers.rbp,
                registers.rsi,
                registers.rdi,
                registers.r8,
                registers.r9,
                registers.r10,
                registers.r11,
                registers.r12,
                registers.r13,
                registers.r14,
                registers.r15,
            ],
            fs: registers.fs_base,
            gs: registers.gs_base,
            flags: registers.eflags,
            rip: registers.rip,
        })
    }

    fn record_instructions(
        &mut self,
        stretch: &mut Stretch,
        until: Option<&Position>,
    ) -> Result<(), Error> {
        // Positions have several descriptions: the program is there when its registers are.
        let target = match until {
            Some(until) if until.step == stretch.step => {
                let begin = self.live.copy()?;
                let at = self.at.clone();
                self.go_to(until)?;
                let digest = match self.live.state() {
                    ProcessState::Program => Some(self.digest()?),
                    _ => None,
                };
                self.rejoin(begin, at);
                digest
            }
            _ => None,
        };
        loop {
            let is_here = self.live.state() == ProcessState::Program
                && self.live.step() == stretch.step
                && self.live.current() == stretch.task;
            if !is_here {
                return Ok(());
            }
            let state = self.state_now()?;
            let is_there = match target {
                Some(digest) => self.digest()? == digest,
                None => false,
            };
            if is_there {
                stretch.end = Some(state);
                return Ok(());
            }
            let index = stretch.states.len();
            if index >= MOST
                || (index as u64).is_multiple_of(INTERRUPT_INTERVAL) && self.interrupt.take()
            {
                stretch.is_cut = true;
                return Ok(());
            }
            if stretch.states.is_empty() || stretch.position(index) != self.at {
                stretch.positions.push((index, self.at.clone()));
            }
            stretch.states.push(state);
            let stop = self.step_one(stretch.task, OnHit::Nothing)?;
            if stop.reason != Reason::Done {
                return Ok(());
            }
        }
    }
}
