//! Tasks that end with a lock held: nobody else may ever unlock it. They are told of beside the
//! failures, since a program may never ask for the lock again.
//!
//! Counting what a task has costs next to nothing; which it is, is found in the recorded steps.

use crate::failure::{self, End};
use crate::fiber;
use crate::manager::root;
use crate::models::{holdings, mutex, rwlock};
use crate::objects;
use crate::record;
use crate::world::world;
use traces::wire::{FLAG_INDEXED, Found, Record};
use traces::{FailureKind, Operation};

/// The running task took a mutex, or a read-write lock to write.
#[inline]
pub(crate) fn took() {
    let held = &world().task().held;
    held.set(held.get().wrapping_add(1));
}

/// The running task gave such a lock back. (Where that was not its own, the count says nothing any
/// more; but then the lock is not found, either.)
#[inline]
pub(crate) fn gave_back() {
    let held = &world().task().held;
    held.set(held.get().wrapping_sub(1));
}

/// The running task ends.
pub(crate) fn check() {
    let world = world();
    let number = world.current.get();
    let nothing = world.task().held.get() == 0 && holdings::of(number, |_| true).is_none();
    if !nothing && fiber::on_manager(tell, u64::from(number)) != 0 {
        failure::end_here(End::Failed(Box::new(found(number).expect("it was found before"))));
    }
}

/// On the manager's stack: tells of the lock that the task leaves held; not 0 if that fails.
extern "C" fn tell(number: u64) -> u64 {
    let Some(found) = found(number as u16) else { return 0 };
    if failure::counts(FailureKind::LockLeftHeld) {
        return 1;
    }
    let root = root();
    if root.learns && root.raced.insert((found.address, u64::from(found.kind.code()))) {
        root.beside.push(found);
    }
    0
}

/// What is said of the lock that the task took last, of those that it still has.
fn found(number: u16) -> Option<Found> {
    let taken = record::all().iter().rev().filter(|record| {
        let operation = Operation::from_code(record.operation);
        record.task == number && operation.is_some_and(Operation::takes)
    });
    let (record, lock) =
        taken.map(|record| (record, address(record))).find(|&(record, lock)| {
            is_held_since(record, lock) && is_held(record.operation, lock, number)
        })?;
    let mut found = failure::found(FailureKind::LockLeftHeld, record.site, String::new());
    if let (true, Some(operation)) = (root().full, Operation::from_code(record.operation)) {
        found.number = objects::index(operation, lock) as i32;
    }
    Some(found)
}

/// The lock that a step took.
fn address(record: &Record) -> u64 {
    if record.flags & FLAG_INDEXED == 0 {
        return record.object;
    }
    let known = root().objects.iter().find(|(_, index)| **index == record.object);
    known.map_or(0, |((address, ..), _)| *address)
}

/// Whether the task that took the lock in this step did not give it back since, as far as steps say.
/// Only then is it certain that its memory is there to be looked at.
fn is_held_since(taken: &Record, lock: u64) -> bool {
    let same = |record: &&Record| record.task == taken.task && record.object == taken.object;
    let of = |which: fn(Operation) -> bool| {
        let steps = record::all().iter().filter(same);
        let done = steps.filter(|record| record.value == 0 || record.value == OWNER_DIED);
        done.filter(|record| Operation::from_code(record.operation).is_some_and(which)).count()
    };
    lock != 0 && of(Operation::takes) > of(Operation::gives_back)
}

/// What taking a robust mutex comes to whose owner ended.
const OWNER_DIED: u64 = libc::EOWNERDEAD as u64;

fn is_held(operation: u8, lock: u64, number: u16) -> bool {
    use Operation as O;
    let tid = world().tid(number);
    match Operation::from_code(operation) {
        Some(O::Lock | O::TryLock | O::TimedLock) => mutex::is_left_by(lock, tid),
        Some(O::SpinLock | O::SpinTryLock) => holdings::holders(lock).any(|it| it == number),
        Some(_) => {
            rwlock::is_written_by(lock, tid) || holdings::holders(lock).any(|it| it == number)
        }
        None => false,
    }
}
