//! The state of a small abstract program and its steps.
//!
//! Every access to a shared variable and every synchronisation is a step; computations in registers
//! are not.

mod alarms;
mod observed;
mod pending;
mod signals;

use super::program::{At, Code, Compare, Program, Value, Wanted};
use super::streams::Streams;
use crate::time::{self, Clocks, Moment};
use signals::{Alarms, Alert, Interrupted};
use traces::TaskId;

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
    /// The number of the code that it executes.
    body: usize,
    at: usize,
    pub(super) registers: [i64; REGISTERS],
    state: TaskState,
    /// Whether the task's next operation is a read that found the same value several times before.
    waits: bool,
    /// When its next operation expires, if it has a time limit.
    deadline: Option<u64>,
    /// The number of its steps since its clock rose by an expiry.
    steps: u32,
    /// Set while its next step is to handle the signal.
    alert: Option<Alert>,
    /// What it was about to do, while it is in the handler.
    interrupted: Option<Interrupted>,
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
    alarms: Alarms,
    pub(super) failed: bool,
    pub(super) over: bool,
    clocks: Clocks,
    /// Whether the program does anything that depends on time.
    timed: bool,
}

impl<'p> Machine<'p> {
    pub(super) fn new(program: &'p Program) -> Machine<'p> {
        let tasks = program.tasks.iter().map(|&(body, argument)| {
            let mut registers = [0; REGISTERS];
            registers[0] = argument;
            Task {
                body,
                at: 0,
                registers,
                state: TaskState::Unborn,
                waits: false,
                deadline: None,
                steps: 0,
                alert: None,
                interrupted: None,
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
            alarms: Alarms::new(program.timers.len(), program.tasks.len()),
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
        self.program.code[self.tasks[task].body][self.tasks[task].at]
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
                | Code::TimedTake(_, _, limit)
                | Code::SignalWait(_, Some(limit)) => {
                    return self.limit(task, limit);
                }
                Code::Expire(timer) => return self.limit_to_expiry(task, timer),
                Code::Again => {
                    if !self.expires_again(task) {
                        self.tasks[task].state = TaskState::Ended;
                        return;
                    }
                    next = 0;
                }
                Code::Fail => {
                    self.failed = true;
                    return;
                }
                Code::End if self.tasks[task].interrupted.is_some() => {
                    if !self.leave_handler(task) {
                        return;
                    }
                    continue;
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

    pub(super) fn step(&mut self, task: usize) {
        let expires = self.expires(task);
        self.take_time(task);
        if self.tasks[task].alert.is_some() {
            return self.handle(task);
        }
        self.tasks[task].deadline = None;
        match self.tasks[task].state {
            TaskState::Starting => {
                self.tasks[task].state = TaskState::Alive;
                self.handle_at_start(task);
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
            Code::Add(at, number) => {
                let index = self.at(task, at);
                self.variables[index] += number;
            }
            Code::Count(register, at, by) => {
                let index = self.at(task, at);
                self.variables[index] += by;
                let is_positive = self.variables[index] > 0;
                self.tasks[task].registers[register] = if is_positive { 0 } else { 2 };
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
            Code::Create(other) => {
                self.tasks[other].state = TaskState::Starting;
                self.alarms.created(other);
            }
            Code::ReadNow(register, index) => {
                self.tasks[task].registers[register] = std::mem::take(&mut self.variables[index]);
            }
            Code::SignalWait(register, _) => {
                self.tasks[task].registers[register] = i64::from(!self.alarms.take(task));
            }
            Code::Arm(timer, with, times) => self.arm(task, timer, with, times),
            Code::Disarm(timer) => self.disarm(timer),
            Code::Expire(timer) => {
                let is_over = !self.expire(task, timer);
                if is_over {
                    self.tasks[task].state = TaskState::Ended;
                    return;
                }
            }
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
}
