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

    /// Who must move before this task can, where that is one certain task.
    fn waits_for(&self, state: &State, task: usize) -> Option<usize> {
        let owner =
            |mutex: u8| state.owners[usize::from(mutex)].map(|(owner, _)| usize::from(owner));
        let pending = state.tasks[task].pending;
        if self.enabled(state, task) {
            return None;
        }
        match (
            pending,
            matches!(pending, Pending::Call | Pending::Wake).then(|| self.call(state, task))?,
        ) {
            (Pending::Wake, Call::Wait { condition, mutex }) => {
                let waits = state.waiting[usize::from(condition)].contains(&(task as u8));
                if waits { None } else { owner(mutex) }
            }
            (_, Call::Lock(mutex)) => owner(mutex),
            (_, Call::Join { handle }) => {
                state.handles[usize::from(handle)].map(|(target, _)| usize::from(target))
            }
            _ => None,
        }
    }

    /// Whether this task waits, through others, for itself: it will for ever.
    fn is_in_circle(&self, state: &State, task: usize) -> bool {
        let mut at = task;
        for _ in 0..state.tasks.len() {
            match self.waits_for(state, at) {
                Some(next) if next == task => return true,
                Some(next) => at = next,
                None => return false,
            }
        }
        false
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
            Pending::Wake => Operation::Wake,
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
