//! The operations that the tasks of a program are about to execute, and their times.

use super::{FIRST, Machine, TaskState};
use crate::reduction::events::Event;
use crate::reduction::pending::{Counting, PendingOperation};
use crate::simulation::program::{Code, Notice, Wanted};
use crate::time::{self, Candidate, MutexWaiter};
use traces::{Operation, TaskId};

impl Machine<'_> {
    /// The first variable that is other than 0.
    pub(in crate::simulation) fn ready(&self, wanted: Wanted) -> Option<usize> {
        wanted.of.into_iter().find(|&index| self.variables[index] != 0)
    }

    /// When the task's next step is an expiry: its deadline.
    pub(in crate::simulation) fn expiry(&self, task: usize) -> Option<u64> {
        let deadline = self.tasks[task].deadline?;
        if self.tasks[task].alert.is_some() {
            return None;
        }
        let expires = match (self.tasks[task].state, self.code(task)) {
            (TaskState::Waiting { woken }, _) => !woken,
            (_, Code::TimedLock(_, at, _)) => self.owners[self.at(task, at)].is_some(),
            (_, Code::TimedTake(_, index, _)) => self.variables[index] == 0,
            (_, Code::Ready(wanted)) => self.ready(wanted).is_none(),
            (_, Code::SignalWait(..)) => !self.alarms.is_pending(task),
            _ => true,
        };
        expires.then_some(deadline)
    }

    /// The candidates of the state, given the operations of all tasks.
    pub(in crate::simulation) fn candidates(
        &mut self,
        tasks: &[PendingOperation],
    ) -> Vec<Candidate> {
        if !self.timed {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        for next in tasks.iter().filter(|next| next.enabled) {
            let expires = self.expiry(next.task.index());
            let of = (next.task, next.operation);
            candidates.push(Candidate::new(&mut self.clocks, of, expires, || next));
        }
        let waiting =
            tasks.iter().filter(|next| next.operation == Operation::Lock && !next.enabled);
        let waiter = |next: &PendingOperation| {
            let task = next.task.index();
            let Code::Lock(at) = self.code(task) else { return None };
            let owner = TaskId(self.owners[self.at(task, at)]? as u16);
            Some(MutexWaiter::new(&self.clocks, next, owner))
        };
        time::add_waiters(&mut candidates, &mut waiting.filter_map(waiter).collect());
        candidates
    }

    /// Whether the step is an expiry.
    pub(in crate::simulation) fn expires(&self, task: usize) -> bool {
        self.expiry(task).is_some()
    }

    /// Time passes for the step that begins.
    pub(in crate::simulation) fn take_time(&mut self, task: usize) {
        if !self.timed {
            return;
        }
        let id = TaskId(task as u16);
        if let Some(next) = self.next(task) {
            let before = self.clocks.of(id).clock;
            let expiry = self.expiry(task);
            self.clocks.leave(id, next.operation);
            self.clocks.step(&Event::new(&next, 0), expiry);
            self.tasks[task].steps += 1;
            if expiry.is_some() && self.clocks.of(id).clock > before {
                self.tasks[task].steps = 0;
            } else if self.tasks[task].steps == time::STEPS {
                self.tasks[task].steps = 0;
                self.clocks.age(id, time::SECOND, false);
            }
        }
    }

    /// The task's pending operation. Object numbers: the variables from [`FIRST`] on, then the mutexes,
    /// then the condition variables.
    pub(in crate::simulation) fn next(&self, task: usize) -> Option<PendingOperation> {
        let variable = |index: usize| FIRST + index as u64;
        let mutex = |index: usize| FIRST + (self.variables.len() + index) as u64;
        let condition = |index: usize| mutex(self.owners.len() + index);
        let one_more = |task: usize| task as u64 + 1;
        let me = TaskId(task as u16);
        let site = (self.tasks[task].body as u64) << 16 | self.tasks[task].at as u64;
        let next = |operation, object| PendingOperation::new(me, operation, object, site);
        let free = |index: usize| self.owners[index].is_none();
        let counts = |counting| if self.program.counts { counting } else { Counting::None };
        if let Some(alert) = self.tasks[task].alert {
            let interrupts_step = alert.before_step;
            return Some(PendingOperation {
                interrupts_step,
                ..next(Operation::Handler, one_more(task))
            });
        }
        match self.tasks[task].state {
            TaskState::Unborn | TaskState::Ended => return None,
            TaskState::Starting => return Some(next(Operation::Start, one_more(task))),
            TaskState::Waiting { woken } if let Code::FutexWait(_, index, ..) = self.code(task) => {
                let next = next(Operation::FutexWoken, variable(index));
                return Some(PendingOperation { woken, has_timeout: true, ..next });
            }
            TaskState::Waiting { woken } => {
                let (index, with, timed) = match self.code(task) {
                    Code::Wait(index, with) => (index, with, false),
                    Code::TimedWait(_, index, with, _) => (index, with, true),
                    _ => return None,
                };
                let wake = if timed { Operation::TimedWake } else { Operation::Wake };
                return Some(PendingOperation {
                    mutex: mutex(with),
                    woken,
                    has_timeout: timed,
                    enabled: (timed || woken) && free(with),
                    ..next(wake, condition(index))
                });
            }
            TaskState::Alive => {}
        }
        Some(match self.code(task) {
            Code::Load(_, at) => {
                let waits = self.tasks[task].waits;
                let operation = if waits { Operation::Await } else { Operation::Read };
                next(operation, variable(self.at(task, at)))
            }
            Code::Store(at, _) => next(Operation::Write, variable(self.at(task, at))),
            Code::FetchAdd(_, at, _) | Code::Exchange(_, at, _) => {
                next(Operation::Update, variable(self.at(task, at)))
            }
            Code::Add(at, _) => {
                let index = self.at(task, at);
                PendingOperation {
                    counting: counts(Counting::Adds),
                    ..next(Operation::Update, variable(index))
                }
            }
            Code::Count(_, at, by) => {
                let index = self.at(task, at);
                PendingOperation {
                    counting: counts(if by > 0 { Counting::Raises } else { Counting::Lowers }),
                    value: self.variables[index].max(0) as u64,
                    ..next(Operation::Update, variable(index))
                }
            }
            Code::CompareSwap(_, at, expected, _) => {
                let index = self.at(task, at);
                PendingOperation {
                    writes: self.variables[index] == self.value(task, expected),
                    ..next(Operation::Update, variable(index))
                }
            }
            Code::Lock(at) => {
                let index = self.at(task, at);
                PendingOperation { enabled: free(index), ..next(Operation::Lock, mutex(index)) }
            }
            Code::TryLock(_, at) => {
                let index = self.at(task, at);
                PendingOperation { writes: free(index), ..next(Operation::TryLock, mutex(index)) }
            }
            Code::Peek(_, at) => next(Operation::Read, mutex(self.at(task, at))),
            Code::TimedLock(_, at, _) => {
                let index = self.at(task, at);
                let next = next(Operation::TimedLock, mutex(index));
                PendingOperation { writes: free(index), has_timeout: true, ..next }
            }
            Code::TimedTake(_, index, _) => {
                let value = self.variables[index] as u64;
                let next = next(Operation::SemTimedWait, variable(index));
                PendingOperation { value, writes: value > 0, has_timeout: true, ..next }
            }
            Code::FutexWait(_, index, ..) => next(Operation::FutexWait, variable(index)),
            Code::FutexWake(index) => next(Operation::FutexWake, variable(index)),
            Code::Ready(wanted) => {
                let has_timeout = wanted.limit.is_some();
                let [first, second] = wanted.of.map(variable);
                PendingOperation {
                    further_objects: (second != first).then_some(second).into_iter().collect(),
                    enabled: has_timeout || self.ready(wanted).is_some(),
                    writes: wanted.takes,
                    has_timeout,
                    ..next(Operation::Ready, first)
                }
            }
            Code::Transfer(wanted) => {
                let [first, second] = wanted.of.map(variable);
                PendingOperation {
                    further_objects: (second != first).then_some(second).into_iter().collect(),
                    writes: wanted.takes && self.ready(wanted).is_some(),
                    ..next(Operation::Transfer, first)
                }
            }
            Code::Send(stream, _) | Code::Shut(stream) => self.streams.sends(stream, &next),
            Code::Receive(_, stream, len) => self.streams.receives(stream, len, &next),
            Code::Sleep(_) => next(Operation::Sleep, 0),
            Code::ReadNow(_, index) => PendingOperation {
                writes: true,
                has_timeout: true,
                ..next(Operation::Ready, variable(index))
            },
            Code::SignalWait(_, limit) => PendingOperation {
                enabled: limit.is_some() || self.alarms.is_pending(task),
                has_timeout: limit.is_some(),
                ..next(Operation::SignalWait, 0)
            },
            Code::Pause => PendingOperation { enabled: false, ..next(Operation::SignalWait, 0) },
            Code::Arm(..) | Code::Disarm(_) => next(Operation::TimerSet, 0),
            Code::Expire(timer) => {
                let is_handled = self.program.handler.is_some()
                    && matches!(self.program.timers[timer], Notice::Process | Notice::Task(_));
                next(Operation::Timer, if is_handled { one_more(task) } else { 0 })
            }
            Code::Unlock(at) => next(Operation::Unlock, mutex(self.at(task, at))),
            Code::Wait(index, with) | Code::TimedWait(_, index, with, _) => {
                PendingOperation { mutex: mutex(with), ..next(Operation::Wait, condition(index)) }
            }
            Code::Signal(index) => next(Operation::Signal, condition(index)),
            Code::Broadcast(index) => next(Operation::Broadcast, condition(index)),
            Code::Take(index) => {
                let value = self.variables[index] as u64;
                let next = next(Operation::SemWait, variable(index));
                PendingOperation { value, enabled: value > 0, ..next }
            }
            Code::Post(index) => PendingOperation {
                value: self.variables[index] as u64,
                ..next(Operation::SemPost, variable(index))
            },
            Code::Create(other) => next(Operation::Create, one_more(other)),
            Code::Join(other) => PendingOperation {
                enabled: self.tasks[other].state == TaskState::Ended,
                ..next(Operation::Join, one_more(other))
            },
            Code::Yield => next(Operation::Yield, 0),
            Code::Exit => next(Operation::ExitNow, one_more(task)),
            // The task has failed, and waits for no other task.
            Code::Fail => next(Operation::Yield, 0),
            _ => return None,
        })
    }

    /// Whether the operation does nothing but wait, without a time limit: such an operation ends no iteration of a
    /// loop that polls.
    pub(in crate::simulation) fn only_waits(&self, next: &PendingOperation) -> bool {
        match next.operation {
            Operation::Ready | Operation::SignalWait => !next.has_timeout,
            _ => false,
        }
    }
}
