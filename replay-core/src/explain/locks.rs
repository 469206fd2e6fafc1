//! Which task holds which lock at a step of an execution.

use super::blocked::BlockedBy;
use super::word_locks::{Change, WordLocks};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use traces::order::{self, LocksByTask};
use traces::{Execution, ObjectKind, ObjectLocation, Operation, TaskId, WaitEdge};

pub(super) fn task_of(execution: &Execution, object: Option<u32>) -> Option<TaskId> {
    match execution.objects.get(object? as usize)?.place {
        ObjectLocation::Task(task) => Some(task),
        _ => None,
    }
}

/// The locks held at a step, with holders and the steps of acquisition.
#[derive(Debug, Clone)]
pub struct HeldLocks {
    held: Vec<(u32, TaskId, usize)>,
    /// The waiting writers that block readers of a read-write lock, with the lock.
    writers: Vec<(u32, TaskId)>,
    words: Arc<WordLocks>,
    /// The values of these words.
    values: HashMap<u32, u64>,
    /// For each task that is inside a function that acquires such a lock, the lock.
    requested: HashMap<TaskId, u32>,
    /// The futexes that tasks wait for because they wait for a lock, with the lock.
    parked: HashMap<u32, u32>,
}

impl HeldLocks {
    /// The locks held after the steps before `step`.
    #[must_use]
    pub fn before(execution: &Execution, step: usize) -> HeldLocks {
        let mut holding = LockTracker::new(execution);
        (0..step).for_each(|at| holding.take(execution, at));
        holding.locks
    }

    /// Every lock that is held: the object, the holder, the step of acquisition.
    pub fn all(&self) -> impl Iterator<Item = (u32, TaskId, usize)> + '_ {
        self.held.iter().copied()
    }

    /// The holder of an object and the step of acquisition. For several readers, the first one.
    #[must_use]
    pub fn holder(&self, object: u32) -> Option<(TaskId, usize)> {
        let object = self.lock(object);
        self.held.iter().find(|lock| lock.0 == object).map(|&(_, task, since)| (task, since))
    }

    /// The lock that an object belongs to: for the futex of a lock in a word of memory the word,
    /// otherwise the object itself.
    #[must_use]
    pub fn lock(&self, object: u32) -> u32 {
        self.parked.get(&object).copied().unwrap_or_else(|| self.words.lock(object))
    }

    /// Whether a held lock, or the lock that an object belongs to, has no name as one: that it is a
    /// lock was inferred from what tasks did to it.
    #[must_use]
    pub fn is_inferred(&self, object: u32) -> bool {
        self.words.is_inferred(self.lock(object))
    }

    /// The task that waits to write a lock, and thereby blocks those that want to read it.
    fn waiting_writer(&self, lock: u32) -> Option<TaskId> {
        self.writers.iter().find(|writer| writer.0 == lock).map(|&(_, task)| task)
    }

    pub(super) fn why(
        &self,
        execution: &Execution,
        operation: Operation,
        object: Option<u32>,
    ) -> BlockedBy {
        use Operation as O;
        let Some(object) = object else { return BlockedBy::Unknown };
        let waiting = self.writers.iter().find(|writer| writer.0 == object);
        if let (O::ReadLock, Some(&(_, writer))) = (operation, waiting) {
            return BlockedBy::Writer { object, writer };
        }
        if let Some((holder, since)) = self.holder(object) {
            return BlockedBy::Held { object, holder, since };
        }
        match operation {
            O::Join => {
                task_of(execution, Some(object)).map_or(BlockedBy::Unknown, BlockedBy::NotEnded)
            }
            O::BarrierPass => BlockedBy::NotAllArrived(object),
            O::Wake | O::TimedWake | O::SpuriousWake | O::FutexWoken => BlockedBy::NotWoken(object),
            O::SemWait | O::SemTimedWait => BlockedBy::Empty(object),
            _ => BlockedBy::Unknown,
        }
    }
}

/// The steps that acquire or release a lock that is a word of memory, ascending, each with the
/// operation of the threads library that is the same.
#[must_use]
pub fn word_lock_steps(execution: &Execution) -> Vec<(usize, Operation)> {
    let words = WordLocks::of(execution);
    if words.is_empty() {
        return Vec::new();
    }
    let mut values = HashMap::new();
    let steps = execution.steps.iter().enumerate();
    let change = |(at, step)| Some((at, words.change(step, &mut values)?.1));
    // A writer that waits for readers has acquired nothing.
    let changed = steps.filter_map(change).filter(|(_, change)| *change != Change::Awaited);
    let once = |object: Option<u32>| object.is_some_and(|word| words.is_once(word));
    // The end of a routine that runs once is no separate operation.
    let changed = changed
        .filter(|&(at, change)| change == Change::Acquired || !once(execution.steps[at].object));
    let operation = |(at, change): (usize, Change)| {
        let object = execution.steps[at].object;
        if once(object) {
            return (at, Operation::Once);
        }
        let many = object.is_some_and(|word| words.has_readers(word));
        let operation = match (change, many) {
            (Change::Acquired, false) => Operation::Lock,
            (Change::Acquired, true) => Operation::WriteLock,
            (Change::Shared | Change::Awaited, _) => Operation::ReadLock,
            (Change::Released, false) => Operation::Unlock,
            (Change::Released, true) => Operation::RwUnlock,
        };
        (at, operation)
    };
    changed.map(operation).collect()
}

/// The words that are locks by what tasks did to them, with their futexes, where no library function
/// names them. For people who read the execution: nothing else depends on it.
#[must_use]
pub fn inferred_locks(execution: &Execution) -> HashSet<u32> {
    WordLocks::of(execution).all_inferred()
}

/// How reports call a lock that was inferred.
pub const INFERRED: &str = "lock (inferred)";

/// Replaces the futexes that the tasks of a deadlock wait for by the locks that they belong to, and names the
/// holders: the runtime knows neither for locks in words of memory.
pub(crate) fn name_word_locks(waits: &mut [WaitEdge], execution: &Execution) {
    if waits.iter().all(|wait| wait.holder.is_some()) {
        return;
    }
    let held = HeldLocks::before(execution, execution.steps.len());
    let waiting: Vec<TaskId> = waits.iter().map(|wait| wait.task).collect();
    for wait in waits.iter_mut().filter(|wait| wait.holder.is_none()) {
        let Some(object) = wait.object else { continue };
        let lock = held.lock(object);
        let holders: Vec<TaskId> =
            held.all().filter(|&(word, ..)| word == lock).map(|(_, task, _)| task).collect();
        // A writer that waits blocks every other task, also one that reads already.
        let writer = held.waiting_writer(lock).filter(|&writer| writer != wait.task);
        // Of several readers, those that wait themselves are a part of the deadlock.
        let is_part = |task: &&TaskId| **task != wait.task && waiting.contains(*task);
        let holder = || holders.iter().find(is_part).or_else(|| holders.first()).copied();
        let Some(holder) = writer.or_else(holder) else { continue };
        wait.object = Some(lock);
        wait.holder = Some(holder);
    }
}

/// Whether a task waits, at the end, to write a read-write lock, and thereby blocks readers.
#[must_use]
pub fn waits_to_write(execution: &Execution, task: TaskId, object: Option<u32>) -> bool {
    let pending = execution.tasks.get(task.index()).and_then(|task| task.pending);
    let is_own = |next: traces::execution::Pending| {
        next.operation == Operation::WriteWake && next.object == object
    };
    if pending.is_some_and(is_own) {
        return true;
    }
    let is_word = |&object: &u32| {
        let object = execution.objects.get(object as usize);
        object.is_some_and(|object| object.kind == ObjectKind::Memory)
    };
    object.filter(is_word).is_some_and(|word| {
        let held = HeldLocks::before(execution, execution.steps.len());
        held.waiting_writer(held.lock(word)) == Some(task)
    })
}

/// The step at which a task acquired a lock that it holds at the end, also one in a word of memory.
#[must_use]
pub fn held_since(execution: &Execution, holder: TaskId, lock: u32) -> Option<usize> {
    order::held_since(execution, holder, lock).or_else(|| {
        let held = HeldLocks::before(execution, execution.steps.len());
        let lock = held.lock(lock);
        let mut all = held.all();
        all.find(|&(word, task, _)| (word, task) == (lock, holder)).map(|(_, _, since)| since)
    })
}

/// Tracks the held locks step by step.
#[derive(Debug, Clone)]
pub(super) struct LockTracker {
    mutexes: LocksByTask,
    pub(super) locks: HeldLocks,
}

impl LockTracker {
    /// The state before the first step.
    pub(super) fn new(execution: &Execution) -> LockTracker {
        let tasks = execution.steps.iter().map(|step| step.task.index() + 1).max().unwrap_or(0);
        LockTracker {
            mutexes: LocksByTask::new(tasks.max(execution.tasks.len())),
            locks: HeldLocks {
                held: Vec::new(),
                writers: Vec::new(),
                words: Arc::new(WordLocks::of(execution)),
                values: HashMap::new(),
                requested: HashMap::new(),
                parked: HashMap::new(),
            },
        }
    }

    /// Applies a step.
    pub(super) fn take(&mut self, execution: &Execution, at: usize) {
        let done = &execution.steps[at];
        let at_step = at;
        let HeldLocks { held, writers, words, values, requested, parked } = &mut self.locks;
        self.mutexes.accesses(execution, done);
        match (done.operation, done.object) {
            (Operation::WriteLock, Some(object)) if done.value != 0 => {
                writers.push((object, done.task));
            }
            (Operation::WriteWake, _) => writers.retain(|&(_, task)| task != done.task),
            _ => {}
        }
        match words.change(done, values) {
            Some((word, Change::Acquired | Change::Shared)) => held.push((word, done.task, at)),
            Some((word, Change::Awaited)) => writers.push((word, done.task)),
            Some((word, Change::Released)) => {
                let own = held.iter().position(|lock| (lock.0, lock.1) == (word, done.task));
                let waits = writers.iter().position(|writer| *writer == (word, done.task));
                match (own, waits) {
                    // It gave up.
                    (None, Some(at)) => drop(writers.remove(at)),
                    _ => {
                        let any = || held.iter().position(|lock| lock.0 == word);
                        own.or_else(any).map(|at| held.remove(at));
                    }
                }
                // What the last reader leaves belongs to the writer that waited.
                if !held.iter().any(|lock| lock.0 == word)
                    && let Some(at) = writers.iter().position(|writer| writer.0 == word)
                {
                    held.push((word, writers.remove(at).1, at_step));
                }
            }
            None => {}
        }
        match done.object {
            _ if !words.is_acquiring(done.site) => drop(requested.remove(&done.task)),
            Some(word) if words.is_word(word) => drop(requested.insert(done.task, word)),
            Some(futex) if done.operation == Operation::FutexWait => {
                parked.remove(&futex);
                parked.extend(requested.get(&done.task).map(|&word| (futex, word)));
            }
            _ => {}
        }
        if done.operation == Operation::Wait {
            // A wait releases its mutex. The step does not record which one if the task holds
            // several; this is rare, so all are treated as released.
            held.retain(|&(lock, task, _)| task != done.task || words.is_word(lock));
            return;
        }
        let before = |object: u32| held.iter().any(|lock| (lock.0, lock.1) == (object, done.task));
        let gained: Vec<u32> =
            self.mutexes.of(done.task).filter(|&object| !before(object)).collect();
        let has = |object: u32| self.mutexes.of(done.task).any(|mutex| mutex == object);
        held.retain(|&(object, task, _)| task != done.task || has(object) || words.is_word(object));
        held.extend(gained.into_iter().map(|object| (object, done.task, at)));
    }
}
