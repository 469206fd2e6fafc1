//! Mutexes of Rust's standard library as mutexes: where a word is known to be one, the instructions that lock it,
//! try to lock it and unlock it are the steps of a mutex, as those of the threads library are.
//!
//! A lock waits at its gate until the word says that the mutex is free, so that its compare-and-swap succeeds, and
//! no task ever sleeps in the kernel for it. In the library a task that fails reads the word many times, tries
//! again, sleeps, is woken, and may be overtaken and begin again. All that ends as if the task had come when the
//! mutex was free. A search that knows it has one class for each order in which tasks hold the mutex.
//!
//! A word is known to be a mutex once a lock was executed on it, in an earlier execution
//! ([`crate::detect::learned_points`]): until then its instructions are updates of memory, and only a task that
//! failed to lock it waits at a gate.

use crate::detect::access::{Access, expect_point, is_in_company, is_point, look};
use crate::detect::{atoms, learned_points};
use crate::instrument::binary::lock_sites::{Exchange, LockPart};
use crate::instrument::binary::monitored;
use crate::instrument::binary::rust_library::LibraryPart;
use crate::schedule::access_points::arrive_to_write;
use crate::state::locks::holders;
use crate::state::locks::word::{FREE, HELD, is_free, word};
use crate::state::task::Gate;
use crate::state::world::world;
use crate::steps::record;
use search::reduction::pending::Counting;
use traces::Operation;

const RAX: usize = 0;
const RSI: usize = 6;
const RDI: usize = 7;
const RDX: usize = 2;

/// The bytes of a mutex's word.
const SIZE: u64 = 4;

/// The running task is about to execute an exchange. Whether that was handled here: as a step on a mutex, or as
/// part of one. `counts`: whether the access counts for the detection of waiting.
pub(super) fn exchanges(
    (exchange, part): (Exchange, LibraryPart),
    (mutex, site): (u64, u64),
    general: &[u64; 16],
    counts: bool,
) -> bool {
    let access = access(mutex, site);
    let task = world().task();
    if task.locking.get() == mutex {
        task.locking.set(0);
        observe(&access);
        return true;
    }
    let low = |register: u8| general[usize::from(register)] as u32;
    let operation = match exchange {
        Exchange::IfEqual(new) if low(RAX as u8) == FREE && low(new) == HELD => match part {
            LibraryPart::Lock(LockPart::Exchange) => Operation::Lock,
            _ => Operation::TryLock,
        },
        Exchange::Always(new) if low(new) == FREE && !is_free(mutex) => Operation::Unlock,
        _ => return false,
    };
    let is_known = atoms::is_lock(mutex) && is_point(&access);
    match operation {
        Operation::Lock if is_known => lock(&access),
        Operation::TryLock if is_known => try_lock(&access),
        Operation::Unlock if is_known => unlock(&access),
        Operation::Lock => update_to_lock(&access, counts),
        _ => {
            if operation == Operation::Unlock {
                gave_back(mutex);
            }
            return false;
        }
    }
    true
}

/// Locks a mutex that is not known to be one, which may fail.
fn update_to_lock(access: &Access, counts: bool) {
    // A replay has no probe on other instructions, and must find the same holders.
    let is_point = is_point(access);
    if is_point {
        atoms::note_lock(access.address);
    }
    monitored::update(access, Counting::None, counts);
    if is_point && is_free(access.address) {
        took(access.address);
    }
}

/// The running task is about to call the function that makes the compare-and-swap of a lock, with the mutex, the
/// expected value and the new one.
pub(super) fn calls(site: u64, general: &[u64; 16]) {
    let (mutex, expected, new) = (general[RDI], general[RSI] as u32, general[RDX] as u32);
    if !is_in_company() || (expected, new) != (FREE, HELD) || mutex % SIZE != 0 {
        return;
    }
    if !atoms::is_lock(mutex) {
        return atoms::note_lock(mutex);
    }
    // A replay has this probe only if it is known.
    if !learned_points::is_site(site) {
        return expect_point(mutex & !7, site);
    }
    lock(&access(mutex, site));
    world().task().locking.set(mutex);
}

/// Takes a mutex in place of the function that waits for it.
pub(super) fn wait(site: u64, general: &[u64; 16]) {
    let mutex = general[RDI];
    if is_in_company() {
        atoms::note_lock(mutex);
    }
    lock(&access(mutex, site));
    word(mutex).set(HELD);
}

fn access(address: u64, site: u64) -> Access {
    Access::atomic(address, SIZE, true, site)
}

/// Parks until the mutex is free. The caller then writes to its word.
fn lock(access: &Access) {
    arrive_to_write(access, Operation::Lock, Gate::WordFree(access.address));
    took(access.address);
    observe(access);
}

fn try_lock(access: &Access) {
    arrive_to_write(access, Operation::TryLock, Gate::WordOpen);
    if is_free(access.address) {
        took(access.address);
    } else {
        record::value(libc::EBUSY as u64);
    }
    observe(access);
}

fn unlock(access: &Access) {
    arrive_to_write(access, Operation::Unlock, Gate::WordOpen);
    gave_back(access.address);
    observe(access);
}

fn took(mutex: u64) {
    gave_back(mutex);
    holders::add(mutex, world().current.get());
}

/// Whichever task held the mutex does no more.
fn gave_back(mutex: u64) {
    while let Some(holder) = holders::holders(mutex).next() {
        while holders::remove(mutex, holder) {}
    }
}

/// Compares the access to the word with earlier ones. What it orders follows from the operation.
fn observe(access: &Access) {
    look(access);
    monitored::orders(access.address, access.size);
}
