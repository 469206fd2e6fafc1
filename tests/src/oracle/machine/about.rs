//! The next operation of each task, in the form that strategies see.

use super::super::code::Instruction;
use super::super::program::{Call, Operand, Variable};
use super::{Machine, Pending, State};
use search::PendingOperation;
use traces::{Operation, TaskId};

impl Machine<'_> {
    /// The next operation of this task, which has not ended.
    #[must_use]
    pub fn operation(&self, state: &State, task: usize) -> Operation {
        if state.tasks[task].handles() {
            return Operation::Handler;
        }
        match state.tasks[task].pending {
            Pending::Start => Operation::Start,
            Pending::Exit => Operation::Exit,
            Pending::ExitNow => Operation::ExitNow,
            Pending::GiveUp => Operation::Unlock,
            Pending::Wake => match self.call(state, task) {
                Call::Meet(_) => Operation::BarrierPass,
                Call::WriteLock(_) | Call::TimedWriteLock(..) => Operation::WriteWake,
                Call::TimedWait { .. } => Operation::TimedWake,
                Call::FutexWait { .. } => Operation::FutexWoken,
                _ => Operation::Wake,
            },
            Pending::Nothing => unreachable!("a task that ended does nothing"),
            Pending::Call => match self.call(state, task) {
                Call::Create { .. } => Operation::Create,
                Call::Join { .. } | Call::TryJoin { .. } => Operation::Join,
                Call::Detach { .. } => Operation::Detach,
                Call::Lock(_) => Operation::Lock,
                Call::TryLock(_) => Operation::TryLock,
                Call::Unlock(_) => Operation::Unlock,
                Call::Wait { .. } | Call::TimedWait { .. } => Operation::Wait,
                Call::Signal(_) => Operation::Signal,
                Call::Broadcast(_) => Operation::Broadcast,
                Call::SemWait(_) => Operation::SemWait,
                Call::SemTryWait(_) => Operation::SemTryWait,
                Call::SemPost(_) => Operation::SemPost,
                Call::Yield => Operation::Yield,
                Call::ReadLock(_) => Operation::ReadLock,
                Call::TryReadLock(_) => Operation::TryReadLock,
                Call::WriteLock(_) => Operation::WriteLock,
                Call::TryWriteLock(_) => Operation::TryWriteLock,
                Call::RwUnlock(_) => Operation::RwUnlock,
                Call::Meet(_) => Operation::BarrierWait,
                Call::SpinLock(_) => Operation::SpinLock,
                Call::SpinTryLock(_) => Operation::SpinTryLock,
                Call::SpinUnlock(_) => Operation::SpinUnlock,
                Call::TimedLock(..) => Operation::TimedLock,
                Call::SemTimedWait(..) => Operation::SemTimedWait,
                Call::TimedReadLock(..) => Operation::TimedReadLock,
                Call::TimedWriteLock(..) => Operation::TimedWriteLock,
                Call::FutexWait { .. } => Operation::FutexWait,
                Call::FutexWake { .. } => Operation::FutexWake,
                Call::FutexRequeue { .. } => Operation::FutexRequeue,
                Call::Cancel { .. } => Operation::Cancel,
                Call::TestCancel => Operation::TestCancel,
                Call::Kill { .. } => Operation::Kill,
                Call::Once(_) => Operation::Once,
            },
        }
    }

    /// The next operation of this task, which has not ended, with all details: objects are numbered by kind.
    #[must_use]
    pub fn next(&self, state: &State, task: usize) -> PendingOperation {
        const MUTEXES: u64 = 1 << 8;
        const CONDITIONS: u64 = 2 << 8;
        const SEMAPHORES: u64 = 3 << 8;
        const MEMORY: u64 = 4 << 8;
        const RWLOCKS: u64 = 5 << 8;
        const BARRIERS: u64 = 6 << 8;
        const SPINS: u64 = 7 << 8;
        const WORDS: u64 = 8 << 8;
        const ONCES: u64 = 9 << 8;
        let operation = self.operation(state, task);
        let me = &state.tasks[task];
        let site = (u64::from(me.body) << 16) | me.at as u64;
        let plain = PendingOperation {
            further_objects: self.touches_memory(me.body).then_some(MEMORY).into_iter().collect(),
            enabled: self.enabled(state, task),
            ..PendingOperation::new(TaskId(task as u16), operation, 0, site)
        };
        let on = |base: u64, number: u8| PendingOperation {
            object: base + u64::from(number),
            ..plain.clone()
        };
        if me.handles() {
            // The task stays at its call, and may be cancelled there.
            return PendingOperation {
                object: task as u64 + 1,
                cancellable: self.is_point(state, task),
                ..plain.clone()
            };
        }
        if matches!(me.pending, Pending::Start | Pending::Exit | Pending::ExitNow) {
            return plain;
        }
        if let (Pending::GiveUp, Some(&mutex)) = (me.pending, me.robust.last()) {
            return on(MUTEXES, mutex);
        }
        let wakes = me.pending == Pending::Wake;
        let task_behind = |handle: u8| {
            let target = state.handles[usize::from(handle)].map_or(0, |(target, _)| target);
            PendingOperation { object: u64::from(target) + 1, ..plain.clone() }
        };
        let plain = PendingOperation { cancellable: self.is_point(state, task), ..plain.clone() };
        let on = |base: u64, number: u8| PendingOperation {
            object: base + u64::from(number),
            ..plain.clone()
        };
        match self.call(state, task) {
            Call::Create { .. } => {
                PendingOperation { object: state.tasks.len() as u64 + 1, ..plain.clone() }
            }
            Call::Join { handle }
            | Call::Detach { handle }
            | Call::Cancel { handle }
            | Call::Kill { handle } => task_behind(handle),
            Call::TryJoin { handle, .. } => {
                PendingOperation { has_timeout: true, ..task_behind(handle) }
            }
            Call::Lock(mutex) | Call::TryLock(mutex) | Call::TimedLock(mutex, _) => {
                PendingOperation {
                    writes: state.owners[usize::from(mutex)].is_none(),
                    has_timeout: operation == Operation::TimedLock,
                    ..on(MUTEXES, mutex)
                }
            }
            Call::Unlock(mutex) => PendingOperation {
                writes: match self.kind(mutex) {
                    kind if kind.waits_for_itself() => true,
                    _ => state.owners[usize::from(mutex)] == Some((task as u8, 1)),
                },
                ..on(MUTEXES, mutex)
            },
            Call::Wait { condition, mutex } | Call::TimedWait { condition, mutex, .. } => {
                PendingOperation {
                    has_timeout: operation == Operation::TimedWake,
                    mutex: MUTEXES + u64::from(mutex),
                    woken: wakes && !state.waiting[usize::from(condition)].contains(&(task as u8)),
                    ..on(CONDITIONS, condition)
                }
            }
            Call::Signal(condition) | Call::Broadcast(condition) => on(CONDITIONS, condition),
            Call::SemWait(semaphore)
            | Call::SemTryWait(semaphore)
            | Call::SemTimedWait(semaphore, _)
            | Call::SemPost(semaphore) => {
                let value = u64::from(state.semaphores[usize::from(semaphore)]);
                PendingOperation {
                    has_timeout: operation == Operation::SemTimedWait,
                    value,
                    writes: value > 0 || operation == Operation::SemPost,
                    ..on(SEMAPHORES, semaphore)
                }
            }
            Call::Yield | Call::TestCancel => plain,
            Call::ReadLock(lock) => {
                let writer = state.rwlocks[usize::from(lock)].writer;
                PendingOperation { writes: writer != Some(task as u8), ..on(RWLOCKS, lock) }
            }
            Call::TryReadLock(lock) | Call::TimedReadLock(lock, _) => {
                PendingOperation { writes: self.is_readable(state, lock), ..on(RWLOCKS, lock) }
            }
            Call::WriteLock(lock) => PendingOperation {
                prefers_writers: !wakes && self.program.rwlocks[usize::from(lock)],
                writes: state.rwlocks[usize::from(lock)].writer != Some(task as u8),
                ..on(RWLOCKS, lock)
            },
            Call::TimedWriteLock(lock, _) => PendingOperation {
                writes: wakes
                    || self.program.rwlocks[usize::from(lock)]
                    || Self::is_writable(state, lock),
                has_timeout: wakes,
                ..on(RWLOCKS, lock)
            },
            Call::TryWriteLock(lock) => {
                PendingOperation { writes: Self::is_writable(state, lock), ..on(RWLOCKS, lock) }
            }
            Call::RwUnlock(lock) => {
                let writer = state.rwlocks[usize::from(lock)].writer;
                PendingOperation { writes: writer.is_some(), ..on(RWLOCKS, lock) }
            }
            Call::Meet(barrier) => {
                let waits = state.barriers[usize::from(barrier)].contains(&(task as u8));
                PendingOperation { woken: wakes && !waits, ..on(BARRIERS, barrier) }
            }
            Call::SpinLock(lock) | Call::SpinUnlock(lock) => on(SPINS, lock),
            Call::SpinTryLock(lock) => PendingOperation {
                writes: state.spins[usize::from(lock)].is_none(),
                ..on(SPINS, lock)
            },
            Call::FutexWait { word, limited, .. } => {
                // The task may have been moved to another word.
                let sleeps = |on: &Vec<u8>| on.contains(&(task as u8));
                let at = state.sleeping.iter().position(sleeps);
                PendingOperation {
                    woken: wakes && at.is_none(),
                    has_timeout: wakes && limited,
                    ..on(WORDS, at.map_or(word, |at| at as u8))
                }
            }
            Call::FutexWake { word, .. } | Call::FutexRequeue { word, .. } => on(WORDS, word),
            Call::Once(once) => on(ONCES, once),
        }
    }

    /// Whether a task is at a cancellation point.
    pub(super) fn is_point(&self, state: &State, task: usize) -> bool {
        matches!(state.tasks[task].pending, Pending::Call | Pending::Wake)
            && matches!(
                self.call(state, task),
                Call::Join { .. }
                    | Call::TryJoin { limit: Some(_), .. }
                    | Call::SemWait(_)
                    | Call::SemTimedWait(..)
                    | Call::Wait { .. }
                    | Call::TimedWait { .. }
                    | Call::TestCancel
            )
    }

    /// Whether the code between the steps of such a task reads or writes shared variables.
    fn touches_memory(&self, body: u8) -> bool {
        let shared = |variable: Variable| matches!(variable, Variable::Shared(_));
        let operand = |operand| matches!(operand, Operand::Variable(variable) if shared(variable));
        // Main's last step reads all shared variables.
        body == 0
            || self.code[usize::from(body)].iter().any(|instruction| match *instruction {
                Instruction::Assign(to, value) => {
                    shared(to) || operand(value.of) || operand(value.plus)
                }
                Instruction::Unless(test, _) => shared(test.left),
                _ => false,
            })
    }
}
