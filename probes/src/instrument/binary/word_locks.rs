//! Mutexes of Rust's standard library as mutexes: where a word is known to be one, the instructions that lock it,
//! try to lock it and unlock it are the steps of a mutex, as those of the threads library are.
//!
//! A lock waits at its gate until the word says that the mutex is free, so that its compare-and-swap succeeds, and
//! no task ever sleeps in the kernel for it. In the library a task that fails reads the word many times, tries
//! again, sleeps, is woken, and may be overtaken and begin again. All that ends as if the task had come when the
//! mutex was free. A search that knows it has one class for each order in which tasks hold the mutex.
//!
//! A word is known to be a mutex once a lock was executed on it, in an earlier execution
//! ([`crate::detect::learned_points`]): until then its instructions are updates of memory.

use crate::detect::access::{Access, expect_point, is_in_company, is_point, look};
use crate::detect::{atoms, learned_points};
use crate::instrument::binary::Probe;
use crate::instrument::binary::effective_address::address;
use crate::instrument::binary::lock_sites::{Exchange, LockPart};
use crate::instrument::binary::monitored;
use crate::instrument::binary::stub::Registers;
use crate::schedule::access_points::arrive_to_write;
use crate::state::locks::holders;
use crate::state::locks::word::{FREE, HELD, is_free, word};
use crate::state::task::Gate;
use crate::state::upcalls;
use crate::state::world::world;
use crate::steps::record;
use traces::Operation;

const RAX: usize = 0;
const RSI: usize = 6;
const RDI: usize = 7;
const RDX: usize = 2;

/// The bytes of a mutex's word.
const SIZE: u64 = 4;

/// The running task is about to execute an exchange. Whether that was handled here: as a step on a mutex, or as
/// part of one.
pub(super) fn exchanges(probe: &Probe, registers: &Registers) -> bool {
    let general = &registers.general;
    let mutex = address(&probe.operands[0], general);
    let access = access(mutex, probe.behind);
    if world().task().locking.get() == mutex {
        world().task().locking.set(0);
        observe(&access);
        return true;
    }
    let low = |register: u8| general[usize::from(register)] as u32;
    let operation = match (probe.exchange, probe.lock) {
        (Exchange::IfEqual(new), part) if low(RAX as u8) == FREE && low(new) == HELD => {
            if part == LockPart::Exchange { Operation::Lock } else { Operation::TryLock }
        }
        (Exchange::Always(new), _) if low(new) == FREE && !is_free(mutex) => Operation::Unlock,
        _ => return false,
    };
    if !learned_points::have_locks() && operation != Operation::Lock || !is_point(&access) {
        return false;
    }
    if !atoms::is_lock(mutex) {
        if operation == Operation::Lock {
            atoms::note_lock(mutex);
        }
        return false;
    }
    match operation {
        Operation::Lock => lock(&access),
        Operation::TryLock => try_lock(&access),
        _ => unlock(&access),
    }
    true
}

/// The running task is about to call the function that makes the compare-and-swap of a lock, with the mutex, the
/// expected value and the new one.
pub(super) fn calls(probe: &Probe, registers: &Registers) {
    let general = &registers.general;
    let (mutex, expected, new) = (general[RDI], general[RSI] as u32, general[RDX] as u32);
    if !is_in_company() || (expected, new) != (FREE, HELD) || mutex % SIZE != 0 {
        return;
    }
    if !atoms::is_lock(mutex) {
        return atoms::note_lock(mutex);
    }
    // A replay has this probe only if it is known.
    if !learned_points::is_site(probe.behind) {
        return expect_point(mutex & !7, probe.behind);
    }
    lock(&access(mutex, probe.behind));
    world().task().locking.set(mutex);
}

/// Takes a mutex in place of the function that waits for it.
pub(super) fn wait(probe: &Probe, registers: &Registers) {
    let mutex = registers.general[RDI];
    let access = access(mutex, probe.behind);
    if atoms::is_lock(mutex) {
        lock(&access);
        word(mutex).set(HELD);
        return;
    }
    if is_in_company() {
        atoms::note_lock(mutex);
    }
    loop {
        monitored::update(&access, false);
        if upcalls::get().take_or_wait(mutex, probe.behind) {
            return;
        }
    }
}

fn access(address: u64, site: u64) -> Access {
    Access { address, size: SIZE, writes: true, atomic: true, proven: false, site }
}

/// Parks until the mutex is free. The caller then writes to its word.
fn lock(access: &Access) {
    arrive_to_write(access, Operation::Lock, Gate::WordFree(access.address));
    took(access.address);
    observe(access);
}

fn try_lock(access: &Access) {
    arrive_to_write(access, Operation::TryLock, Gate::WordOpen(access.address));
    if is_free(access.address) {
        took(access.address);
    } else {
        record::value(libc::EBUSY as u64);
    }
    observe(access);
}

fn unlock(access: &Access) {
    arrive_to_write(access, Operation::Unlock, Gate::WordOpen(access.address));
    while let Some(holder) = holders::holders(access.address).next() {
        while holders::remove(access.address, holder) {}
    }
    observe(access);
}

fn took(mutex: u64) {
    holders::add(mutex, world().current.get());
}

/// Compares the access to the word with earlier ones. What it orders follows from the operation.
fn observe(access: &Access) {
    look(access);
    monitored::orders(access.address, access.size);
}
