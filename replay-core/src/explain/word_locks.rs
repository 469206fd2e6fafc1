//! Mutexes that are words of memory with a futex, as in Rust's standard library.
//!
//! The word is 0 while the mutex is free, 1 while it is locked, and 2 while it is locked and other
//! tasks may wait (Drepper, Futexes Are Tricky, mutex 2). A task sets it to 2 before it waits. A word
//! counts as a mutex if some task waited for it and everything that tasks did to it follows this
//! protocol: a counter, a condition variable or a semaphore does not.

use std::collections::{HashMap, HashSet};
use traces::{Execution, ObjectKind, ObjectLocation, Operation, Step, TaskId};

/// What a step does to a mutex.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Its task acquires it.
    Acquired,
    /// Its task releases it.
    Released,
}

/// The words of an execution that are mutexes.
#[derive(Debug, Default)]
pub(super) struct WordLocks {
    /// For each futex of a mutex, the word.
    futexes: HashMap<u32, u32>,
    words: HashSet<u32>,
}

impl WordLocks {
    /// Finds them.
    pub(super) fn of(execution: &Execution) -> WordLocks {
        let of_kind = |kind| {
            let objects = execution.objects.iter().enumerate();
            objects.filter(move |(_, it)| it.kind == kind).map(|(at, it)| (at as u32, it.place))
        };
        let futexes: Vec<(u32, ObjectLocation)> = of_kind(ObjectKind::Futex).collect();
        if futexes.is_empty() {
            return WordLocks::default();
        }
        let words: HashMap<ObjectLocation, u32> =
            of_kind(ObjectKind::Memory).map(|(object, place)| (place, object)).collect();
        let word = |(futex, place)| Some((futex, *words.get(&place)?));
        let mut found = WordLocks {
            futexes: futexes.into_iter().filter_map(word).collect(),
            words: HashSet::new(),
        };
        found.words = found.futexes.values().copied().collect();
        let mutexes = found.following_the_protocol(execution);
        found.futexes.retain(|_, word| mutexes.contains(word));
        found.words = mutexes;
        found
    }

    /// The words that tasks waited for and used as mutexes, and as nothing else.
    fn following_the_protocol(&self, execution: &Execution) -> HashSet<u32> {
        let mut holders: HashMap<u32, TaskId> = HashMap::new();
        // The last value that each task set a word to.
        let mut set: HashMap<(u32, TaskId), u64> = HashMap::new();
        let (mut awaited, mut wrong) = (HashSet::new(), HashSet::new());
        for step in &execution.steps {
            let Some(object) = step.object else { continue };
            if let (Operation::FutexWait, Some(&word)) = (step.operation, self.futexes.get(&object))
            {
                let announced = set.get(&(word, step.task)) == Some(&2);
                if !announced {
                    wrong.insert(word);
                } else if holders.contains_key(&word) {
                    awaited.insert(word);
                }
            }
            if !self.words.contains(&object) {
                continue;
            }
            if step.value > 2 || step.operation == Operation::Write {
                wrong.insert(object);
            }
            let holder = holders.get(&object).copied();
            match self.change(step, holder) {
                Some((word, Change::Acquired)) => drop(holders.insert(word, step.task)),
                Some((word, Change::Released)) => {
                    holders.remove(&word);
                    if holder != Some(step.task) {
                        wrong.insert(word);
                    }
                }
                None => {}
            }
            if step.operation == Operation::Update {
                set.insert((object, step.task), step.value);
            }
        }
        &awaited - &wrong
    }

    /// The mutex that an object belongs to; the object itself if it belongs to none.
    pub(super) fn mutex(&self, object: u32) -> u32 {
        self.futexes.get(&object).copied().unwrap_or(object)
    }

    /// Whether an object is such a word.
    pub(super) fn is_word(&self, object: u32) -> bool {
        self.words.contains(&object)
    }

    /// What a step does to a mutex, if the mutex had this holder before.
    pub(super) fn change(&self, step: &Step, holder: Option<TaskId>) -> Option<(u32, Change)> {
        let word = step.object.filter(|word| self.words.contains(word))?;
        match (step.operation, holder, step.value) {
            (Operation::Update, None, 1..) => Some((word, Change::Acquired)),
            (Operation::Update, Some(_), 0) => Some((word, Change::Released)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::locks::HeldLocks;
    use super::*;
    use traces::{Object, Site};

    const WORD: u32 = 0;
    const FUTEX: u32 = 1;

    /// Steps on a word: the task, the operation, the value.
    fn execution(steps: &[(u16, Operation, u64)]) -> Execution {
        let place = ObjectLocation::Other(7);
        let object = |kind| Object { kind, place, name: "app::BANK".to_owned() };
        let on = |operation| if operation == Operation::FutexWait { FUTEX } else { WORD };
        let step = |&(task, operation, value): &(u16, Operation, u64)| Step {
            task: TaskId(task),
            operation,
            object: Some(on(operation)),
            site: Site { module: 0, offset: 1 },
            value,
        };
        Execution {
            objects: vec![object(ObjectKind::Memory), object(ObjectKind::Futex)],
            steps: steps.iter().map(step).collect(),
            ..Execution::default()
        }
    }

    /// The holder of the word's mutex before each step and at the end.
    fn holders(execution: &Execution) -> Vec<Option<u16>> {
        let holder = |step| HeldLocks::before(execution, step).holder(FUTEX);
        (0..=execution.steps.len()).map(|step| holder(step).map(|(task, _)| task.0)).collect()
    }

    #[test]
    fn mutexes_of_rusts_standard_library_are_locks() {
        use Operation::{FutexWait, Read, Update};
        let contended = execution(&[
            (1, Update, 1),
            // A failed exchange changes nothing; the next one marks the mutex as contended.
            (2, Update, 1),
            (2, Read, 1),
            (2, Update, 2),
            (2, FutexWait, 0),
            (1, Update, 0),
            (2, Update, 2),
            (2, Update, 0),
        ]);
        let one = Some(1);
        assert_eq!(holders(&contended), [None, one, one, one, one, one, None, Some(2), None]);
    }

    #[test]
    fn other_words_are_no_locks() {
        use Operation::{FutexWait, Update, Write};
        let parked = u64::from(u32::MAX);
        for steps in [
            // No task waits for it: it may be a counter.
            &[(1, Update, 1), (1, Update, 0)][..],
            // A condition variable: a task waits for a change of the word and does not change it.
            &[(1, Update, 1), (1, Update, 2), (2, FutexWait, 0)],
            &[(2, FutexWait, 0), (1, Update, 1)],
            // Another task resets it; a store; the state of a parked thread.
            &[(1, Update, 1), (2, Update, 2), (2, FutexWait, 0), (2, Update, 0)],
            &[(1, Write, 1), (2, Update, 2), (2, FutexWait, 0)],
            &[(2, Update, parked), (2, FutexWait, 0), (1, Update, 1)],
        ] {
            let execution = execution(steps);
            assert!(holders(&execution).iter().all(Option::is_none), "{steps:?}");
        }
    }
}
