//! The semantics of a program, one visible operation at a time.
//!
//! Written from the manual pages and the definition of a step, independently of the runtime, which
//! is compared with it.

use super::Outcome;
use super::code::{Instruction, flatten};
use super::program::{Call, LOCALS, MutexKind, Program};

mod about;
mod step;

/// An operation that a generated program must not contain, because its meaning is undefined or not
/// modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misuse {
    /// A normal mutex is unlocked by a task that does not own it.
    Unlock,
    /// A condition wait without holding the mutex exactly once.
    Wait,
    /// A handle is joined or detached before it was created or a second time, or is created twice.
    Handle,
    /// A value leaves the range in which `int` and this machine certainly agree.
    Range,
}

/// The next operation of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pending {
    Start,
    Call,
    /// The second half of the wait in which the task is.
    Wake,
    Exit,
    ExitNow,
    /// It is ending, and releases the robust mutex that it locked last.
    GiveUp,
    /// It has ended.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Task {
    body: u8,
    at: usize,
    locals: [i32; LOCALS],
    pending: Pending,
    /// The positions of its cleanup handlers, innermost last.
    guards: Vec<usize>,
    /// Whether the task's cancellation was requested.
    cancelled: bool,
    /// Whether the task acts on its cancellation, so that further requests have no effect.
    ending: bool,
    /// Whether cancellation ended its wait for a condition variable, so that no signal can wake it.
    leaving: bool,
    /// A pending signal, and whether the task waited when it was sent.
    signal: Option<bool>,
    /// The robust mutexes that it owns, in the order of locking.
    robust: Vec<u8>,
}

impl Task {
    fn new(body: u8, pending: Pending) -> Task {
        Task {
            body,
            at: 0,
            locals: [0; LOCALS],
            pending,
            guards: Vec::new(),
            cancelled: false,
            ending: false,
            leaving: false,
            signal: None,
            robust: Vec::new(),
        }
    }

    /// Whether the task ends at its next cancellation point.
    fn is_due(&self) -> bool {
        self.cancelled && !self.ending
    }

    /// Whether its next operation is to handle a signal. (A task that has not begun handles it when
    /// it begins.)
    fn handles(&self) -> bool {
        self.signal.is_some() && matches!(self.pending, Pending::Call | Pending::Wake)
    }
}

/// The state of a robust mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Robust {
    Consistent,
    /// An owner ended.
    OwnerDied,
    /// The next owner unlocked it without `pthread_mutex_consistent`: it can never be locked again.
    Lost,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct RwLock {
    writer: Option<u8>,
    /// The readers with their counts, ascending.
    readers: Vec<(u8, u8)>,
    /// The writers that exclude readers, ascending.
    waiting: Vec<u8>,
}

/// The state of an execution. Equal states have equal futures.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// By order of creation, as the runtime numbers them.
    tasks: Vec<Task>,
    /// The owner of each mutex, and its count.
    owners: Vec<Option<(u8, u8)>>,
    /// The tasks that wait for each condition variable and were not woken, longest first.
    waiting: Vec<Vec<u8>>,
    semaphores: Vec<u8>,
    rwlocks: Vec<RwLock>,
    /// The tasks that wait at each barrier.
    barriers: Vec<Vec<u8>>,
    /// The owner of each spin lock.
    spins: Vec<Option<u8>>,
    /// The state of each mutex, if it is robust.
    robust: Vec<Robust>,
    /// The tasks that sleep on each shared variable, longest first.
    sleeping: Vec<Vec<u8>>,
    /// Which `pthread_once_t` have run.
    onces: Vec<bool>,
    shared: Vec<i32>,
    /// The task of each handle, and whether it was joined or detached.
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

    /// The state in which main is at its first operation, before any choice.
    ///
    /// # Errors
    /// If code before main's first operation misuses an object.
    pub fn initial(&self) -> Result<State, Misuse> {
        let mut state = State {
            tasks: vec![Task::new(0, Pending::Call)],
            owners: vec![None; self.program.mutexes.len()],
            waiting: vec![Vec::new(); usize::from(self.program.conditions)],
            semaphores: self.program.semaphores.clone(),
            rwlocks: vec![RwLock::default(); self.program.rwlocks.len()],
            barriers: vec![Vec::new(); self.program.barriers.len()],
            spins: vec![None; usize::from(self.program.spins)],
            robust: vec![Robust::Consistent; self.program.mutexes.len()],
            sleeping: vec![Vec::new(); self.program.moduli.len()],
            onces: vec![false; self.program.onces.len()],
            shared: vec![0; self.program.moduli.len()],
            handles: vec![None; usize::from(self.program.handles)],
            status: None,
            over: false,
        };
        self.run_on(&mut state, 0)?;
        Ok(state)
    }

    /// The outcome of the execution, if it has ended.
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

    /// The tasks that must all take a step before this one is enabled, as far as they are certain.
    fn waits_for(&self, state: &State, task: usize) -> Vec<usize> {
        let me = &state.tasks[task];
        let pending = me.pending;
        if self.enabled(state, task) || !matches!(pending, Pending::Call | Pending::Wake) {
            return Vec::new();
        }
        let owner = |mutex: u8| state.owners[usize::from(mutex)].map(|(owner, _)| owner);
        let all: Vec<u8> = match (pending, self.call(state, task)) {
            (Pending::Wake, Call::Wait { condition, mutex }) => {
                let waits = state.waiting[usize::from(condition)].contains(&(task as u8));
                owner(mutex).filter(|_| !waits || me.is_due()).into_iter().collect()
            }
            // After its timeout the task waits only for the mutex, but it may be signalled before.
            (Pending::Wake, Call::TimedWait { mutex, .. }) => owner(mutex).into_iter().collect(),
            (_, Call::Lock(mutex)) => owner(mutex).into_iter().collect(),
            // A task that may be cancelled may abandon a join.
            (_, Call::Join { .. }) if self.program.may_cancel => Vec::new(),
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

    /// Whether this task waits, through others, for itself, hence forever.
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

    /// The maximum number of yields in a body, including main's exit.
    #[must_use]
    pub fn most_yields(&self) -> usize {
        let yields = |instruction: &&Instruction| {
            matches!(instruction, Instruction::Call(Call::Yield | Call::TestCancel, _))
        };
        let count = |(at, body): (usize, &Vec<Instruction>)| {
            body.iter().filter(yields).count() + usize::from(at == 0)
        };
        self.code.iter().enumerate().map(count).max().unwrap_or(0)
    }

    /// The enabled tasks, in ascending order.
    pub fn able<'s>(&'s self, state: &'s State) -> impl Iterator<Item = usize> + 's {
        (0..state.tasks.len()).filter(|&task| self.enabled(state, task))
    }

    /// Whether this task is enabled.
    #[must_use]
    pub fn enabled(&self, state: &State, task: usize) -> bool {
        let me = &state.tasks[task];
        if me.handles() {
            return true;
        }
        match me.pending {
            Pending::Nothing => false,
            Pending::Start | Pending::Exit | Pending::ExitNow | Pending::GiveUp => true,
            Pending::Wake => match self.call(state, task) {
                Call::Wait { condition, mutex } => {
                    let woken = !state.waiting[usize::from(condition)].contains(&(task as u8));
                    (woken || me.is_due()) && state.owners[usize::from(mutex)].is_none()
                }
                Call::TimedWait { mutex, .. } => state.owners[usize::from(mutex)].is_none(),
                Call::Meet(barrier) => {
                    !state.barriers[usize::from(barrier)].contains(&(task as u8))
                }
                Call::WriteLock(lock) => Self::is_writable(state, lock),
                Call::TimedWriteLock(..) => true,
                Call::FutexWait { limited, .. } => limited || !Self::sleeps(state, task),
                _ => unreachable!("only a wait has a second half"),
            },
            Pending::Call => match self.call(state, task) {
                Call::Lock(mutex) => match state.owners[usize::from(mutex)] {
                    None => true,
                    // One kind returns an error, another counts; a normal mutex waits for itself.
                    Some((owner, _)) if usize::from(owner) == task => {
                        !self.kind(mutex).waits_for_itself()
                    }
                    Some(_) => false,
                },
                Call::SemWait(semaphore) => {
                    state.semaphores[usize::from(semaphore)] > 0 || me.is_due()
                }
                // A task that holds the write lock gets an error.
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
                    let ended = target.is_some_and(|(target, _)| {
                        state.tasks[usize::from(target)].pending == Pending::Nothing
                    });
                    ended || me.is_due()
                }
                _ => true,
            },
        }
    }

    /// Whether this task sleeps on a shared variable.
    fn sleeps(state: &State, task: usize) -> bool {
        state.sleeping.iter().any(|on| on.contains(&(task as u8)))
    }

    /// The tasks that have not ended, in ascending order.
    pub fn unfinished<'s>(&'s self, state: &'s State) -> impl Iterator<Item = usize> + 's {
        let tasks = state.tasks.iter().enumerate();
        tasks.filter(|(_, task)| task.pending != Pending::Nothing).map(|(number, _)| number)
    }

    /// The number of alternatives of this task's next step: 2 or more if it makes a data choice.
    #[must_use]
    pub fn ways(&self, state: &State, task: usize) -> u32 {
        if state.tasks[task].handles() {
            return if self.may_interrupt(state, task) { 2 } else { 1 };
        }
        if state.tasks[task].pending != Pending::Call {
            return 1;
        }
        let waiting = match self.call(state, task) {
            Call::Signal(condition) => state.waiting[usize::from(condition)].len(),
            Call::FutexWake { word, all: false } | Call::FutexRequeue { word, .. } => {
                state.sleeping[usize::from(word)].len()
            }
            _ => 1,
        };
        waiting.max(1) as u32
    }

    /// If this task's next step is a signal or broadcast for which no task waits: the condition
    /// variable.
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
        if state.tasks[task].pending != Pending::Call || state.tasks[task].handles() {
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

    /// Whether a task waits for this condition variable and was not woken.
    #[must_use]
    pub fn waited_for(&self, state: &State, condition: u8) -> bool {
        !state.waiting[usize::from(condition)].is_empty()
    }

    /// The number of tasks other than main that have not ended.
    #[must_use]
    pub fn others_alive(&self, state: &State) -> usize {
        state.tasks[1..].iter().filter(|task| task.pending != Pending::Nothing).count()
    }

    /// The signal or broadcast that this task executes next, and the number of waiting tasks.
    fn wakes(&self, state: &State, task: usize) -> Option<(Call, usize)> {
        if state.tasks[task].pending != Pending::Call || state.tasks[task].handles() {
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
        let &Task { body, at, .. } = &state.tasks[task];
        match self.code[usize::from(body)][at] {
            Instruction::Call(call, _) => call,
            other => unreachable!("a task is at {other:?}"),
        }
    }
}
