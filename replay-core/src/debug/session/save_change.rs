//! Saves a change of memory: it becomes part of another schedule, which repeats it in every run.

use super::Session;
use crate::Error;
use crate::control::beginning::first_choices;
use crate::control::command::{self, Outcome};
use crate::debug::execution::Stop;
use crate::debug::execution::position::{Position, StepPoint};
use traces::memory_change::{self, MemoryChange, MemoryLocation};
use traces::wire::{ARENA_ADDRESS, CHANNEL_ADDRESS};
use traces::{Site, Trace};

impl Session<'_> {
    /// The changes in terms that are valid in every process, or why they cannot be saved.
    pub(super) fn changes(&mut self) -> Result<Result<Vec<MemoryChange>, String>, Error> {
        let Some(diversion) = &self.diversion else {
            return Ok(Err("there is no change to keep".to_owned()));
        };
        let at = &self.execution.at;
        if at.place != StepPoint::Chosen || at.step == 0 {
            return Ok(Err(format!(
                "a change can only be kept at the start of a step, and this is inside step {}: \
                 `sched goto {}`, or another step, make the change there, and `sched keep`",
                at.step,
                at.step + 1
            )));
        }
        if diversion.more {
            return Ok(Err("registers were changed, or a function was called: only a change of \
                           memory can be kept; continue, come back, and change memory only"
                .to_owned()));
        }
        let (step, written) = (at.step, diversion.written.clone());
        let mut changes = Vec::new();
        for (address, bytes) in written {
            let Some(at) = self.memory(address)? else {
                return Ok(Err(format!(
                    "a change at {address:#x} cannot be kept: the address is not in a static \
                     variable of the program, its heap or a task's stack, and may be another one \
                     in the next run"
                )));
            };
            let name = match at {
                MemoryLocation::Program(offset) => {
                    self.execution.symbols.variable(Site { module: 0, offset })
                }
                _ => None,
            };
            let name = name.unwrap_or_default();
            changes.extend(bytes.chunks(memory_change::MOST).scan(at, |at, bytes| {
                let here = *at;
                *at = advance(here, bytes.len() as u64);
                Some(MemoryChange { step, at: here, bytes: bytes.to_vec(), name: name.clone() })
            }));
        }
        Ok(Ok(changes))
    }

    fn memory(&mut self, address: u64) -> Result<Option<MemoryLocation>, Error> {
        let tasks = self.execution.threads()?;
        let on_stack = tasks.iter().find_map(|task| {
            let info = &task.info;
            let inside = (info.stack_low..info.stack_base).contains(&address);
            let below = info.stack_base - address.min(info.stack_base);
            inside.then_some(MemoryLocation::Stack { task: task.task, below })
        });
        // The runtime knows how much of the heap is in use.
        let heap = ARENA_ADDRESS as u64..CHANNEL_ADDRESS as u64;
        let program = self.execution.symbols.map().modules().first();
        let program = program.filter(|program| program.range.contains(&address));
        Ok(on_stack
            .or_else(|| heap.contains(&address).then(|| MemoryLocation::Heap(address - heap.start)))
            .or_else(|| program.map(|program| MemoryLocation::Program(address - program.bias))))
    }

    /// Creates a schedule with these changes, which follows the present one as far as it fits.
    pub(super) fn save_changes(&mut self, changes: &[MemoryChange]) -> Result<Stop, Error> {
        let trace = self.execution.trace.clone();
        let step = self.execution.at.step;
        let mut options = command::as_recorded(&trace);
        options.changes.extend_from_slice(changes);
        let whole = trace.execution.steps.len() as u64;
        // Tasks may reach other operations, so that later choices no longer fit.
        let mut most = whole;
        let kept = loop {
            let choices = first_choices(&trace.execution, most as usize);
            let target = self.execution.target.clone();
            let interrupt = self.execution.interrupt.clone();
            match command::record_again(&target, choices, &options, interrupt.flag())? {
                Outcome::Recorded(kept) => break kept,
                Outcome::Diverged { step: at, .. } if most > step => {
                    most = at.min(most - 1).max(step);
                }
                Outcome::Diverged { what, .. } => {
                    return Ok(self.stay(&format!("not kept: {what}")));
                }
                Outcome::Died { how, .. } => return Ok(self.stay(&format!("not kept: {how}"))),
                Outcome::Interrupted => return Ok(self.stay("interrupted")),
            }
        };
        let described = describe(&kept, changes, most, whole);
        self.execution.switch_to(*kept)?;
        let stop = self.execution.go_to(&Position::chosen(step))?;
        let outcome = self.expected_outcome();
        self.print(&format!(
            "[sched] another schedule, in which memory is changed at {described}; its outcome is: \
             {outcome}. `sched save` writes it, `sched pick back` returns\n"
        ));
        Ok(stop)
    }
}

fn describe(kept: &Trace, changes: &[MemoryChange], followed: u64, whole: u64) -> String {
    let all: Vec<String> = changes.iter().map(MemoryChange::to_string).collect();
    let followed = followed.min(kept.execution.steps.len() as u64);
    let how = match followed == whole {
        true => String::new(),
        false => format!(" (the choices of steps 1 to {followed} of {whole} fit it)"),
    };
    all.join(", ") + &how
}

fn advance(at: MemoryLocation, len: u64) -> MemoryLocation {
    match at {
        MemoryLocation::Program(offset) => MemoryLocation::Program(offset + len),
        MemoryLocation::Heap(offset) => MemoryLocation::Heap(offset + len),
        MemoryLocation::Stack { task, below } => {
            MemoryLocation::Stack { task, below: below.saturating_sub(len) }
        }
    }
}
