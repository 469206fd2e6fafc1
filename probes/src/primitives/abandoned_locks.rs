//! Tasks that end while they hold a lock, which no other task can then unlock. They are reported
//! beside the failures, since the program may never lock it again.
//!
//! Counting the locks of a task costs next to nothing; which lock it is, is determined from the
//! recorded steps.

use crate::detect::atoms;
use crate::fiber::switch;
use crate::primitives::mutex;
use crate::state::end::End;
use crate::state::locks;
use crate::state::locks::holders;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::world::world;
use crate::steps::objects;
use crate::steps::record;
use traces::wire::{FLAG_INDEXED, FoundFailure, Record};
use traces::{FailureKind, Operation};

/// The running task acquired a mutex, or a read-write lock for writing.
#[inline]
pub(crate) fn took() {
    let held = &world().task().held;
    held.set(held.get().wrapping_add(1));
}

/// The running task released such a lock. (If it did not hold that lock, the count is wrong from
/// here on; but then no held lock is found, either.)
#[inline]
pub(crate) fn gave_back() {
    let held = &world().task().held;
    held.set(held.get().wrapping_sub(1));
}

/// The running task ends.
pub(crate) fn check() {
    let world = world();
    let number = world.current.get();
    let nothing = world.task().held.get() == 0 && holders::of(number, |_| true).is_none();
    if !nothing && switch::on_manager(report, u64::from(number)) != 0 {
        outcome::end_here(End::Failed(Box::new(found(number).expect("it was found before"))));
    }
}

/// On the manager's stack: reports the lock that the task leaves held; not 0 if that is a failure.
extern "C" fn report(number: u64) -> u64 {
    let Some(found) = found(number as u16) else { return 0 };
    if outcome::counts(FailureKind::LockLeftHeld) {
        return 1;
    }
    let root = root();
    if root.learns && root.raced.borrow().insert((found.address, u64::from(found.kind.code()))) {
        root.beside.borrow().push(found);
    }
    0
}

/// The report of the lock that the task acquired last, of those that it still holds.
fn found(number: u16) -> Option<FoundFailure> {
    let taken = record::all().iter().rev().filter(|record| {
        let operation = Operation::from_code(record.operation);
        record.task == number && operation.is_some_and(Operation::acquires_lock)
    });
    let (record, lock) =
        taken.map(|record| (record, address(record))).find(|&(record, lock)| {
            is_held_since(record, lock) && is_held(record.operation, lock, number)
        })?;
    let mut found = outcome::found(FailureKind::LockLeftHeld, record.site, String::new());
    if let (true, Some(operation)) = (root().full, Operation::from_code(record.operation)) {
        found.number = objects::index(operation, lock) as i32;
    }
    Some(found)
}

/// The address of the lock that a step acquired.
fn address(record: &Record) -> u64 {
    if record.flags & FLAG_INDEXED == 0 {
        return record.object;
    }
    let objects = root().objects.borrow();
    let known = objects.iter().find(|(_, index)| **index == record.object);
    known.map_or(0, |((address, ..), _)| *address)
}

/// Whether the task that acquired the lock in this step has not released it since, according to the
/// recorded steps. Only then is its memory certain to be still mapped and readable.
fn is_held_since(taken: &Record, lock: u64) -> bool {
    let same = |record: &&Record| record.task == taken.task && record.object == taken.object;
    let of = |which: fn(Operation) -> bool| {
        let steps = record::all().iter().filter(same);
        let done = steps.filter(|record| record.value == 0 || record.value == OWNER_DIED);
        done.filter(|record| Operation::from_code(record.operation).is_some_and(which)).count()
    };
    lock != 0 && of(Operation::acquires_lock) > of(Operation::releases_lock)
}

/// The result of locking a robust mutex whose owner ended.
const OWNER_DIED: u64 = libc::EOWNERDEAD as u64;

fn is_held(operation: u8, lock: u64, number: u16) -> bool {
    use Operation as O;
    let tid = world().tid(number);
    match Operation::from_code(operation) {
        Some(O::Lock | O::TryLock | O::TimedLock) if !atoms::is_lock(lock) => {
            mutex::is_left_by(lock, tid)
        }
        Some(O::Lock | O::TryLock | O::TimedLock | O::SpinLock | O::SpinTryLock) => {
            holders::holders(lock).any(|it| it == number)
        }
        Some(_) => {
            locks::rwlock::is_written_by(lock, tid) || holders::holders(lock).any(|it| it == number)
        }
        None => false,
    }
}
