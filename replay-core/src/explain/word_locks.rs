//! Locks that are words of memory, as in Rust's standard library and in `parking_lot`.
//!
//! What a word is follows from the library functions that acted on it. Without such names it is
//! inferred from what tasks did to it (`inferred_locks.rs`).

use super::inferred_locks::inferred;
use super::library_calls::{LockCall, Protocol, SiteCall, of_sites};
use std::collections::{HashMap, HashSet};
use traces::{Execution, ObjectKind, ObjectLocation, Operation, Site, Step, TaskId};

/// What a step does to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Its task acquires it.
    Acquired,
    /// Its task becomes one of its readers.
    Shared,
    /// Its task waits until the readers have released it, and no other task can acquire it meanwhile.
    Awaited,
    /// Its task releases it.
    Released,
}

impl Protocol {
    /// Whether one task holds the lock alone.
    fn is_held(self, word: u64) -> bool {
        match self {
            Protocol::Mutex | Protocol::Flag => word != 0,
            Protocol::RwLock => word & WRITTEN == WRITTEN,
            Protocol::SmallMutex => word & 1 != 0,
            Protocol::SmallRwLock => word & 8 != 0 && self.readers(word) == 0,
            Protocol::SpinRwLock => word & 1 != 0,
            Protocol::Once => word & 3 == 1,
        }
    }

    /// The number of readers.
    fn readers(self, word: u64) -> u64 {
        match self {
            Protocol::Mutex | Protocol::SmallMutex | Protocol::Flag | Protocol::Once => 0,
            Protocol::RwLock if self.is_held(word) => 0,
            Protocol::RwLock => word & WRITTEN,
            Protocol::SmallRwLock => word >> 4,
            Protocol::SpinRwLock => (word >> 2) + (word >> 1 & 1),
        }
    }

    /// Whether a writer waits for the readers of the word.
    fn is_awaited(self, word: u64) -> bool {
        self == Protocol::SmallRwLock && word & 8 != 0 && self.readers(word) > 0
    }

    /// What the task that changed the word from one value to another did to the lock.
    fn change(self, before: u64, after: u64) -> Option<Change> {
        match (self.is_awaited(before), self.is_awaited(after)) {
            (false, true) => return Some(Change::Awaited),
            // The last reader left, or the writer gave up.
            (true, false) => return Some(Change::Released),
            _ => {}
        }
        match (self.is_held(before), self.is_held(after)) {
            (false, true) => Some(Change::Acquired),
            (true, false) => Some(Change::Released),
            _ if self.readers(after) > self.readers(before) => Some(Change::Shared),
            _ if self.readers(after) < self.readers(before) => Some(Change::Released),
            _ => None,
        }
    }
}

/// The bits of a [`Protocol::RwLock`] that count readers, and that are all set for a writer.
const WRITTEN: u64 = (1 << 30) - 1;

/// The words of an execution that are locks.
#[derive(Debug, Default)]
pub(super) struct WordLocks {
    /// For each futex of a lock, the word.
    futexes: HashMap<u32, u32>,
    words: HashMap<u32, Protocol>,
    /// Those that no library function names as a lock.
    inferred: HashSet<u32>,
    /// The sites inside functions that acquire locks.
    acquiring: HashSet<Site>,
}

impl WordLocks {
    /// Finds them.
    pub(super) fn of(execution: &Execution) -> WordLocks {
        let mut found = WordLocks::default();
        let sites = of_sites(execution);
        let lock_sites: HashMap<Site, LockCall> = sites
            .into_iter()
            .filter_map(|(site, call)| match call {
                SiteCall::Call(call) => Some((site, call.lock?)),
                SiteCall::Internal => None,
            })
            .collect();
        let of_kind = |kind| {
            let objects = execution.objects.iter().enumerate();
            objects.filter(move |(_, it)| it.kind == kind).map(|(at, it)| (at as u32, it.place))
        };
        let futexes: Vec<(u32, ObjectLocation)> = of_kind(ObjectKind::Futex).collect();
        if futexes.is_empty() && lock_sites.is_empty() {
            return found;
        }
        let memory: HashMap<ObjectLocation, u32> =
            of_kind(ObjectKind::Memory).map(|(object, place)| (place, object)).collect();
        let word = |(futex, place)| Some((futex, *memory.get(&place)?));
        found.futexes = futexes.into_iter().filter_map(word).collect();
        found.inferred = inferred(execution, &found.futexes);
        let called = called_locks(execution, &lock_sites);
        found.inferred.retain(|word| !called.contains_key(word));
        // A word that is not 0 is held.
        let mut words: HashMap<u32, Protocol> =
            found.inferred.iter().map(|&word| (word, Protocol::Mutex)).collect();
        words.extend(called);
        found.futexes.retain(|_, word| words.contains_key(word));
        found.words = words;
        let acquiring = lock_sites.into_iter().filter(|(_, call)| call.acquires);
        found.acquiring = acquiring.map(|(site, _)| site).collect();
        found
    }

    /// The lock that an object belongs to; the object itself if it belongs to none.
    pub(super) fn lock(&self, object: u32) -> u32 {
        self.futexes.get(&object).copied().unwrap_or(object)
    }

    /// Whether an object is such a word.
    pub(super) fn is_word(&self, object: u32) -> bool {
        self.words.contains_key(&object)
    }

    /// Whether that an object is a lock was inferred from what tasks did to it.
    pub(super) fn is_inferred(&self, object: u32) -> bool {
        self.inferred.contains(&object)
    }

    /// The inferred ones, and their futexes.
    pub(super) fn all_inferred(&self) -> HashSet<u32> {
        let futexes = self.futexes.iter().filter(|(_, word)| self.inferred.contains(word));
        futexes.map(|(&futex, _)| futex).chain(self.inferred.iter().copied()).collect()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether the lock of a word can have several readers.
    pub(super) fn has_readers(&self, word: u32) -> bool {
        use Protocol::{RwLock, SmallRwLock, SpinRwLock};
        matches!(self.words.get(&word), Some(RwLock | SmallRwLock | SpinRwLock))
    }

    /// Whether the word belongs to a routine that runs once, and is held by the task that runs it.
    pub(super) fn is_once(&self, word: u32) -> bool {
        self.words.get(&word) == Some(&Protocol::Once)
    }

    /// Whether a site is inside a function that acquires such a lock.
    pub(super) fn is_acquiring(&self, site: Site) -> bool {
        self.acquiring.contains(&site)
    }

    /// What a step does to a lock. `values` has the values of the words before it, and then after.
    pub(super) fn change(
        &self,
        step: &Step,
        values: &mut HashMap<u32, u64>,
    ) -> Option<(u32, Change)> {
        let word = step
            .object
            .filter(|_| matches!(step.operation, Operation::Update | Operation::Write))?;
        let protocol = self.words.get(&word)?;
        let before = values.insert(word, step.value).unwrap_or(0);
        Some((word, protocol.change(before, step.value)?))
    }
}

/// The words that functions which acquire locks updated. A word that functions of different kinds
/// of locks updated is no lock.
fn called_locks(execution: &Execution, sites: &HashMap<Site, LockCall>) -> HashMap<u32, Protocol> {
    let mut found: HashMap<u32, Option<Protocol>> = HashMap::new();
    let mut acquired = HashSet::new();
    // The last site of each task.
    let mut last: HashMap<TaskId, Site> = HashMap::new();
    for step in &execution.steps {
        let begins = last.insert(step.task, step.site) != Some(step.site);
        let (Some(object), Some(call)) = (step.object, sites.get(&step.site)) else { continue };
        let updates = step.operation == Operation::Update;
        // A function that was not inlined accesses other words at the same site, but its lock's word first.
        let is_first = begins && call.acquires && (updates || step.operation == Operation::Read);
        if !(if call.accesses { updates } else { is_first }) {
            continue;
        }
        if call.acquires {
            acquired.insert(object);
        }
        let known = found.entry(object).or_insert(Some(call.protocol));
        if *known != Some(call.protocol) || (updates && !is_possible(call.protocol, step.value)) {
            *known = None;
        }
    }
    let locks = found.into_iter().filter(|(object, _)| acquired.contains(object));
    locks.filter_map(|(object, protocol)| Some((object, protocol?))).collect()
}

/// Whether a lock's word can have this value.
fn is_possible(protocol: Protocol, value: u64) -> bool {
    match protocol {
        Protocol::Mutex => value <= 2,
        Protocol::SmallMutex => value <= 3,
        Protocol::Flag => value <= 1,
        Protocol::Once => value <= 7,
        Protocol::RwLock | Protocol::SmallRwLock | Protocol::SpinRwLock => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::locks::HeldLocks;
    use super::*;
    use traces::{Object, Site};

    const WORD: u32 = 0;
    const FUTEX: u32 = 1;

    /// Steps on a word: the task, the operation, the value. All of them are at one site.
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

    /// The execution with its only site inside these functions, the innermost first.
    fn inside(mut execution: Execution, functions: &[&str]) -> Execution {
        let frame = |function: &str, file: &str, inlined| traces::Frame {
            function: function.into(),
            file: file.into(),
            inlined,
            ..traces::Frame::default()
        };
        let mut frames = vec![frame("app::work", "/src/app.rs", false)];
        frames.extend(functions.iter().map(|name| frame(name, "/rustc/0/library/a.rs", true)));
        execution.places = vec![(execution.steps[0].site, frames)];
        execution
    }

    #[test]
    fn a_word_in_functions_of_a_lock_is_one_without_a_waiting_task() {
        use Operation::{Read, Update};
        let names =
            ["<core::sync::atomic::AtomicU32>::swap", "std::sync::poison::mutex::Mutex<T>::lock"];
        let steps = [(1, Update, 1), (2, Update, 1), (2, Read, 1), (1, Update, 0), (2, Update, 1)];
        let one = Some(1);
        assert_eq!(
            holders(&inside(execution(&steps), &names)),
            [None, one, one, one, None, Some(2)]
        );
        let arc = [
            "<core::sync::atomic::AtomicUsize>::fetch_add",
            "<alloc::sync::Arc<T> as core::clone::Clone>::clone",
        ];
        assert!(holders(&inside(execution(&steps), &arc)).iter().all(Option::is_none));
    }

    /// Bit 3 of the word of `parking_lot`'s read-write lock is set from when the writer begins to wait.
    #[test]
    fn a_writer_that_waits_for_readers_holds_nothing_and_blocks_them() {
        use Operation::Update;
        let names = ["lock_api::rwlock::RwLock<R,T>::write"];
        // T1 reads, T2 waits to write, T1 releases, T2 releases.
        let steps = [(1, Update, 16), (2, Update, 24), (1, Update, 8), (2, Update, 0)];
        let execution = inside(execution(&steps), &names);
        assert_eq!(holders(&execution), [None, Some(1), Some(1), Some(2), None]);
        let until = |steps: usize| Execution {
            steps: execution.steps[..steps].to_vec(),
            ..execution.clone()
        };
        let waits = |execution: &Execution, task| {
            super::super::locks::waits_to_write(execution, TaskId(task), Some(WORD))
        };
        assert!(waits(&until(2), 2) && !waits(&until(2), 1));
        assert!(!waits(&until(3), 2));
        let edge = |task| traces::WaitEdge {
            task: TaskId(task),
            object: Some(WORD),
            holder: None,
            site: None,
        };
        let mut edges = [edge(1), edge(2)];
        super::super::locks::name_word_locks(&mut edges, &until(2));
        assert_eq!(edges.map(|edge| edge.holder), [Some(TaskId(2)), Some(TaskId(1))]);
        // The writer gives up.
        let steps = [(1, Update, 16), (2, Update, 24), (2, Update, 16), (1, Update, 0)];
        let given_up = inside(self::execution(&steps), &names);
        assert_eq!(holders(&given_up), [None, Some(1), Some(1), Some(1), None]);
        assert!(!waits(&given_up, 2));
    }

    /// In a build without optimisation, all accesses of a function are at the site of its call.
    #[test]
    fn a_function_that_is_not_inlined_accesses_its_locks_word_first() {
        use Operation::{Read, Update, Write};
        let one = Some(1);
        let locked = ["lock_api::mutex::Mutex<R,T>::lock"];
        let steps = [(1, Update, 1), (2, Update, 1), (2, Read, 1), (1, Update, 0), (2, Update, 3)];
        let found = holders(&inside(execution(&steps), &locked));
        assert_eq!(found, [None, one, one, one, None, Some(2)]);
        let spun = ["spin::mutex::spin::SpinMutex<T,R>::lock", "spin::mutex::Mutex<T,R>::lock"];
        let steps = [(1, Update, 1), (2, Update, 1), (2, Read, 1), (1, Write, 0), (2, Update, 1)];
        let found = holders(&inside(execution(&steps), &spun));
        assert_eq!(found, [None, one, one, one, None, Some(2)]);
        // Not in a module of the program with a similar name.
        let other = ["myspin::mutex::Mutex<T>::lock"];
        assert!(holders(&inside(execution(&steps), &other)).iter().all(Option::is_none));
    }

    #[test]
    fn readers_and_writers_hold_a_lock() {
        use Operation::Update;
        let names =
            ["<core::sync::atomic::AtomicU32>::swap", "std::sync::poison::rwlock::RwLock<T>::read"];
        let (waiting, written) = (1 << 31, WRITTEN);
        let steps = [
            (1, Update, 1),
            (2, Update, 2),
            (3, Update, 2 | waiting),
            (1, Update, 1 | waiting),
            (2, Update, waiting),
            (3, Update, written),
            (3, Update, 0),
        ];
        let execution = inside(execution(&steps), &names);
        let all = |step| -> Vec<u16> {
            HeldLocks::before(&execution, step).all().map(|(_, task, _)| task.0).collect()
        };
        let held: Vec<Vec<u16>> = (0..=steps.len()).map(all).collect();
        assert_eq!(
            held,
            [vec![], vec![1], vec![1, 2], vec![1, 2], vec![2], vec![], vec![3], vec![]]
        );
    }
}
