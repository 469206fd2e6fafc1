//! The objects of memory accesses.
//!
//! An object is an *atom*: the largest range of bytes within a word of eight that no access has split.
//! Where a step accesses a part of a word, the word is split at the ends of that part, from the next
//! execution on ([`learned_points`]). An access touches each atom with which it has a byte in common,
//! so that two accesses with a common byte always have a common object, however the word is split.
//! Which words are split decides only which other accesses count as dependent.
//!
//! A split belongs to the identity of a word and not to its address: executions in which tasks
//! allocate in different orders agree on the objects.

use crate::detect::access::{self, Access, POINTS};
use crate::detect::heap_words;
use crate::detect::learned_points;
use crate::detect::race;
use crate::memory::shared_views;
use crate::state::open_words::WordSet;
use crate::state::task::Task;
use crate::state::world::world;
use crate::steps::identity;
use crate::sys::checked_read;
use traces::Operation;
use traces::points;

/// The size of a futex.
const FUTEX: u64 = 4;

/// An object: its address, and its identity in all executions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object {
    pub(crate) address: u64,
    /// None if it was not needed to find the object.
    known_identity: Option<u64>,
}

impl Object {
    fn at(address: u64) -> Object {
        Object { address, known_identity: None }
    }

    fn of_word(address: u64, identity: u64) -> Object {
        Object { address, known_identity: Some(identity) }
    }

    /// What it is in all executions. That takes a search for the block, the stack or the module that has the
    /// address.
    pub(crate) fn identity(self) -> u64 {
        self.known_identity.unwrap_or_else(|| identity::of(self.address))
    }
}

/// Whether accesses to the word are scheduling points at some sites.
fn is_hot(word: u64) -> bool {
    let shadow = &POINTS.shadow;
    access::are_on()
        && shadow.is_known(word)
        && shadow.word(word).is_some_and(|cell| heap_words::is_hot(cell, word))
}

/// Whether accesses to the word may be scheduling points.
fn may_be_point(word: u64) -> bool {
    POINTS.all.get() || is_hot(word)
}

/// The running task is about to execute an access as a step: notes where it splits words.
pub(crate) fn note(access: &Access) {
    let end = access.address + access.size;
    let (low, high) = (access.address & 7, end & 7);
    if low | high != 0 && world().created.get() > 1 {
        note_end(access.address & !7, low as u8);
        note_end(end & !7, high as u8);
    }
}

/// Whether the word at this address is known to be a mutex of Rust's standard library.
pub(crate) fn is_lock(address: u64) -> bool {
    let word = address & !7;
    learned_points::have_locks()
        && may_be_point(word)
        && learned_points::is_lock(identity::of(shared_views::canonical(word)), address & 7)
}

/// Notes that the word at this address, where the running task accesses memory in a step, is a mutex of Rust's
/// standard library.
pub(crate) fn note_lock(address: u64) {
    let word = address & !7;
    if may_be_point(word) && !is_lock(address) {
        race::locks(identity::of(shared_views::canonical(word)), (address & 7) as u8);
    }
}

/// Notes that an access begins or ends at this byte of a word.
fn note_end(word: u64, byte: u8) {
    if byte == 0 || !may_be_point(word) {
        return;
    }
    let identity = word_identity(world().task(), shared_views::canonical(word));
    if learned_points::splits(identity) & 1 << byte == 0 {
        race::splits(identity, byte);
    }
}

/// The identity of a word that the task's pending operation accesses.
fn word_identity(task: &Task, word: u64) -> u64 {
    let (known, identity) = task.word_identity.get();
    if known == word {
        return identity;
    }
    let identity = identity::of(word);
    task.word_identity.set((word, identity));
    identity
}

/// Calls `each` for the objects that an access by the task's pending operation touches. Of an access
/// to several words, only those matter that other tasks also access.
fn each_atom(task: &Task, address: u64, size: u64, mut each: impl FnMut(Object)) {
    let end = address.saturating_add(size);
    let first = address & !7;
    if end <= first + 8 {
        return each_within(task, first, (address, end), &mut each);
    }
    let mut any = false;
    for word in (first..end).step_by(8).filter(|&word| is_hot(word)) {
        any = true;
        each_within(task, word, (address, end), &mut each);
    }
    if !any {
        each_within(task, first, (address, end), &mut each);
    }
}

/// Calls `each` for the objects in a word that an access to these bytes touches.
fn each_within(task: &Task, word: u64, (start, end): (u64, u64), each: &mut impl FnMut(Object)) {
    let address = shared_views::canonical(word);
    let identity = word_identity(task, address);
    let splits = learned_points::splits(identity);
    if splits == 0 {
        return each(Object::of_word(address, identity));
    }
    let (low, high) = (start.max(word) - word, end.min(word + 8) - word);
    for byte in points::atoms(splits, low as u32..high as u32) {
        each(match byte {
            0 => Object::of_word(address, identity),
            byte => Object::at(address + u64::from(byte)),
        });
    }
}

/// Calls `each` for a futex, and for the memory that it consists of, if tasks also access that
/// otherwise.
fn each_of_futex(task: &Task, address: u64, mut each: impl FnMut(Object)) {
    each(Object::at(address));
    if is_hot(address & !7) {
        task.word_identity.set((0, 0));
        each_atom(task, address, FUTEX, |atom| {
            if atom.address != shared_views::canonical(address) {
                each(atom);
            }
        });
    }
}

/// Calls `each` for the objects of the task's pending operation, its own first.
pub(crate) fn each_object(task: &Task, mut each: impl FnMut(Object)) {
    use Operation as O;
    let object = task.object.get();
    match (task.operation.get(), task.size.get()) {
        // Those that other tasks also access.
        (O::Ready | O::Transfer | O::Read | O::Write | O::Await, _)
            if task.open_files.get().is_some() || task.operation.get() == O::Ready =>
        {
            if !POINTS.all.get() && !access::are_on() {
                return;
            }
            let is_over = || task.is_over();
            let words = task.open_files.get();
            let words = words.map_or(WordSet::NONE, |awaited| awaited.accessed(is_over));
            for word in words.iter().filter(|&word| may_be_point(word)) {
                task.word_identity.set((0, 0));
                each_within(task, word, (word, word + 8), &mut each);
            }
        }
        (O::Read | O::Write | O::Update | O::Await, 0) => each_atom(task, object & !7, 8, each),
        (O::Read | O::Write | O::Update | O::Await, size) => each_atom(task, object, size, each),
        (O::Lock | O::TryLock | O::Unlock, _) if task.gate().is_of_word() => {
            each_atom(task, object, FUTEX, each);
        }
        (O::FutexWait | O::FutexWoken | O::FutexWake | O::FutexRequeue, _) => {
            each_of_futex(task, object, &mut each);
            let second = task.second.get();
            if second != 0 {
                each_of_futex(task, second, each);
            }
        }
        _ => each(Object::at(object)),
    }
}

/// The object of which the task's pending operation takes something, whatever it does to the others; 0 if there is none.
pub(crate) fn taken(task: &Task) -> u64 {
    let word = if POINTS.all.get() || access::are_on() { task.takes() } else { 0 };
    if word != 0 && may_be_point(word) { identity::of(word) } else { 0 }
}

/// The first object of the task's pending operation.
pub(crate) fn own_object(task: &Task) -> u64 {
    let mut own = None;
    each_object(task, |object| own = own.or(Some(object.address)));
    own.unwrap_or(0)
}

/// The only object of an access by the task's pending operation, if it has one, with its content.
pub(crate) fn only_object(task: &Task) -> Option<(u64, u64)> {
    let (mut own, mut others) = (None, false);
    each_object(task, |object| {
        others |= own.is_some();
        own = own.or(Some(object.address));
    });
    let own = own.filter(|_| !others)?;
    Some((own, content(own)?))
}

/// The bytes of the atom at this address; none if its memory is not mapped.
pub(crate) fn content(atom: u64) -> Option<u64> {
    let (word, first) = (atom & !7, (atom & 7) as u32);
    let mut bytes = [0; 8];
    if !checked_read::read(word, &mut bytes) {
        return None;
    }
    let later = u32::from(learned_points::splits(identity::of(word))) & !((2 << first) - 1);
    let end = if later == 0 { 8 } else { later.trailing_zeros() };
    let content = u64::from_le_bytes(bytes) >> (8 * first);
    let bits = 8 * (end - first);
    Some(if bits == 64 { content } else { content & ((1 << bits) - 1) })
}

/// The identity of the object of a task's pending operation, and whether there are further objects.
/// `arrived`: the task has just reached it.
pub(crate) fn identity_of(task: &Task, arrived: bool) -> (u64, bool) {
    let (address, known, further) = task.identity.get();
    // The object of a wait in a call of the kernel does not identify what the task waits for.
    if address == task.object.get() && !arrived && task.open_files.get().is_none() {
        return (known, further);
    }
    let (mut own, mut further) = (None, false);
    each_object(task, |object| {
        further |= own.is_some();
        own = own.or_else(|| Some(object.identity()));
    });
    let own = own.unwrap_or(0);
    task.identity.set((task.object.get(), own, further));
    (own, further)
}
