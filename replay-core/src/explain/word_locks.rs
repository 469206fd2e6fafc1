//! Mutexes that are words of memory, as in Rust's standard library and in `parking_lot`.
//!
//! To the scheduler such a mutex is a word that tasks change, and perhaps a futex at the same place.
//! The code that waits for it is recorded under the library's name, which identifies the word. It
//! counts as a mutex only if everything that the execution did to it is what tasks do to a mutex.

use std::collections::{HashMap, HashSet};
use traces::{Execution, ObjectKind, ObjectLocation, Operation, Site, Step, TaskId};

/// A library whose mutexes are words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    /// Rust's standard library: the word is 0 while the mutex is free.
    Standard,
    /// `parking_lot`: the lowest bit says that the mutex is locked, the next one that tasks wait.
    ParkingLot,
}

impl Library {
    /// The library whose mutex this function locks, after it found the mutex locked.
    fn of(function: &str) -> Option<Library> {
        if function.contains("mutex::futex::Mutex") && function.ends_with("lock_contended") {
            return Some(Library::Standard);
        }
        let parking = function.contains("parking_lot::raw_mutex::RawMutex");
        (parking && function.ends_with("lock_slow")).then_some(Library::ParkingLot)
    }

    fn is_locked(self, value: u64) -> bool {
        match self {
            Library::Standard => value != 0,
            Library::ParkingLot => value & 1 != 0,
        }
    }
}

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
    words: HashMap<u32, Library>,
    /// For each futex at the place of a word, the word.
    futexes: HashMap<u32, u32>,
}

impl WordLocks {
    /// Finds them.
    pub(super) fn of(execution: &Execution) -> WordLocks {
        let named = execution.places.iter().filter_map(|(site, frames)| {
            let library = frames.iter().find_map(|frame| Library::of(&frame.function))?;
            Some((*site, library))
        });
        let named: HashMap<Site, Library> = named.collect();
        if named.is_empty() {
            return WordLocks::default();
        }
        let kind = |object: u32| execution.objects.get(object as usize).map(|it| it.kind);
        let mut words: HashMap<u32, Library> = HashMap::new();
        for step in &execution.steps {
            if let (Some(object), Some(&library)) = (step.object, named.get(&step.site))
                && kind(object) == Some(ObjectKind::Memory)
            {
                words.insert(object, library);
            }
        }
        for word in not_mutexes(execution, &words) {
            words.remove(&word);
        }
        let place = |object: u32| execution.objects[object as usize].place;
        let at: HashMap<ObjectLocation, u32> =
            words.keys().map(|&word| (place(word), word)).collect();
        let futexes = (0..execution.objects.len() as u32)
            .filter(|&object| kind(object) == Some(ObjectKind::Futex))
            .filter_map(|object| Some((object, *at.get(&place(object))?)))
            .collect();
        WordLocks { words, futexes }
    }

    /// The mutex that an object belongs to; the object itself if it belongs to none.
    pub(super) fn mutex(&self, object: u32) -> u32 {
        self.futexes.get(&object).copied().unwrap_or(object)
    }

    /// Whether an object is such a word.
    pub(super) fn is_word(&self, object: u32) -> bool {
        self.words.contains_key(&object)
    }

    /// What a step does to a mutex, if the mutex had this holder before.
    pub(super) fn change(&self, step: &Step, holder: Option<TaskId>) -> Option<(u32, Change)> {
        let word = step.object?;
        let library = self.words.get(&word)?;
        let locked = library.is_locked(step.value);
        match (step.operation, holder) {
            (Operation::Write | Operation::Update, None) if locked => {
                Some((word, Change::Acquired))
            }
            (Operation::Write | Operation::Update, Some(_)) if !locked => {
                Some((word, Change::Released))
            }
            _ => None,
        }
    }
}

/// The words that some step changed in a way in which tasks do not change mutexes: a store acquired
/// it, or another task than its holder released it.
fn not_mutexes(execution: &Execution, words: &HashMap<u32, Library>) -> HashSet<u32> {
    let all = WordLocks { words: words.clone(), futexes: HashMap::new() };
    let mut holders: HashMap<u32, TaskId> = HashMap::new();
    let mut wrong = HashSet::new();
    for step in &execution.steps {
        let holder = step.object.and_then(|object| holders.get(&object).copied());
        match all.change(step, holder) {
            Some((word, Change::Acquired)) => {
                holders.insert(word, step.task);
                if step.operation == Operation::Write {
                    wrong.insert(word);
                }
            }
            Some((word, Change::Released)) => {
                holders.remove(&word);
                if holder != Some(step.task) {
                    wrong.insert(word);
                }
            }
            None => {}
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::locks::HeldLocks;
    use super::*;
    use traces::{Frame, Object};

    const WORD: u32 = 0;
    const FUTEX: u32 = 1;

    /// Steps on a word: the task, the operation, the value, whether the library waits there.
    fn execution(function: &str, steps: &[(u16, Operation, u64, bool)]) -> Execution {
        let object =
            |kind| Object { kind, place: ObjectLocation::Other(7), name: "app::BANK".to_owned() };
        let site = |waits| Site { module: 0, offset: if waits { 2 } else { 1 } };
        let frame = Frame { function: function.to_owned(), ..Frame::default() };
        Execution {
            objects: vec![object(ObjectKind::Memory), object(ObjectKind::Futex)],
            places: vec![(site(false), vec![Frame::default()]), (site(true), vec![frame])],
            steps: steps
                .iter()
                .map(|&(task, operation, value, waits)| Step {
                    task: TaskId(task),
                    operation,
                    object: Some(if operation == Operation::FutexWait { FUTEX } else { WORD }),
                    site: site(waits),
                    value,
                })
                .collect(),
            ..Execution::default()
        }
    }

    /// The holder of the word's mutex before each step and at the end.
    fn holders(execution: &Execution) -> Vec<Option<u16>> {
        let holder = |step| HeldLocks::before(execution, step).holder(FUTEX);
        (0..=execution.steps.len()).map(|step| holder(step).map(|(task, _)| task.0)).collect()
    }

    #[test]
    fn mutexes_of_rusts_standard_library_and_of_parking_lot_are_locks() {
        use Operation::{FutexWait, Read, Update};
        let standard = "<std::sys::sync::mutex::futex::Mutex>::lock_contended";
        let contended = execution(
            standard,
            &[
                (1, Update, 1, false),
                // A failed exchange changes nothing; the next one marks the mutex as contended.
                (2, Update, 1, false),
                (2, Read, 1, true),
                (2, Update, 2, true),
                (2, FutexWait, 0, true),
                (1, Update, 0, false),
                (2, Update, 2, true),
                (2, Update, 0, false),
            ],
        );
        let one = Some(1);
        assert_eq!(holders(&contended), [None, one, one, one, one, one, None, Some(2), None]);
        let parking = execution(
            "parking_lot::raw_mutex::RawMutex::lock_slow",
            &[
                (1, Update, 1, false),
                (2, Update, 3, true),
                (1, Update, 2, false),
                (2, Update, 3, true),
            ],
        );
        assert_eq!(holders(&parking), [None, one, one, None, Some(2)]);
    }

    #[test]
    fn other_words_are_no_locks() {
        use Operation::{Update, Write};
        let standard = "<std::sys::sync::mutex::futex::Mutex>::lock_contended";
        for (function, steps) in [
            // Condition variables and the program's own flags.
            (
                "std::sys::sync::condvar::futex::Condvar::wait",
                [(1, Update, 1, false), (2, Update, 2, true)],
            ),
            ("app::wait", [(1, Update, 1, false), (1, Update, 0, true)]),
            // Another task releases it; a store acquires it.
            (standard, [(1, Update, 1, false), (2, Update, 0, true)]),
            (standard, [(1, Write, 1, false), (1, Update, 0, true)]),
        ] {
            let execution = execution(function, &steps);
            assert_eq!(holders(&execution), [None; 3], "{function}: {steps:?}");
        }
    }
}
