//! What a program does, one visible operation at a time.
//!
//! Written from the manual pages and the definition of a step, not from the runtime: it is what the
//! runtime is held against.

use super::Outcome;
use super::code::{Instruction, flatten};
use super::program::{Call, LOCALS, MutexKind, Operand, Program, Variable};
use search::Next;
use traces::{Operation, TaskId};

mod step;

/// Something a generated program must not do, since its meaning is open or not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misuse {
    /// A normal mutex unlocked by another than its owner.
    Unlock,
    /// A condition wait without holding the mutex exactly once.
    Wait,
    /// A handle joined or detached before it was created or a second time, or created twice.
    Handle,
    /// A value left the range in which `int` and this machine certainly agree.
    Range,
}

/// What a task does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pending {
    Start,
    Call,
    /// The second half of the wait at which the task stands.
    Wake,
    Exit,
    ExitNow,
    /// It has ended.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Task {
    body: u8,
    at: usize,
    locals: [i32; LOCALS],
    pending: Pending,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct RwLock {
    writer: Option<u8>,
    /// Who reads, how many times; ascending.
    readers: Vec<(u8, u8)>,
    /// The writers that keep readers out; ascending.
    waiting: Vec<u8>,
}

/// Where an execution stands. Two equal states have the same futures.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// By order of creation, as the runtime numbers them.
    tasks: Vec<Task>,
    /// Who holds each mutex, and how many times.
    owners: Vec<Option<(u8, u8)>>,
    /// Who waits for each condition variable and was not woken, longest first.
    waiting: Vec<Vec<u8>>,
    semaphores: Vec<u8>,
    rwlocks: Vec<RwLock>,
    /// Who waits at each barrier.
    barriers: Vec<Vec<u8>>,
    /// Who holds each spin lock.
    spins: Vec<Option<u8>>,
    shared: Vec<i32>,
    /// The task behind each handle, and whether somebody joined or detached it already.
    handles: Vec<Option<(u8, bool)>>,
    /// Set by main's exit.
    status: Option<u8>,
    /// Whether the process has ended.
    over: bool,
}

/// Executes one program.
#[derive(Debug, Clone)]
pub struct Machine<'a> {
    program: &'a Program,
    code: Vec<Vec<Instruction>>,
}

impl<'a> Machine<'a> {
    /// A machine for this program.
    #[must_use]
    pub fn new(program: &'a Program) -> Machine<'a> {
        Machine { program, code: program.bodies.iter().map(|body| flatten(body)).collect() }
    }

    /// Main stands before its first operation; nothing was chosen yet.
    ///
    /// # Errors
    /// If what comes before main's first operation does what must not be done.
    pub fn initial(&self) -> Result<State, Misuse> {
        let mut state = State {
            tasks: vec![Task { body: 0, at: 0, locals: [0; LOCALS], pending: Pending::Call }],
            owners: vec![None; self.program.mutexes.len()],
            waiting: vec![Vec::new(); usize::from(self.program.conditions)],
            semaphores: self.program.semaphores.clone(),
            rwlocks: vec![RwLock::default(); self.program.rwlocks.len()],
            barriers: vec![Vec::new(); self.program.barriers.len()],
            spins: vec![None; usize::from(self.program.spins)],
            shared: vec![0; self.program.moduli.len()],
            handles: vec![None; usize::from(self.program.handles)],
            status: None,
            over: false,
        };
        self.run_on(&mut state, 0)?;
        Ok(state)
    }

    /// How the execution ended, if it has.
    #[must_use]
    pub fn outcome(&self, state: &State) -> Option<Outcome> {
        match state.status {
            Some(status) if state.over => Some(Outcome::Exit(status)),
            _ if (0..state.tasks.len()).any(|task| self.is_in_circle(state, task)) => {
                Some(Outcome::Deadlock)
            }
            _ if (0..state.tasks.len()).any(|task| self.enabled(state, task)) => None,
            _ => Some(Outcome::Deadlock),
        }
    }

    /// Who must all move before this task can, as far as they are certain.
    fn waits_for(&self, state: &State, task: usize) -> Vec<usize> {
        let pending = state.tasks[task].pending;
        if self.enabled(state, task) || !matches!(pending, Pending::Call | Pending::Wake) {
            return Vec::new();
        }
        let owner = |mutex: u8| state.owners[usize::from(mutex)].map(|(owner, _)| owner);
        let all: Vec<u8> = match (pending, self.call(state, task)) {
            (Pending::Wake, Call::Wait { condition, mutex }) => {
                let waits = state.waiting[usize::from(condition)].contains(&(task as u8));
                owner(mutex).filter(|_| !waits).into_iter().collect()
            }
            (_, Call::Lock(mutex)) => owner(mutex).into_iter().collect(),
            (_, Call::Join { handle }) => {
                state.handles[usize::from(handle)].map(|(target, _)| target).into_iter().collect()
            }
            (_, Call::ReadLock(lock)) => {
                let lock = &state.rwlocks[usize::from(lock)];
                lock.writer.map_or_else(|| lock.waiting.clone(), |writer| vec![writer])
            }
            (_, Call::WriteLock(lock)) => {
                let lock = &state.rwlocks[usize::from(lock)];
                let readers = || lock.readers.iter().map(|&(reader, _)| reader).collect();
                lock.writer.map_or_else(readers, |writer| vec![writer])
            }
            (_, Call::SpinLock(lock)) => state.spins[usize::from(lock)].into_iter().collect(),
            _ => Vec::new(),
        };
        all.into_iter().map(usize::from).collect()
    }

    /// Whether this task waits, through others, for itself: it will for ever.
    fn is_in_circle(&self, state: &State, task: usize) -> bool {
        let mut seen = Vec::new();
        let mut open = self.waits_for(state, task);
        while let Some(at) = open.pop() {
            if at == task {
                return true;
            }
            if !seen.contains(&at) {
                seen.push(at);
                open.extend(self.waits_for(state, at));
            }
        }
        false
    }

    fn is_readable(&self, state: &State, lock: u8) -> bool {
        let at = &state.rwlocks[usize::from(lock)];
        let kept_out = self.program.rwlocks[usize::from(lock)] && !at.waiting.is_empty();
        at.writer.is_none() && !kept_out
    }

    fn is_writable(state: &State, lock: u8) -> bool {
        let at = &state.rwlocks[usize::from(lock)];
        at.writer.is_none() && at.readers.is_empty()
    }

    /// The most yields that a body has, main's exit among them.
    #[must_use]
    pub fn most_yields(&self) -> usize {
        let yields =
            |instruction: &&Instruction| matches!(instruction, Instruction::Call(Call::Yield, _));
        let count = |(at, body): (usize, &Vec<Instruction>)| {
            body.iter().filter(yields).count() + usize::from(at == 0)
        };
        self.code.iter().enumerate().map(count).max().unwrap_or(0)
    }

    /// The tasks that may move, in ascending order.
    pub fn able<'s>(&'s self, state: &'s State) -> impl Iterator<Item = usize> + 's {
        (0..state.tasks.len()).filter(|&task| self.enabled(state, task))
    }

    /// Whether this task may move.
    #[must_use]
    pub fn enabled(&self, state: &State, task: usize) -> bool {
        match state.tasks[task].pending {
            Pending::Nothing => false,
            Pending::Start | Pending::Exit | Pending::ExitNow => true,
            Pending::Wake => match self.call(state, task) {
                Call::Wait { condition, mutex } => {
                    let woken = !state.waiting[usize::from(condition)].contains(&(task as u8));
                    woken && state.owners[usize::from(mutex)].is_none()
                }
                Call::Meet(barrier) => {
                    !state.barriers[usize::from(barrier)].contains(&(task as u8))
                }
                Call::WriteLock(lock) => Self::is_writable(state, lock),
                _ => unreachable!("only a wait has a second half"),
            },
            Pending::Call => match self.call(state, task) {
                Call::Lock(mutex) => match state.owners[usize::from(mutex)] {
                    None => true,
                    // The one answers, the other counts; a normal one waits for itself.
                    Some((owner, _)) if usize::from(owner) == task => {
                        self.kind(mutex) != MutexKind::Normal
                    }
                    Some(_) => false,
                },
                Call::SemWait(semaphore) => state.semaphores[usize::from(semaphore)] > 0,
                // Who writes already is told so.
                Call::ReadLock(lock) | Call::WriteLock(lock)
                    if state.rwlocks[usize::from(lock)].writer == Some(task as u8) =>
                {
                    true
                }
                Call::ReadLock(lock) => self.is_readable(state, lock),
                Call::WriteLock(lock) => {
                    self.program.rwlocks[usize::from(lock)] || Self::is_writable(state, lock)
                }
                Call::SpinLock(lock) => state.spins[usize::from(lock)].is_none(),
                Call::Join { handle } => {
                    let target = state.handles[usize::from(handle)];
                    target.is_some_and(|(target, _)| {
                        state.tasks[usize::from(target)].pending == Pending::Nothing
                    })
                }
                _ => true,
            },
        }
    }

    /// What this task, which has not ended, does next.
    #[must_use]
    pub fn operation(&self, state: &State, task: usize) -> Operation {
        match state.tasks[task].pending {
            Pending::Start => Operation::Start,
            Pending::Exit => Operation::Exit,
            Pending::ExitNow => Operation::ExitNow,
            Pending::Wake => match self.call(state, task) {
                Call::Meet(_) => Operation::BarrierPass,
                Call::WriteLock(_) => Operation::WriteWake,
                _ => Operation::Wake,
            },
            Pending::Nothing => unreachable!("a task that ended does nothing"),
            Pending::Call => match self.call(state, task) {
                Call::Create { .. } => Operation::Create,
                Call::Join { .. } => Operation::Join,
                Call::Detach { .. } => Operation::Detach,
                Call::Lock(_) => Operation::Lock,
                Call::TryLock(_) => Operation::TryLock,
                Call::Unlock(_) => Operation::Unlock,
                Call::Wait { .. } => Operation::Wait,
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
                Call::SpinUnlock(_) => Operation::SpinUnlock,
            },
        }
    }

    /// What this task, which has not ended, does next, in all detail: objects are numbered by kind.
    #[must_use]
    pub fn next(&self, state: &State, task: usize) -> Next {
        const MUTEXES: u64 = 1 << 8;
        const CONDITIONS: u64 = 2 << 8;
        const SEMAPHORES: u64 = 3 << 8;
        const MEMORY: u64 = 4 << 8;
        const RWLOCKS: u64 = 5 << 8;
        const BARRIERS: u64 = 6 << 8;
        const SPINS: u64 = 7 << 8;
        let operation = self.operation(state, task);
        let me = &state.tasks[task];
        let site = (u64::from(me.body) << 16) | me.at as u64;
        let plain = Next {
            also: if self.touches_memory(me.body) { MEMORY } else { 0 },
            enabled: self.enabled(state, task),
            ..Next::new(TaskId(task as u16), operation, 0, site)
        };
        let on = |base: u64, number: u8| Next { object: base + u64::from(number), ..plain };
        if matches!(me.pending, Pending::Start | Pending::Exit | Pending::ExitNow) {
            return plain;
        }
        let wakes = me.pending == Pending::Wake;
        let task_behind = |handle: u8| {
            let target = state.handles[usize::from(handle)].map_or(0, |(target, _)| target);
            Next { object: u64::from(target) + 1, ..plain }
        };
        match self.call(state, task) {
            Call::Create { .. } => Next { object: state.tasks.len() as u64 + 1, ..plain },
            Call::Join { handle } | Call::Detach { handle } => task_behind(handle),
            Call::Lock(mutex) | Call::TryLock(mutex) => {
                Next { writes: state.owners[usize::from(mutex)].is_none(), ..on(MUTEXES, mutex) }
            }
            Call::Unlock(mutex) => Next {
                writes: match self.kind(mutex) {
                    MutexKind::Normal => true,
                    _ => state.owners[usize::from(mutex)] == Some((task as u8, 1)),
                },
                ..on(MUTEXES, mutex)
            },
            Call::Wait { condition, mutex } => Next {
                mutex: MUTEXES + u64::from(mutex),
                woken: wakes && !state.waiting[usize::from(condition)].contains(&(task as u8)),
                ..on(CONDITIONS, condition)
            },
            Call::Signal(condition) | Call::Broadcast(condition) => on(CONDITIONS, condition),
            Call::SemWait(semaphore) | Call::SemTryWait(semaphore) | Call::SemPost(semaphore) => {
                let value = u64::from(state.semaphores[usize::from(semaphore)]);
                Next {
                    value,
                    writes: value > 0 || operation == Operation::SemPost,
                    ..on(SEMAPHORES, semaphore)
                }
            }
            Call::Yield => plain,
            Call::ReadLock(lock) => {
                let writer = state.rwlocks[usize::from(lock)].writer;
                Next { writes: writer != Some(task as u8), ..on(RWLOCKS, lock) }
            }
            Call::TryReadLock(lock) => {
                Next { writes: self.is_readable(state, lock), ..on(RWLOCKS, lock) }
            }
            Call::WriteLock(lock) => Next {
                preferred: !wakes && self.program.rwlocks[usize::from(lock)],
                writes: state.rwlocks[usize::from(lock)].writer != Some(task as u8),
                ..on(RWLOCKS, lock)
            },
            Call::TryWriteLock(lock) => {
                Next { writes: Self::is_writable(state, lock), ..on(RWLOCKS, lock) }
            }
            Call::RwUnlock(lock) => {
                let writer = state.rwlocks[usize::from(lock)].writer;
                Next { writes: writer.is_some(), ..on(RWLOCKS, lock) }
            }
            Call::Meet(barrier) => {
                let waits = state.barriers[usize::from(barrier)].contains(&(task as u8));
                Next { woken: wakes && !waits, ..on(BARRIERS, barrier) }
            }
            Call::SpinLock(lock) | Call::SpinUnlock(lock) => on(SPINS, lock),
        }
    }

    /// Whether what runs between the steps of such a task looks at shared variables or changes them.
    fn touches_memory(&self, body: u8) -> bool {
        let shared = |variable: Variable| matches!(variable, Variable::Shared(_));
        let operand = |operand| matches!(operand, Operand::Variable(variable) if shared(variable));
        // Main's last step reads them all.
        body == 0
            || self.code[usize::from(body)].iter().any(|instruction| match *instruction {
                Instruction::Assign(to, value) => {
                    shared(to) || operand(value.of) || operand(value.plus)
                }
                Instruction::Unless(test, _) => shared(test.left),
                _ => false,
            })
    }

    /// The tasks that have not ended, in ascending order.
    pub fn unfinished<'s>(&'s self, state: &'s State) -> impl Iterator<Item = usize> + 's {
        let tasks = state.tasks.iter().enumerate();
        tasks.filter(|(_, task)| task.pending != Pending::Nothing).map(|(number, _)| number)
    }

    /// How many ways this task's next step can go: 2 or more if it makes a data choice.
    #[must_use]
    pub fn ways(&self, state: &State, task: usize) -> u32 {
        match (state.tasks[task].pending, self.wakes(state, task)) {
            (Pending::Call, Some((Call::Signal(_), waiting))) => waiting.max(1) as u32,
            _ => 1,
        }
    }

    /// Whether this task's next step is a signal or broadcast that nobody waits for; and of which
    /// condition variable.
    #[must_use]
    pub fn unheard(&self, state: &State, task: usize) -> Option<u8> {
        match self.wakes(state, task)? {
            (Call::Signal(condition) | Call::Broadcast(condition), 0) => Some(condition),
            _ => None,
        }
    }

    /// Whether this task's next step is a lock or unlock that an error-checking or recursive mutex
    /// refuses: the owner locks again, or another than the owner unlocks.
    #[must_use]
    pub fn refused(&self, state: &State, task: usize) -> bool {
        if state.tasks[task].pending != Pending::Call {
            return false;
        }
        let mine = |mutex: u8| {
            let owner = state.owners[usize::from(mutex)];
            owner.is_some_and(|(owner, _)| usize::from(owner) == task)
        };
        match self.call(state, task) {
            Call::Lock(mutex) => mine(mutex) && self.kind(mutex) == MutexKind::ErrorChecking,
            Call::Unlock(mutex) => !mine(mutex),
            _ => false,
        }
    }

    /// Whether somebody waits for this condition variable and was not woken.
    #[must_use]
    pub fn waited_for(&self, state: &State, condition: u8) -> bool {
        !state.waiting[usize::from(condition)].is_empty()
    }

    /// How many tasks other than main have not ended.
    #[must_use]
    pub fn others_alive(&self, state: &State) -> usize {
        state.tasks[1..].iter().filter(|task| task.pending != Pending::Nothing).count()
    }

    /// A signal or broadcast that this task does next, and how many wait for it.
    fn wakes(&self, state: &State, task: usize) -> Option<(Call, usize)> {
        if state.tasks[task].pending != Pending::Call {
            return None;
        }
        match self.call(state, task) {
            call @ (Call::Signal(condition) | Call::Broadcast(condition)) => {
                Some((call, state.waiting[usize::from(condition)].len()))
            }
            _ => None,
        }
    }

    fn kind(&self, mutex: u8) -> MutexKind {
        self.program.mutexes[usize::from(mutex)]
    }

    fn call(&self, state: &State, task: usize) -> Call {
        let Task { body, at, .. } = state.tasks[task];
        match self.code[usize::from(body)][at] {
            Instruction::Call(call, _) => call,
            other => unreachable!("a task stands before {other:?}"),
        }
    }
}
