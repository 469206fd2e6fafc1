//! Memory accesses as scheduling points. Instrumentation reports each access here before it happens.

use crate::detect::access::{
    Access, POINTS, done, is_awake, is_in_company, is_point, look, me, peek, settle_write,
};
use crate::detect::atoms;
use crate::detect::delayed_stores;
use crate::detect::heap_words;
use crate::detect::learned_points;
use crate::schedule::busy_loops::no_step;
use crate::schedule::scheduler::{point, point_if, read_step};
use crate::state::awaited::Awaited;
use crate::state::locks;
use crate::state::open_words::{self, WordSet};
use crate::state::task::{ExternalWait, Gate};
use crate::state::world::world;
use crate::steps::record;
use crate::sys::interpose::PROGRAM_CALL;
use search::reduction::pending::Counting;
use search::spin::SpinDetector;
use traces::Operation;
use traces::store_buffers::MemoryEffect;

/// Handles an access just before it happens: it may be a scheduling point, and is compared in any
/// case.
#[inline(never)]
pub(crate) fn visit(access: Access) {
    if !is_awake() {
        return;
    }
    let is_point = is_point(&access);
    if is_point {
        arrive(&access, if access.writes { Operation::Write } else { Operation::Read });
    } else {
        no_step(&access, !POINTS.picky.get() || learned_points::is_site(access.site));
    }
    look(&access);
    if is_point {
        if access.proven {
            let act = if access.writes { MemoryEffect::Store } else { MemoryEffect::Load };
            delayed_stores::note(act, access.address, access.site);
        }
        done(&access);
    }
}

/// The running task is about to look at the state of these open files: one step, if another task may change
/// what it finds. `wait` is the address of an [`ExternalWait`] that is over when there is something to find.
/// Signals and timers that change that are always steps.
pub(crate) fn look_at_files(look: Awaited, wait: u64, site: u64) {
    let of = |address| of_file(address, false, site);
    let words = look.words;
    if words.is_empty() {
        return;
    }
    settle_write();
    if let Some(first) = words.iter().map(of).find(|access| look.signals || is_point(access)) {
        let task = world().task();
        task.open_files.set(Some(look));
        task.limited_wait.set(wait);
        // The call continues, and may wait.
        let arrive =
            |operation| PROGRAM_CALL.keep_during(|| arrive_at(&first, operation, Gate::Open));
        read_step(first.address, site, || 0, arrive);
        task.open_files.set(None);
    }
    compare(words, false, site);
}

/// The running task is about to change the state of these open files: one step.
pub(crate) fn change_files(words: WordSet, site: u64) {
    settle_write();
    if let Some(first) = words.iter().map(|word| of_file(word, true, site)).find(is_point) {
        let task = world().task();
        task.open_files.set(Some(Awaited::look(words, false)));
        task.limited_wait.set(0);
        // The call continues, and may wait.
        PROGRAM_CALL.keep_during(|| arrive_to_write(&first, Operation::Write, Gate::Open));
        task.open_files.set(None);
        done(&first);
    }
    compare(words, true, site);
}

/// The access to the word of an open file.
fn of_file(address: u64, writes: bool, site: u64) -> Access {
    Access { address, size: 8, writes, atomic: true, proven: true, site, in_parts: false }
}

/// Compares the accesses of the step that has begun to the state of these open files, which it reads or changes,
/// with those of other tasks.
pub(crate) fn compare(words: WordSet, writes: bool, site: u64) {
    if is_in_company() {
        words.iter().for_each(|word| look(&of_file(word, writes, site)));
    }
}

/// Whether a call that changes the state of these open files is a step.
pub(crate) fn is_step(words: WordSet, site: u64) -> bool {
    words.iter().any(|word| is_point(&of_file(word, true, site)))
}

/// Compares a read of a pipe with these words: it takes something, and observes what was written unless that `is_known`.
pub(crate) fn compare_read(words: WordSet, is_known: bool, site: u64) {
    let taken = words.only(open_words::is_taken);
    compare(taken, true, site);
    if !is_known {
        compare(words.only(|word| open_words::pipe_written(word).is_some()), false, site);
    }
}

/// The running task is about to read from a descriptor, or to write to it, without waiting: one step, which changes
/// the state of these open files if `wait` is over, and otherwise only looks at it.
pub(crate) fn transfer_at_once(words: WordSet, descriptor: u64, wait: &ExternalWait, site: u64) {
    settle_write();
    let is_point = is_step(words, site);
    if is_point {
        let task = world().task();
        task.open_files.set(Some(Awaited::change(words)));
        task.limited_wait.set(wait.address());
        // The call continues, and may wait.
        PROGRAM_CALL.keep_during(|| {
            clear_below();
            point(Operation::Transfer, descriptor.wrapping_add(1), site, Gate::Open);
        });
        task.open_files.set(None);
    }
    // SAFETY: the address is that of `wait`.
    let changes = unsafe { ExternalWait::is_over(wait.address()) };
    if is_point && !changes {
        record::value(libc::EAGAIN as u64);
    }
    compare(words, changes, site);
}

/// A library is about to store, by an atomic operation that is not instrumented, what the program's
/// code reads.
pub(crate) fn stored(address: u64, size: u64, site: u64) {
    visit_in_company(address, size, true, site);
}

/// A call of the C library is about to load what another task's call stores. The call continues, and may
/// wait.
pub(crate) fn loaded(address: u64, size: u64, site: u64) {
    PROGRAM_CALL.keep_during(|| visit_in_company(address, size, false, site));
}

/// Visits an atomic access of a library, or to a word of state, if another task may observe it.
pub(crate) fn visit_in_company(address: u64, size: u64, writes: bool, site: u64) {
    if is_in_company() {
        settle_write();
        visit(Access::atomic(address, size, writes, site));
    }
}

/// Parks before the access until the task is chosen.
pub(crate) fn arrive(access: &Access, operation: Operation) {
    if operation != Operation::Read {
        return arrive_to_write(access, operation, Gate::Open);
    }
    let found = || peek(access.address, access.size);
    read_step(access.address, access.site, found, |operation| {
        arrive_at(access, operation, Gate::Open);
    });
}

/// Parks before an operation that may write until the task is chosen, at a gate that may be closed.
pub(crate) fn arrive_to_write(access: &Access, operation: Operation, gate: Gate) {
    crate::state::root::root().alike.borrow().writes(me());
    arrive_at(access, operation, gate);
}

/// Parks before an atomic update, which may count, until the task is chosen.
pub(crate) fn arrive_to_count(access: &Access, counting: Counting) {
    let task = world().task();
    let before = task.counting.replace(counting);
    arrive_to_write(access, Operation::Update, Gate::Open);
    task.counting.set(before);
}

fn arrive_at(access: &Access, operation: Operation, gate: Gate) {
    // A block may have been allocated here since the task's last access, with other identities.
    let task = world().task();
    task.word_identity.set((0, 0));
    atoms::note(access);
    if SpinDetector::may_spin_at(operation) {
        clear_below();
    }
    let first =
        if (access.address & 7) + access.size > 8 { first_hot(access) } else { access.address };
    // A signal handler may run at the point, and access memory, too.
    let before = task.size.replace(access.address + access.size - first);
    let is_open = !matches!(gate, Gate::WordFree(mutex) if !locks::word::is_free(mutex));
    point_if(is_open, operation, first, access.site, gate);
    task.size.set(before);
}

/// The first address of an access to several words at which other tasks access memory, too: the step
/// is recorded as an access to that.
fn first_hot(access: &Access) -> u64 {
    let is_hot = |at: &u64| {
        POINTS.shadow.is_known(*at)
            && POINTS.shadow.word(*at).is_some_and(|word| heap_words::is_hot(word, *at))
    };
    let mut words = (access.address & !7..access.address + access.size).step_by(8);
    words.find(is_hot).unwrap_or(access.address).max(access.address)
}

/// Overwrites what earlier calls left on the stack where the runtime's frames will be. Those frames
/// do not fill every slot, and they are compared with the rest of the stack of a task in a spin
/// loop (`crate::schedule::stall`).
#[inline(never)]
fn clear_below() {
    std::hint::black_box(&mut [0u64; 160]);
}
