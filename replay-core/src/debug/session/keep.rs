//! Keeping a change of memory on purpose: it becomes part of another schedule, which makes it whenever
//! it is run.

use super::Session;
use super::branch::beginning;
use crate::Error;
use crate::command::{self, Once};
use crate::debug::execution::Stop;
use crate::debug::execution::position::{Place, Position};
use traces::change::{self, Change, Memory};
use traces::wire::{ARENA_ADDRESS, CHANNEL_ADDRESS};
use traces::{Site, Trace};

impl Session<'_> {
    /// What was changed, in terms that hold in every process; or why that cannot be kept.
    pub(super) fn changes(&mut self) -> Result<Result<Vec<Change>, String>, Error> {
        let Some(diversion) = &self.diversion else {
            return Ok(Err("nothing was changed that could be kept".to_owned()));
        };
        let at = &self.execution.at;
        if at.place != Place::Chosen || at.step == 0 {
            return Ok(Err(format!(
                "a change can be kept where a step begins, and this is inside step {}: `sched goto \
                 {}`, or another step, change it there, and `sched keep`",
                at.step,
                at.step + 1
            )));
        }
        if diversion.more {
            return Ok(Err("registers were changed, or a function was called: only a change of \
                           memory can be kept; go on, come back, and make it without"
                .to_owned()));
        }
        let (step, written) = (at.step, diversion.written.clone());
        let mut changes = Vec::new();
        for (address, bytes) in written {
            let Some(at) = self.memory(address)? else {
                return Ok(Err(format!(
                    "what lies at {address:#x} cannot be kept: it is no variable of the program's \
                     own, nor on its heap, nor in a function on a task's stack, and may lie \
                     elsewhere when the program is run again"
                )));
            };
            let name = match at {
                Memory::Program(offset) => {
                    self.execution.symbols.variable(Site { module: 0, offset })
                }
                _ => None,
            };
            let name = name.unwrap_or_default();
            changes.extend(bytes.chunks(change::MOST).scan(at, |at, bytes| {
                let here = *at;
                *at = behind(here, bytes.len() as u64);
                Some(Change { step, at: here, bytes: bytes.to_vec(), name: name.clone() })
            }));
        }
        Ok(Ok(changes))
    }

    fn memory(&mut self, address: u64) -> Result<Option<Memory>, Error> {
        let tasks = self.execution.threads()?;
        let on_stack = tasks.iter().find_map(|task| {
            let info = &task.info;
            let inside = (info.stack_low..info.stack_base).contains(&address);
            let below = info.stack_base - address.min(info.stack_base);
            inside.then_some(Memory::Stack { task: task.task, below })
        });
        // How much of it is in use, the runtime knows.
        let heap = ARENA_ADDRESS as u64..CHANNEL_ADDRESS as u64;
        let program = self.execution.symbols.map().modules().first();
        let program = program.filter(|program| program.range.contains(&address));
        Ok(on_stack
            .or_else(|| heap.contains(&address).then(|| Memory::Heap(address - heap.start)))
            .or_else(|| program.map(|program| Memory::Program(address - program.bias))))
    }

    /// Makes these changes part of another schedule, which follows the present one as far as it goes.
    pub(super) fn keep(&mut self, changes: &[Change]) -> Result<Stop, Error> {
        let trace = self.execution.trace.clone();
        let step = self.execution.at.step;
        let mut options = command::as_recorded(&trace);
        options.changes.extend_from_slice(changes);
        let whole = trace.execution.steps.len() as u64;
        // Tasks may come to other operations, and choices may not fit any more.
        let mut most = whole;
        let kept = loop {
            let choices = beginning(&trace, most);
            let target = self.execution.target.clone();
            let interrupt = self.execution.interrupt.clone();
            match command::record_again(&target, choices, &options, interrupt.flag())? {
                Once::Recorded(kept) => break kept,
                Once::Diverged { step: at, .. } if most > step => {
                    most = at.min(most - 1).max(step);
                }
                Once::Diverged { what, .. } => return Ok(self.stay(&format!("not kept: {what}"))),
                Once::Died { how } => return Ok(self.stay(&format!("not kept: {how}"))),
                Once::Interrupted => return Ok(self.stay("interrupted")),
            }
        };
        let told = told(&kept, changes, most, whole);
        self.execution.leave_for(*kept)?;
        let stop = self.execution.go_to(&Position::chosen(step))?;
        let outcome = self.foretold();
        self.say(&format!(
            "[sched] another schedule, in which memory is changed at {told}; it ends: {outcome}. \
             `sched save` writes it, `sched pick back` returns\n"
        ));
        Ok(stop)
    }
}

fn told(kept: &Trace, changes: &[Change], followed: u64, whole: u64) -> String {
    let all: Vec<String> = changes.iter().map(Change::to_string).collect();
    let followed = followed.min(kept.execution.steps.len() as u64);
    let how = match followed == whole {
        true => String::new(),
        false => format!(" (the choices of steps 1 to {followed} of {whole} fit it)"),
    };
    all.join(", ") + &how
}

fn behind(at: Memory, len: u64) -> Memory {
    match at {
        Memory::Program(offset) => Memory::Program(offset + len),
        Memory::Heap(offset) => Memory::Heap(offset + len),
        Memory::Stack { task, below } => Memory::Stack { task, below: below.saturating_sub(len) },
    }
}
