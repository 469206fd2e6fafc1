//! Words of memory that tasks use as locks, by what the tasks do to them: the program may have no names.
//!
//! A word is a lock if it is 0 while no task holds it, a task waited for its futex after an exchange
//! that failed because another task held it, and no step contradicts. A counter, a condition variable,
//! a semaphore or an event is none: others than the holder change them, or a task waits without an
//! attempt. This is for people who read an execution. No choice of a schedule depends on it.

use std::collections::{HashMap, HashSet};
use traces::{Execution, Operation, Step, TaskId};

/// The words that tasks used as locks, of those that have futexes: from futex to word.
pub(super) fn inferred(execution: &Execution, futexes: &HashMap<u32, u32>) -> HashSet<u32> {
    let mut words: HashMap<u32, Word> =
        futexes.values().map(|&word| (word, Word::default())).collect();
    for step in &execution.steps {
        let waits = matches!(step.operation, Operation::FutexWait);
        let futex = step.object.and_then(|object| futexes.get(&object).copied());
        match (futex, step.object) {
            (Some(word), _) if waits => {
                if let Some(word) = words.get_mut(&word) {
                    word.wait(step);
                }
            }
            (None, Some(object)) if words.contains_key(&object) => {
                if let Some(word) = words.get_mut(&object) {
                    word.access(step);
                }
            }
            _ => {}
        }
        if leaves_an_attempt(step.operation) || waits {
            let others = words.iter_mut().filter(|(word, _)| !waits || Some(**word) != futex);
            others.for_each(|(_, word)| word.leave(step.task));
        }
    }
    words.into_iter().filter(|(_, word)| word.is_lock()).map(|(word, _)| word).collect()
}

/// Whether a task that does this is not inside a function that acquires a lock.
fn leaves_an_attempt(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::Create | O::Join | O::Exit | O::Lock | O::Unlock | O::ReadLock | O::WriteLock | O::Wait
    )
}

/// What tasks did to a word.
#[derive(Debug, Default)]
struct Word {
    value: u64,
    holder: Option<TaskId>,
    /// The holder changed the word and has not released it yet.
    is_releasing: bool,
    attempts: HashMap<TaskId, Attempt>,
    is_awaited: bool,
    /// A step contradicts that this is a lock.
    is_wrong: bool,
    greatest: u64,
    /// A task announced its wait by the value of a mutex that tasks wait for, without a failed exchange.
    needs_mutex: bool,
}

/// What a task that does not hold the lock did to its word.
#[derive(Debug, Default, Clone, Copy)]
struct Attempt {
    /// An exchange left the word as it was.
    has_failed: bool,
    /// The value that the task announced its wait with.
    announced: Option<u64>,
}

/// The value of a mutex that tasks wait for (Drepper, Futexes Are Tricky, mutex 2).
const AWAITED: u64 = 2;

impl Word {
    /// Whether all that was seen is what tasks do to a lock, and some task waited for it.
    fn is_lock(&self) -> bool {
        let follows = !self.needs_mutex || self.greatest <= AWAITED;
        self.is_awaited && !self.is_wrong && follows
    }

    fn access(&mut self, step: &Step) {
        let writes = match step.operation {
            Operation::Update => false,
            Operation::Write => true,
            _ => return,
        };
        let before = std::mem::replace(&mut self.value, step.value);
        self.greatest = self.greatest.max(step.value);
        let is_holder = self.holder == Some(step.task);
        match (before, step.value) {
            // A lock is acquired by exchanges: a store would overwrite another task's acquisition.
            (_, after) if writes && after != 0 => self.is_wrong = true,
            (0, 0) => {}
            (0, _) => {
                self.holder = Some(step.task);
                self.is_releasing = false;
                self.attempts.remove(&step.task);
            }
            (_, 0) => {
                self.is_wrong |= !is_holder;
                self.holder = None;
                self.is_releasing = false;
            }
            (before, after) if before == after => {
                self.attempts.entry(step.task).or_default().has_failed = true;
            }
            // Two changes of the holder: it counts.
            _ if is_holder && self.is_releasing => self.is_wrong = true,
            _ if is_holder => self.is_releasing = true,
            (_, after) => self.attempts.entry(step.task).or_default().announced = Some(after),
        }
    }

    fn wait(&mut self, step: &Step) {
        // The word had another value than the task expected.
        if step.value != 0 {
            return;
        }
        let attempt = self.attempts.get(&step.task).copied().unwrap_or_default();
        let announces_mutex = attempt.announced == Some(AWAITED);
        if self.holder.is_none() || !(attempt.has_failed || announces_mutex) {
            self.is_wrong = true;
        }
        self.needs_mutex |= !attempt.has_failed;
        self.is_awaited = true;
    }

    /// The task does something else. A task that changed the word of a lock acquires that lock first.
    fn leave(&mut self, task: TaskId) {
        let attempt = self.attempts.remove(&task).unwrap_or_default();
        self.is_wrong |= attempt.announced.is_some();
        self.is_wrong |= self.is_releasing && self.holder == Some(task);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::Site;
    use traces::{Object, ObjectKind, ObjectLocation};

    /// Two words with their futexes. A step is the task, the operation, the word, the value.
    fn of(steps: &[(u16, Operation, u32, u64)]) -> Vec<u32> {
        let object =
            |kind, place| Object { kind, place: ObjectLocation::Other(place), name: String::new() };
        let step = |&(task, operation, word, value): &(u16, Operation, u32, u64)| Step {
            task: TaskId(task),
            operation,
            object: Some(if operation == Operation::FutexWait { word + 2 } else { word }),
            site: Site { module: 0, offset: 1 },
            value,
        };
        let execution = Execution {
            objects: vec![
                object(ObjectKind::Memory, 1),
                object(ObjectKind::Memory, 2),
                object(ObjectKind::Futex, 1),
                object(ObjectKind::Futex, 2),
            ],
            steps: steps.iter().map(step).collect(),
            ..Execution::default()
        };
        let mut found: Vec<u32> =
            inferred(&execution, &HashMap::from([(2, 0), (3, 1)])).into_iter().collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn words_that_tasks_use_as_locks_are_locks() {
        use Operation::{Exit, FutexWait, Read, Update, Write};
        for (name, steps) in [
            ("two values", &[(1, Update, 0, 1), (2, Update, 0, 1), (2, FutexWait, 0, 0)][..]),
            (
                "the task's number, and a bit for those that wait",
                &[
                    (1, Update, 0, 41),
                    (2, Update, 0, 41),
                    (2, Update, 0, 0x8000_0029),
                    (2, FutexWait, 0, 0),
                    (1, Update, 0, 0),
                    (2, Update, 0, 0x8000_002a),
                    (2, Write, 0, 0),
                    (2, Exit, 0, 0),
                ],
            ),
            (
                "subtracted, then set to 0",
                &[
                    (1, Update, 0, 1),
                    (2, Update, 0, 1),
                    (2, Update, 0, 2),
                    (2, FutexWait, 0, 0),
                    (1, Update, 0, 1),
                    (1, Write, 0, 0),
                    (2, Update, 0, 2),
                ],
            ),
            (
                "read first, then exchanged for 2",
                &[(1, Update, 0, 1), (2, Read, 0, 1), (2, Update, 0, 2), (2, FutexWait, 0, 0)],
            ),
            (
                "the wait found another value",
                &[
                    (1, Update, 0, 1),
                    (2, Update, 0, 1),
                    (1, Update, 0, 0),
                    (2, FutexWait, 0, 11),
                    (2, Update, 0, 1),
                    (1, Update, 0, 1),
                    (1, FutexWait, 0, 0),
                ],
            ),
        ] {
            assert_eq!(of(steps), [0], "{name}");
        }
        // A cycle of two.
        let cycle = [
            (1, Update, 0, 1),
            (2, Update, 1, 1),
            (2, Update, 0, 1),
            (2, FutexWait, 0, 0),
            (1, Update, 1, 1),
            (1, FutexWait, 1, 0),
        ];
        assert_eq!(of(&cycle), [0, 1]);
    }

    #[test]
    fn words_with_another_use_are_none() {
        use Operation::{Exit, FutexWait, Join, Read, Update, Write};
        for (name, steps) in [
            ("no task waits", &[(1, Update, 0, 1), (2, Update, 0, 1), (1, Update, 0, 0)][..]),
            ("a wait without an attempt", &[(1, Update, 0, 1), (2, FutexWait, 0, 0)]),
            (
                "a wait after a read",
                &[(1, Update, 0, 1), (2, Read, 0, 1), (2, FutexWait, 0, 0), (1, Update, 0, 0)],
            ),
            (
                "an event: another task resets it",
                &[(1, Update, 0, 1), (2, Update, 0, 1), (2, FutexWait, 0, 0), (3, Update, 0, 0)],
            ),
            (
                "a semaphore: a task waits at 0",
                &[(1, Update, 0, 0), (2, Update, 0, 0), (2, FutexWait, 0, 0), (1, Update, 0, 1)],
            ),
            (
                "an event count, and a bit for those that wait",
                &[
                    (1, Update, 0, 1),
                    (2, Update, 0, 0x8000_0001),
                    (2, FutexWait, 0, 0),
                    (3, Update, 0, 0x8000_0001),
                    (3, FutexWait, 0, 0),
                ],
            ),
            (
                "a counter",
                &[
                    (1, Update, 0, 1),
                    (2, Update, 0, 1),
                    (2, FutexWait, 0, 0),
                    (1, Update, 0, 2),
                    (1, Update, 0, 3),
                ],
            ),
            (
                "the state of a task that waits for a message",
                &[(2, Update, 0, 1), (2, FutexWait, 0, 0), (1, Update, 0, 2)],
            ),
            (
                "a second reader",
                &[
                    (1, Update, 0, 1),
                    (2, Update, 0, 2),
                    (3, Update, 0, 2),
                    (3, FutexWait, 0, 0),
                    (2, Exit, 0, 0),
                ],
            ),
            (
                "a store",
                &[(1, Update, 0, 1), (2, Update, 0, 1), (2, FutexWait, 0, 0), (1, Write, 0, 5)],
            ),
            (
                "a routine that runs once: what its task leaves is no lock",
                &[
                    (1, Update, 0, 1),
                    (2, Update, 0, 1),
                    (2, FutexWait, 0, 0),
                    (1, Update, 0, 3),
                    (1, Join, 0, 0),
                ],
            ),
        ] {
            assert!(of(steps).is_empty(), "{name}");
        }
    }
}
