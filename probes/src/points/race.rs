//! Two accesses that nothing orders: what is made of them.
//!
//! Their sites become scheduling points. Where at least one is known not to be atomic, they are a race,
//! which is told of beside the failures, or is one.

use super::clocks::TASKS;
use super::shadow::{ATOMIC, MEANT, PROVEN, Slot, WRITE};
use super::table::Table;
use super::{Access, learned, peek};
use crate::backtrace;
use crate::failure::{self, End};
use crate::fiber;
use crate::manager::root;
use crate::objects;
use crate::world::{on_fiber, world};
use std::cell::{Cell, RefCell, UnsafeCell};
use traces::points::Spot;
use traces::wire::{Found, Past};
use traces::{FailureKind, Operation};

/// The conflict that is being told of, kept here while the manager's stack is used.
#[derive(Clone, Copy)]
struct Told {
    word: u64,
    earlier: Slot,
    later: Slot,
}

/// See the module.
struct Races {
    told: UnsafeCell<Told>,
    /// Pairs of sites, with the word, that were seen in the execution that runs.
    pairs: Table,
    /// How deep each task is in stretches where its reads, and its writes, may race.
    meant: [Cell<(u16, u16)>; TASKS],
    /// Whether a task was in one in this execution.
    any_meant: Cell<bool>,
    /// Memory that may be raced for, from where to where; how much of it was said before executions
    /// began, and in all.
    benign: [Cell<(u64, u64)>; BENIGN],
    benign_len: Cell<(usize, usize)>,
    /// The two sites whose accesses are kept, in an execution that is recorded for its race; and those
    /// accesses.
    kept_at: Cell<Option<(u64, u64)>>,
    kept: RefCell<Vec<Kept>>,
}

/// An access as it is told of.
struct Kept {
    access: Access,
    task: u16,
    step: u64,
    /// What was there before it.
    found: u64,
    stack: Vec<u64>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Races {}
const NOBODY: Slot = Slot { clock: 0, task: 0, mask: 0, kind: 0, site: 0 };
static RACES: Races = Races {
    told: UnsafeCell::new(Told { word: 0, earlier: NOBODY, later: NOBODY }),
    pairs: Table::new(),
    meant: [const { Cell::new((0, 0)) }; TASKS],
    any_meant: Cell::new(false),
    benign: [const { Cell::new((0, 0)) }; BENIGN],
    benign_len: Cell::new((0, 0)),
    kept_at: Cell::new(None),
    kept: RefCell::new(Vec::new()),
};

/// The most stretches of memory that a program may say it races for on purpose.
const BENIGN: usize = 64;

/// [`meant`]: reads.
pub(super) const READS: u8 = 1;
/// [`meant`]: writes.
pub(super) const WRITES: u8 = 2;

pub(super) fn map() -> bool {
    RACES.pairs.map(14)
}

pub(super) fn begin() {
    RACES.pairs.clear();
    if RACES.any_meant.replace(false) {
        RACES.meant.iter().for_each(|depth| depth.set((0, 0)));
    }
    let (early, _) = RACES.benign_len.get();
    RACES.benign_len.set((early, early));
    let race = root().race.filter(|_| root().full);
    RACES.kept_at.set(race.map(|(low, high)| (learned::address(low), learned::address(high))));
}

/// Whether accesses of some sites are kept in the execution that runs.
pub(super) fn is_watching() -> bool {
    RACES.kept_at.get().is_some()
}

/// Whether some task said in this execution that it may race.
#[inline]
pub(super) fn is_any_meant() -> bool {
    RACES.any_meant.get()
}

/// An access, before it is compared with others: kept where the execution is recorded for a race of
/// its site.
#[inline]
pub(super) fn keep(access: &Access) {
    if let Some((low, high)) = RACES.kept_at.get()
        && (access.site == low || access.site == high)
    {
        remember(access);
    }
}

#[cold]
fn remember(access: &Access) {
    /// Of more the first are forgotten.
    const MOST: usize = 1024;
    let world = world();
    let task = world.current.get();
    let now = Kept {
        access: *access,
        task,
        step: world.step.get(),
        found: peek(access.address, access.size),
        stack: backtrace::take(),
    };
    let mut kept = RACES.kept.borrow_mut();
    let same = |one: &Kept| {
        (one.task, one.access.site, one.access.address) == (task, access.site, access.address)
    };
    match kept.iter().position(same) {
        Some(at) => kept[at] = now,
        None => {
            if kept.len() == MOST {
                kept.remove(0);
            }
            kept.push(now);
        }
    }
}

/// What was kept of an access that races, in words.
fn past(slot: &Slot, word: u64, is_later: bool) -> Option<Past> {
    let kept = RACES.kept.borrow();
    let one = kept.iter().find(|one| {
        let access = &one.access;
        (one.task, access.site) == (slot.task, slot.site)
            && access.address < word + 8
            && access.address + access.size > word
    })?;
    let access = &one.access;
    let value = |value: u64| match value {
        small if small < 1 << 32 => small.to_string(),
        large => format!("{large:#x}"),
    };
    let how = if access.atomic { " atomically" } else { "" };
    let what = match (access.size, access.writes, is_later) {
        (9.., true, false) => format!("wrote {} bytes", access.size),
        (9.., true, true) => format!("writes {} bytes", access.size),
        (9.., false, false) => format!("read {} bytes", access.size),
        (9.., false, true) => format!("reads {} bytes", access.size),
        // What it wrote stands there still, unless the same task wrote again.
        (_, true, false) => {
            format!(
                "wrote {}{how}, over {}",
                value(peek(access.address, access.size)),
                value(one.found)
            )
        }
        (_, true, true) => format!("writes{how} over {}", value(one.found)),
        (_, false, false) => format!("read {}{how}", value(one.found)),
        (_, false, true) => format!("reads {}{how}", value(one.found)),
    };
    let bytes = match access.size {
        1 => " (1 byte)".to_owned(),
        size if size < 9 => format!(" ({size} bytes)"),
        _ => String::new(),
    };
    let (task, step) = (one.task, one.step);
    Some(Past { what: what + &bytes, task, step, stack: one.stack.clone() })
}

/// The running task's accesses of this sort may race from here on, or not any more.
pub(super) fn meant(which: u8, begins: bool) {
    let me = usize::from(world().current.get());
    if !on_fiber() || me >= TASKS {
        return;
    }
    let change = |depth: u16, is: bool| match (is, begins) {
        (false, _) => depth,
        (true, true) => depth.saturating_add(1),
        (true, false) => depth.saturating_sub(1),
    };
    let (reads, writes) = RACES.meant[me].get();
    RACES.meant[me].set((change(reads, which & READS != 0), change(writes, which & WRITES != 0)));
    RACES.any_meant.set(true);
    super::new_stretch();
}

/// Whether an access of the task may race.
#[inline]
pub(super) fn is_meant(task: usize, writes: bool) -> bool {
    RACES.any_meant.get() && {
        let (reads, write) = RACES.meant[task].get();
        if writes { write > 0 } else { reads > 0 }
    }
}

/// Who races for this memory is meant to.
pub(super) fn benign(address: u64, size: u64) {
    let (early, len) = RACES.benign_len.get();
    if let Some(slot) = RACES.benign.get(len) {
        slot.set((address, address.saturating_add(size)));
        RACES.benign_len.set((if on_fiber() { early } else { len + 1 }, len + 1));
    }
}

pub(super) fn ranges() -> [(u64, u64); 1] {
    [RACES.pairs.range()]
}

/// `earlier` and `later` touch the word unordered, and one of them writes.
pub(super) fn conflict(word: u64, earlier: &Slot, later: &Slot) {
    let meant = u64::from((earlier.kind | later.kind) & MEANT) << 56;
    let pair = earlier.site.rotate_left(32) ^ later.site ^ word.rotate_left(7) ^ meant;
    if RACES.pairs.get(pair).is_some() {
        return;
    }
    RACES.pairs.insert(pair, 1);
    // SAFETY: there is one kernel thread, and the manager is done with it when the call returns.
    unsafe { *RACES.told.get() = Told { word, earlier: *earlier, later: *later } };
    if fiber::on_manager(tell, 0) != 0 {
        let told = Told { word, earlier: *earlier, later: *later };
        failure::end_here(End::Failed(Box::new(found(&told))));
    }
}

/// An access to a word that is known for its conflicts, by an instruction that is not.
pub(super) fn belongs(word: u64, access: &Slot) {
    if crate::world::world().created.get() == 1 {
        return;
    }
    let pair = access.site ^ word.rotate_left(7);
    if RACES.pairs.get(pair).is_some() {
        return;
    }
    RACES.pairs.insert(pair, 1);
    // SAFETY: as in `conflict`.
    unsafe { *RACES.told.get() = Told { word, earlier: *access, later: *access } };
    fiber::on_manager(note, 0);
}

/// On the manager's stack: notes the instruction.
extern "C" fn note(_: u64) -> u64 {
    // SAFETY: see `conflict`.
    let told = unsafe { *RACES.told.get() };
    root().learned.find(told.later.site, told.word);
    0
}

/// On the manager's stack: notes the conflict; not 0 if the execution ends with it.
extern "C" fn tell(_: u64) -> u64 {
    // SAFETY: see `conflict`.
    let told = unsafe { *RACES.told.get() };
    let root = root();
    root.learned.find(told.earlier.site, told.word);
    root.learned.find(told.later.site, told.word);
    let is_plain = |slot: &Slot| slot.kind & (PROVEN | ATOMIC) == PROVEN;
    if !is_plain(&told.earlier) && !is_plain(&told.later) {
        let is_proven = told.earlier.kind & told.later.kind & PROVEN != 0;
        // Two atomics are meant to meet.
        if !is_proven && root.is_learning() && root.conflicted.insert(sorted(&told)) {
            let found = found(&told);
            let word = learned::spot(found.fault);
            let (low, high) = places(&told);
            // Whoever is told knows the program only, and its libraries by their files.
            let path = |spot: Spot| (crate::identity::path(spot.module), u64::from(spot.module));
            let places = [low, high, word].map(path).to_vec();
            root.conflicts.push(Found { conflict: Some(Box::new(word)), places, ..found });
        }
        return 0;
    }
    if may_race(&told) {
        return 0;
    }
    if failure::counts(FailureKind::Race) {
        return u64::from(root.race.is_none_or(|race| race == places(&told)));
    }
    let (low, high) = sorted(&told);
    // Only a search tells of them.
    if root.learns && root.raced.insert((low, high)) {
        root.beside.push(found(&told));
    }
    0
}

/// Whether the program said so.
fn may_race(told: &Told) -> bool {
    let at = address(told);
    let benign = &RACES.benign[..RACES.benign_len.get().1];
    let is_benign = || benign.iter().any(|range| (range.get().0..range.get().1).contains(&at));
    (told.earlier.kind | told.later.kind) & MEANT != 0 || is_benign()
}

/// The first byte that both touch.
fn address(told: &Told) -> u64 {
    told.word + u64::from((told.earlier.mask & told.later.mask).trailing_zeros())
}

fn sorted(told: &Told) -> (u64, u64) {
    let (a, b) = (told.earlier.site, told.later.site);
    (a.min(b), a.max(b))
}

/// The two places in terms that hold in every process.
fn places(told: &Told) -> (Spot, Spot) {
    let (low, high) = sorted(told);
    (learned::spot(low), learned::spot(high))
}

fn found(told: &Told) -> Found {
    let (low, high) = sorted(told);
    let verb = |slot: &Slot, write: &str, read: &str| {
        let verb = if slot.kind & WRITE != 0 { write } else { read };
        let how = if slot.kind & ATOMIC != 0 { " atomically" } else { "" };
        format!("T{} {verb}{how}", slot.task)
    };
    let address = address(told);
    let mut found =
        failure::found(FailureKind::Race, told.later.site, verb(&told.later, "writes", "reads"));
    found.key = failure::key(FailureKind::Race, &[low, high]);
    found.places = vec![(verb(&told.earlier, "wrote", "read"), told.earlier.site)];
    found.race = Some(Box::new(places(told)));
    found.fault = address;
    let earlier = past(&told.earlier, told.word, false);
    found.past = earlier.into_iter().chain(past(&told.later, told.word, true)).collect();
    if root().full {
        found.number = objects::index(Operation::Read, address) as i32;
    }
    found
}
