//! What a detector of loops that wait observes of a program.

use super::{FIRST, Machine, Task, TaskState};
use crate::reduction::events::mix;
use crate::reduction::pending::PendingOperation;
use crate::simulation::program::Code;
use crate::spin::Effect;
use crate::spin::repeated_reads::RepeatedReads;
use traces::Operation;

impl Machine<'_> {
    /// Called when the task has arrived at its next operation.
    pub(in crate::simulation) fn arrived(&mut self, task: usize, reads: &mut RepeatedReads) {
        if self.tasks[task].state != TaskState::Alive || self.tasks[task].alert.is_some() {
            return;
        }
        match self.code(task) {
            Code::Load(_, at) => {
                let (site, index) = (self.tasks[task].at as u64, self.at(task, at) as u64);
                self.tasks[task].waits = reads.waits(task, site, index);
            }
            Code::Store(..)
            | Code::FetchAdd(..)
            | Code::Add(..)
            | Code::Count(..)
            | Code::Exchange(..)
            | Code::CompareSwap(..) => reads.writes(task),
            _ => {}
        }
    }

    /// Called when the task is about to execute its next operation.
    pub(in crate::simulation) fn chosen(&self, task: usize, reads: &mut RepeatedReads) {
        if self.tasks[task].alert.is_some() {
            return;
        }
        if let (TaskState::Alive, Code::Load(_, at)) = (self.tasks[task].state, self.code(task)) {
            let index = self.at(task, at);
            let (site, value) = (self.tasks[task].at as u64, self.variables[index] as u64);
            reads.found(task, site, index as u64, value);
        }
    }

    /// A hash of everything that determines what the task does next.
    pub(in crate::simulation) fn state(&self, task: usize) -> u64 {
        let Task { body, at, registers, .. } = &self.tasks[task];
        registers.iter().fold(mix((*body as u64) << 16 | *at as u64), |hash, &register| {
            mix(hash ^ register as u64)
        })
    }

    /// Everything that determines the rest of the execution.
    pub(in crate::simulation) fn key(&self) -> impl std::hash::Hash + Eq + use<> {
        let tasks = self.tasks.iter().map(|task| {
            (task.body, task.at, task.registers, task.state, task.alert, task.interrupted)
        });
        (
            tasks.collect::<Vec<_>>(),
            (
                self.variables.clone(),
                self.owners.clone(),
                self.waiting.clone(),
                self.on_futexes.clone(),
                self.streams.clone(),
                self.alarms.clone(),
            ),
            (self.failed, self.over),
        )
    }

    /// The content of an object, if it is a variable.
    pub(in crate::simulation) fn content(&self, object: u64) -> u64 {
        let variable = object.checked_sub(FIRST).and_then(|at| self.variables.get(at as usize));
        variable.map_or(0, |&value| value as u64)
    }

    /// What an operation finds in its objects.
    pub(in crate::simulation) fn found(&self, next: &PendingOperation) -> u64 {
        let further = next.further_objects.iter();
        further.fold(self.content(next.object), |hash, object| mix(hash ^ self.content(object)))
    }

    /// Executes the task's step and returns its effect.
    pub(in crate::simulation) fn effect(&mut self, task: usize, next: &PendingOperation) -> Effect {
        let before = (self.variables.clone(), self.owners.clone());
        let expires = self.expires(task);
        let found = self.content(next.object);
        self.step(task);
        let same = before == (self.variables.clone(), self.owners.clone());
        match next.operation {
            Operation::Yield | Operation::Sleep => Effect::None,
            Operation::Read | Operation::Await => Effect::Read,
            Operation::Write | Operation::Update if same => Effect::Read,
            Operation::Write | Operation::Update => {
                let after = self.content(next.object);
                Effect::Replaced { object: next.object, before: found, after }
            }
            Operation::TryLock if same => Effect::Tried(next.object),
            Operation::TryLock => Effect::Acquired { lock: next.object, tried: true },
            Operation::Lock => Effect::Acquired { lock: next.object, tried: false },
            Operation::Unlock => Effect::Released(next.object),
            Operation::SemTimedWait if expires => Effect::Read,
            Operation::Ready | Operation::Transfer if same => Effect::Read,
            Operation::FutexWait => Effect::Read,
            Operation::FutexWoken | Operation::SignalWait if expires => Effect::None,
            Operation::Wait => Effect::Released(next.mutex),
            Operation::TimedWake if expires => Effect::Acquired { lock: next.mutex, tried: false },
            _ => Effect::Changed,
        }
    }
}
