//! An interpreter for small abstract programs, which runs them under a strategy: strategies are
//! tested and compared without a process.
//!
//! Every access to a shared variable and every synchronisation is a step; computations in registers
//! are not. A strategy is driven exactly as the runtime drives it.

use super::program::{At, Code, Compare, Program, Value, Wanted};
use super::streams::Streams;
use crate::reduction::events::Event;
use crate::reduction::events::mix;
use crate::reduction::pending::{put_main_last, split_awaited};
use crate::spin::repeated_reads::RepeatedReads;
use crate::spin::{Effect, SpinDetector, Verdict};
use crate::time::{self, Candidate, Clocks, Moment, MutexWaiter};
use crate::{Decision, GiveUp, Outcome, PendingOperation, Strategy, View};
use traces::{Choice, Operation, TaskId, enabled};

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    /// Every task ended, or the process did.
    Passed,
    /// An assertion failed.
    Assertion,
    /// No task was enabled.
    Deadlock,
    /// The only enabled tasks spin forever.
    Livelock,
    /// It reached the step limit.
    Cut,
}

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// How it ended, or why the strategy gave it up.
    pub ending: Result<Ending, GiveUp>,
    /// The choices.
    pub choices: Vec<Choice>,
    /// The number of preemptions among the choices.
    pub preemptions: u32,
    /// The variables at the end.
    pub variables: Vec<i64>,
    /// The registers of all tasks at the end.
    pub registers: Vec<i64>,
}

const REGISTERS: usize = 8;
/// The number of the first variable as an object.
const FIRST: u64 = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TaskState {
    Unborn,
    Starting,
    Alive,
    /// Waits on a condition variable: the first half of the wait has executed.
    Waiting {
        woken: bool,
    },
    Ended,
}

#[derive(Debug, Clone)]
pub(super) struct Task {
    at: usize,
    registers: [i64; REGISTERS],
    state: TaskState,
    /// Whether the task's next operation is a read that found the same value several times before.
    waits: bool,
    /// When its next operation expires, if it has a time limit.
    deadline: Option<u64>,
    /// The number of its steps since its clock rose by an expiry.
    steps: u32,
}

#[derive(Clone)]
pub(super) struct Machine<'p> {
    program: &'p Program,
    pub(super) tasks: Vec<Task>,
    pub(super) variables: Vec<i64>,
    owners: Vec<Option<usize>>,
    /// By condition variable: the waiting tasks, longest first.
    waiting: Vec<Vec<usize>>,
    /// The tasks that wait on variables as on futexes.
    on_futexes: Vec<usize>,
    pub(super) streams: Streams,
    pub(super) failed: bool,
    pub(super) over: bool,
    clocks: Clocks,
    /// Whether the program does anything that depends on time.
    timed: bool,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program) -> Machine<'p> {
        let tasks = program.tasks.iter().map(|&(_, argument)| {
            let mut registers = [0; REGISTERS];
            registers[0] = argument;
            Task {
                at: 0,
                registers,
                state: TaskState::Unborn,
                waits: false,
                deadline: None,
                steps: 0,
            }
        });
        let mut machine = Machine {
            program,
            tasks: tasks.collect(),
            variables: program.variables.clone(),
            owners: vec![None; program.mutexes],
            waiting: vec![Vec::new(); program.conditions],
            on_futexes: Vec::new(),
            streams: Streams::new(&program.streams),
            failed: false,
            over: false,
            clocks: Clocks::default(),
            timed: program.is_timed(),
        };
        machine.clocks.begin(Moment::default());
        machine.tasks[0].state = TaskState::Alive;
        machine.run_on(0);
        machine
    }

    fn code(&self, task: usize) -> Code {
        self.program.code[self.program.tasks[task].0][self.tasks[task].at]
    }

    fn value(&self, task: usize, value: Value) -> i64 {
        match value {
            Value::Is(number) => number,
            Value::Register(register) => self.tasks[task].registers[register],
        }
    }

    fn at(&self, task: usize, at: At) -> usize {
        let offset = at.1.map_or(0, |register| self.tasks[task].registers[register]);
        (at.0 as i64 + offset) as usize
    }

    /// Runs the task up to its next step.
    fn run_on(&mut self, task: usize) {
        loop {
            let mut next = self.tasks[task].at + 1;
            match self.code(task) {
                Code::Sum(register, a, b) => {
                    self.tasks[task].registers[register] =
                        self.value(task, a) + self.value(task, b);
                }
                Code::Remainder(register, a, b) => {
                    let value = self.value(task, a).rem_euclid(self.value(task, b));
                    self.tasks[task].registers[register] = value;
                }
                Code::Jump(to) => next = to,
                Code::If(a, compare, b, to) => {
                    let (a, b) = (self.value(task, a), self.value(task, b));
                    if match compare {
                        Compare::Equal => a == b,
                        Compare::Differ => a != b,
                        Compare::Less => a < b,
                    } {
                        next = to;
                    }
                }
                Code::Now(register) => {
                    let now = self.clocks.read(TaskId(task as u16), false) / time::READING;
                    self.tasks[task].registers[register] = now as i64;
                }
                Code::Sleep(limit)
                | Code::Ready(Wanted { limit: Some(limit), .. })
                | Code::TimedLock(_, _, limit)
                | Code::TimedTake(_, _, limit) => {
                    return self.limit(task, limit);
                }
                Code::Fail => {
                    self.failed = true;
                    return;
                }
                Code::End => {
                    self.tasks[task].state = TaskState::Ended;
                    return;
                }
                _ => return,
            }
            self.tasks[task].at = next;
        }
    }

    /// Sets the deadline of the task's next operation, which has this time limit.
    fn limit(&mut self, task: usize, limit: u64) {
        let now = self.clocks.of(TaskId(task as u16)).clock;
        self.tasks[task].deadline = Some(now + limit);
    }

    /// The first variable that is other than 0.
    fn ready(&self, wanted: Wanted) -> Option<usize> {
        wanted.of.into_iter().find(|&index| self.variables[index] != 0)
    }

    /// When the task's next step is an expiry: its deadline.
    fn expiry(&self, task: usize) -> Option<u64> {
        let deadline = self.tasks[task].deadline?;
        let expires = match (self.tasks[task].state, self.code(task)) {
            (TaskState::Waiting { woken }, _) => !woken,
            (_, Code::TimedLock(_, at, _)) => self.owners[self.at(task, at)].is_some(),
            (_, Code::TimedTake(_, index, _)) => self.variables[index] == 0,
            (_, Code::Ready(wanted)) => self.ready(wanted).is_none(),
            _ => true,
        };
        expires.then_some(deadline)
    }

    /// The candidates of the state, given the operations of all tasks.
    fn candidates(&mut self, tasks: &[PendingOperation]) -> Vec<Candidate> {
        if !self.timed {
            return Vec::new();
        }
        let mut candidates = Vec::new();
        for next in tasks.iter().filter(|next| next.enabled) {
            let expires = self.expiry(next.task.index());
            candidates.push(Candidate::new(&mut self.clocks, next, expires));
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
    fn expires(&self, task: usize) -> bool {
        self.expiry(task).is_some()
    }

    /// Time passes for the step that begins.
    fn take_time(&mut self, task: usize) {
        if !self.timed {
            return;
        }
        let id = TaskId(task as u16);
        if let Some(next) = self.next(task) {
            let before = self.clocks.of(id).clock;
            let expiry = self.expiry(task);
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
    pub(super) fn next(&self, task: usize) -> Option<PendingOperation> {
        let variable = |index: usize| FIRST + index as u64;
        let mutex = |index: usize| FIRST + (self.variables.len() + index) as u64;
        let condition = |index: usize| mutex(self.owners.len() + index);
        let one_more = |task: usize| task as u64 + 1;
        let me = TaskId(task as u16);
        let site = (self.program.tasks[task].0 as u64) << 16 | self.tasks[task].at as u64;
        let next = |operation, object| PendingOperation::new(me, operation, object, site);
        let free = |index: usize| self.owners[index].is_none();
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

    pub(super) fn step(&mut self, task: usize) {
        let expires = self.expires(task);
        self.take_time(task);
        self.tasks[task].deadline = None;
        match self.tasks[task].state {
            TaskState::Starting => {
                self.tasks[task].state = TaskState::Alive;
                return self.run_on(task);
            }
            TaskState::Waiting { .. } => {
                match self.code(task) {
                    Code::Wait(_, with) => self.owners[with] = Some(task),
                    Code::TimedWait(register, index, with, _) => {
                        self.owners[with] = Some(task);
                        self.waiting[index].retain(|&waiting| waiting != task);
                        self.tasks[task].registers[register] = i64::from(expires);
                    }
                    Code::FutexWait(register, ..) => {
                        self.on_futexes.retain(|&waiting| waiting != task);
                        self.tasks[task].registers[register] = i64::from(expires);
                    }
                    _ => {}
                }
                self.tasks[task].state = TaskState::Alive;
                self.tasks[task].at += 1;
                return self.run_on(task);
            }
            _ => {}
        }
        match self.code(task) {
            Code::Load(register, at) => {
                let index = self.at(task, at);
                self.tasks[task].registers[register] = self.variables[index];
            }
            Code::Store(at, value) => {
                let index = self.at(task, at);
                self.variables[index] = self.value(task, value);
            }
            Code::FetchAdd(register, at, value) => {
                let index = self.at(task, at);
                let before = self.variables[index];
                self.variables[index] += self.value(task, value);
                self.tasks[task].registers[register] = before;
            }
            Code::Exchange(register, at, value) => {
                let index = self.at(task, at);
                let before = self.variables[index];
                self.variables[index] = self.value(task, value);
                self.tasks[task].registers[register] = before;
            }
            Code::CompareSwap(register, at, expected, value) => {
                let index = self.at(task, at);
                let before = self.variables[index];
                if before == self.value(task, expected) {
                    self.variables[index] = self.value(task, value);
                }
                self.tasks[task].registers[register] = before;
            }
            Code::Lock(at) => {
                let index = self.at(task, at);
                self.owners[index] = Some(task);
            }
            Code::TryLock(register, at) => {
                let index = self.at(task, at);
                let is_free = self.owners[index].is_none();
                self.owners[index].get_or_insert(task);
                self.tasks[task].registers[register] = i64::from(is_free);
            }
            Code::Peek(register, at) => {
                let is_held = self.owners[self.at(task, at)].is_some();
                self.tasks[task].registers[register] = i64::from(is_held);
            }
            Code::Unlock(at) => {
                let index = self.at(task, at);
                self.owners[index] = None;
            }
            Code::TimedLock(register, at, _) => {
                let index = self.at(task, at);
                self.owners[index].get_or_insert(task);
                self.tasks[task].registers[register] = i64::from(expires);
            }
            Code::Wait(index, with) | Code::TimedWait(_, index, with, _) => {
                self.owners[with] = None;
                self.waiting[index].push(task);
                self.tasks[task].state = TaskState::Waiting { woken: false };
                if let Code::TimedWait(_, _, _, limit) = self.code(task) {
                    self.limit(task, limit);
                }
                return;
            }
            Code::TimedTake(register, index, _) => {
                self.variables[index] -= i64::from(!expires);
                self.tasks[task].registers[register] = i64::from(expires);
            }
            Code::FutexWait(register, index, expected, limit) => {
                if self.variables[index] == self.value(task, expected) {
                    self.on_futexes.push(task);
                    self.tasks[task].state = TaskState::Waiting { woken: false };
                    return self.limit(task, limit);
                }
                self.tasks[task].registers[register] = 2;
            }
            Code::Ready(wanted) | Code::Transfer(wanted) => {
                let ready = self.ready(wanted);
                let found = ready.map_or(0, |index| self.variables[index]);
                self.tasks[task].registers[wanted.register] = found;
                if let Some(index) = ready.filter(|_| wanted.takes) {
                    self.variables[index] = 0;
                }
            }
            Code::Send(stream, len) => self.streams.send(stream, len),
            Code::Shut(stream) => self.streams.shut(stream),
            Code::Receive(register, stream, len) => {
                let count = self.streams.receive(stream, len, task as u16);
                self.tasks[task].registers[register] = count as i64;
            }
            Code::FutexWake(index) => {
                let all = std::mem::take(&mut self.on_futexes);
                for waiting in all {
                    match self.code(waiting) {
                        Code::FutexWait(_, on, ..) if on == index => self.wake(task, waiting),
                        _ => self.on_futexes.push(waiting),
                    }
                }
            }
            Code::Signal(index) => {
                let longest = self.waiting[index].first().copied();
                self.waiting[index].retain(|&task| Some(task) != longest);
                if let Some(woken) = longest {
                    self.wake(task, woken);
                }
            }
            Code::Broadcast(index) => {
                for woken in std::mem::take(&mut self.waiting[index]) {
                    self.wake(task, woken);
                }
            }
            Code::Take(index) => self.variables[index] -= 1,
            Code::Post(index) => self.variables[index] += 1,
            Code::Create(other) => self.tasks[other].state = TaskState::Starting,
            Code::Exit => self.over = true,
            _ => {}
        }
        self.tasks[task].at += 1;
        self.run_on(task);
    }
}

impl Machine<'_> {
    fn wake(&mut self, by: usize, task: usize) {
        self.tasks[task].state = TaskState::Waiting { woken: true };
        self.clocks.enable(TaskId(by as u16), TaskId(task as u16));
    }

    /// Called when the task has arrived at its next operation.
    fn arrived(&mut self, task: usize, reads: &mut RepeatedReads) {
        if self.tasks[task].state != TaskState::Alive {
            return;
        }
        match self.code(task) {
            Code::Load(_, at) => {
                let (site, index) = (self.tasks[task].at as u64, self.at(task, at) as u64);
                self.tasks[task].waits = reads.waits(task, site, index);
            }
            Code::Store(..) | Code::FetchAdd(..) | Code::Exchange(..) | Code::CompareSwap(..) => {
                reads.writes(task)
            }
            _ => {}
        }
    }

    /// Called when the task is about to execute its next operation.
    fn chosen(&self, task: usize, reads: &mut RepeatedReads) {
        if let (TaskState::Alive, Code::Load(_, at)) = (self.tasks[task].state, self.code(task)) {
            let index = self.at(task, at);
            let (site, value) = (self.tasks[task].at as u64, self.variables[index] as u64);
            reads.found(task, site, index as u64, value);
        }
    }

    /// A hash of everything that determines what the task does next.
    fn state(&self, task: usize) -> u64 {
        let Task { at, registers, .. } = &self.tasks[task];
        registers.iter().fold(mix(*at as u64), |hash, &register| mix(hash ^ register as u64))
    }

    /// Everything that determines the rest of the execution.
    pub(super) fn key(&self) -> impl std::hash::Hash + Eq + use<> {
        let tasks = self.tasks.iter().map(|task| (task.at, task.registers, task.state));
        (
            tasks.collect::<Vec<_>>(),
            (
                self.variables.clone(),
                self.owners.clone(),
                self.waiting.clone(),
                self.on_futexes.clone(),
                self.streams.clone(),
            ),
            (self.failed, self.over),
        )
    }

    /// The content of an object, if it is a variable.
    fn content(&self, object: u64) -> u64 {
        let variable = object.checked_sub(FIRST).and_then(|at| self.variables.get(at as usize));
        variable.map_or(0, |&value| value as u64)
    }

    /// What an operation finds in its objects.
    fn found(&self, next: &PendingOperation) -> u64 {
        let further = next.further_objects.iter();
        further.fold(self.content(next.object), |hash, object| mix(hash ^ self.content(object)))
    }

    /// Executes the task's step and returns its effect.
    fn effect(&mut self, task: usize, next: &PendingOperation) -> Effect {
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
            Operation::FutexWoken if expires => Effect::None,
            Operation::Wait => Effect::Released(next.mutex),
            Operation::TimedWake if expires => Effect::Acquired { lock: next.mutex, tried: false },
            _ => Effect::Changed,
        }
    }
}

/// The objects that an operation reads or may change; a read has no mutex.
fn objects(next: &PendingOperation) -> Vec<u64> {
    [next.object, next.mutex].into_iter().chain(next.further_objects.iter()).collect()
}

/// The executions of `strategy` over the program, numbered from 1, until it has no more.
pub fn runs<'a, S: Strategy>(
    program: &'a Program,
    strategy: &'a mut S,
) -> impl Iterator<Item = Run> + 'a {
    let mut number = 0;
    std::iter::from_fn(move || {
        number += 1;
        strategy.begin(number).then(|| run(program, strategy))
    })
}

/// Runs the rest of an execution that `strategy` has begun.
///
/// # Panics
/// If the strategy chooses a task that is not enabled.
pub fn run<S: Strategy>(program: &Program, strategy: &mut S) -> Run {
    let (mut stalls, mut reads) = (SpinDetector::default(), RepeatedReads::default());
    stalls.begin(false, true);
    reads.begin();
    let mut machine = Machine::new(program);
    let mut gave_way = false;
    let (mut running, mut yielded, mut step, mut arrived) = (None, false, 0, None::<TaskId>);
    let (mut able, mut operations, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut choices, mut preemptions, mut place) = (Vec::new(), 0, 0);
    let ending = loop {
        if let Some(task) = arrived {
            machine.arrived(task.index(), &mut reads);
        }
        tasks.clear();
        tasks.extend((0..machine.tasks.len()).filter_map(|task| machine.next(task)));
        let matters = |next: &&PendingOperation| {
            Some(next.task) == arrived
                && SpinDetector::may_spin_at(next.operation)
                && (next.operation != Operation::Ready || next.has_timeout)
        };
        if let Some(next) = tasks.iter().find(matters) {
            let state = || machine.state(next.task.index());
            let content = |object| machine.content(object);
            stalls.arrive(next.task, next.operation, next.object, next.site, state, content);
        }
        let is_blocked = |stalls: &SpinDetector, next: &PendingOperation| {
            stalls.is_in_trial() || stalls.is_spinning(next.task) && !next.woken
        };
        let mut livelock = false;
        if tasks.iter().all(|next| !next.enabled || is_blocked(&stalls, next)) {
            let of = |task| tasks.iter().find(|next| next.task == task);
            let pending = |task| {
                let next = of(task).filter(|next| next.enabled);
                next.map(|next| (next.operation, next.object))
            };
            match stalls.verdict(pending) {
                Verdict::Try(task) => {
                    arrived = Some(task);
                    let next = tasks.iter().find(|next| next.task == task);
                    let next = next.expect("it is alive").clone();
                    machine.chosen(task.index(), &mut reads);
                    let found = machine.found(&next);
                    let effect = machine.effect(task.index(), &next);
                    stalls.record_step(task, effect, &objects(&next), found);
                    continue;
                }
                Verdict::Livelock => livelock = true,
                Verdict::Deadlock => {}
            }
        }
        for next in tasks.iter_mut().filter(|_| stalls.is_active()) {
            next.enabled &= !is_blocked(&stalls, next);
            match stalls.awaited_objects(next.task) {
                Some(objects) => {
                    (next.awaited_objects, next.restored_objects) = split_awaited(objects);
                }
                None => next.awaits_unknown = true,
            }
        }
        let mut due = machine.candidates(&tasks);
        time::due(&mut due, program.slack, |task| {
            for next in tasks.iter_mut().filter(|next| next.task == task) {
                (next.enabled, next.not_due) = (false, true);
            }
        });
        if program.main_last {
            put_main_last(&mut tasks);
        }
        let is_enabled = |task| tasks.iter().any(|next| next.task == task && next.enabled);
        let expiries: Vec<TaskId> = match program.slack {
            Some(_) => due.iter().map(|one| one.task).filter(|&task| is_enabled(task)).collect(),
            None => Vec::new(),
        };
        able.clear();
        operations.clear();
        for next in tasks.iter().filter(|next| next.enabled) {
            able.push(next.task);
            operations.push(next.operation);
        }
        let ending = match () {
            () if machine.failed => Some(Ending::Assertion),
            () if machine.over || tasks.is_empty() => Some(Ending::Passed),
            () if livelock => Some(Ending::Livelock),
            () if able.is_empty() => Some(Ending::Deadlock),
            () if step >= program.max_steps => Some(Ending::Cut),
            () => None,
        };
        if let Some(ending) = ending {
            strategy.pending_at_end(&tasks);
            strategy.end(match ending {
                _ if stalls.blocked_wrongly() => Outcome::Cut,
                Ending::Passed => Outcome::Passed,
                Ending::Cut => Outcome::Cut,
                Ending::Assertion | Ending::Deadlock | Ending::Livelock => Outcome::Failed,
            });
            break Ok(ending);
        }
        let view = View {
            step,
            running,
            yielded,
            site: place,
            enabled: &able,
            operations: &operations,
            digest: enabled::digest(able.iter().copied()),
            expiries: &expiries,
            gave_way,
            tasks: if strategy.needs_pending_now() { &tasks } else { &[] },
        };
        let task = match strategy.choose(&view) {
            Decision::Task(task) => task,
            Decision::GiveUp(why) => {
                strategy.pending_at_end(&tasks);
                strategy.end(Outcome::GivenUp);
                break Err(why);
            }
        };
        let at = able.binary_search(&task).expect("a strategy chooses an enabled task");
        preemptions += u32::from(view.preempts(task));
        choices.push(Choice::Task(task));
        running = Some(task);
        arrived = running;
        yielded = operations[at].yields()
            || operations[at].may_time_out() && machine.expires(task.index());
        gave_way = operations[at] == Operation::Yield;
        let next = tasks.iter().find(|next| next.task == task);
        place = next.map_or(0, |next| next.site);
        machine.chosen(task.index(), &mut reads);
        match next {
            Some(next) if stalls.is_active() => {
                let found = machine.found(next);
                let effect = machine.effect(task.index(), next);
                stalls.record_step(task, effect, &objects(next), found);
            }
            _ => machine.step(task.index()),
        }
        step += 1;
    };
    let registers = machine.tasks.iter().flat_map(|task| task.registers).collect();
    Run { ending, choices, preemptions, variables: machine.variables, registers }
}
