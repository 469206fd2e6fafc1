//! Conflicts: pairs of unordered accesses, of which one writes.
//!
//! Their sites become scheduling points. If at least one access is known not to be atomic they are
//! a data race, which is reported beside the failures, or as one.

use crate::detect::access::{Access, peek};
use crate::detect::clocks::TASKS;
use crate::detect::learned_points;
use crate::detect::slot::{ATOMIC, IN_PARTS, MEANT, PROVEN, Slot, WRITE};
use crate::detect::table::Table;
use crate::fiber::backtrace;
use crate::fiber::switch;
use crate::memory::shared_views::canonical;
use crate::state::end::End;
use crate::state::outcome;
use crate::state::root::root;
use crate::state::upcalls;
use crate::state::world::{on_fiber, world};
use crate::steps::objects;
use search::reduction::events::mix;
use std::cell::{Cell, RefCell, UnsafeCell};
use traces::points::ModuleAddress;
use traces::wire::{FoundFailure, HistoryEvent};
use traces::{FailureKind, Operation};

/// The conflict that is being reported, stored here across the switch to the manager's stack.
#[derive(Clone, Copy)]
struct Conflict {
    word: u64,
    /// The word in terms that are valid in every execution.
    spot: ModuleAddress,
    earlier: Slot,
    later: Slot,
}

/// The state of conflict detection in a process.
struct Races {
    conflict: UnsafeCell<Conflict>,
    /// The part of a word that is handed to the manager.
    part: Cell<ModuleAddress>,
    /// Pairs of sites, with the word, that were seen in the current execution.
    pairs: Table,
    /// For each task, the nesting depth of regions where its reads, and its writes, may race.
    meant: [Cell<(u16, u16)>; TASKS],
    /// Whether a task was in such a region in this execution.
    any_meant: Cell<bool>,
    /// Memory ranges in which races are benign; how many were declared before executions began, and
    /// in all.
    benign: [Cell<(u64, u64)>; BENIGN],
    benign_len: Cell<(usize, usize)>,
    /// The two sites whose accesses are logged, in an execution that is recorded for its race; and
    /// those accesses.
    logged_sites: Cell<Option<(u64, u64)>>,
    log: RefCell<Vec<LoggedAccess>>,
    /// The site whose callers are handed to the manager; the return addresses on the stack there, and how
    /// many there are.
    callers: Cell<(u64, [u64; CALLERS], usize)>,
}

/// The most callers of a conflicting access that are noted.
const CALLERS: usize = 32;

/// A logged access.
struct LoggedAccess {
    access: Access,
    task: u16,
    step: u64,
    /// The value before the access.
    found: u64,
    stack: Vec<u64>,
}
// SAFETY: the controlled process has one kernel thread. `conflict` is only copied into and out of;
// `log` is borrowed for the duration of one function, and nothing that runs meanwhile borrows it.
unsafe impl Sync for Races {}
const NO_ACCESS: Slot = Slot { clock: 0, task: 0, mask: 0, kind: 0, site: 0 };
static RACES: Races = Races {
    conflict: UnsafeCell::new(Conflict {
        word: 0,
        spot: ModuleAddress::LOCK_POLLS,
        earlier: NO_ACCESS,
        later: NO_ACCESS,
    }),
    part: Cell::new(ModuleAddress::LOCK_POLLS),
    pairs: Table::new(),
    meant: [const { Cell::new((0, 0)) }; TASKS],
    any_meant: Cell::new(false),
    benign: [const { Cell::new((0, 0)) }; BENIGN],
    benign_len: Cell::new((0, 0)),
    logged_sites: Cell::new(None),
    log: RefCell::new(Vec::new()),
    callers: Cell::new((0, [0; CALLERS], 0)),
};

/// The most memory ranges that a program may declare as benign.
const BENIGN: usize = 64;

/// [`meant`]: reads.
pub(crate) const READS: u8 = 1;
/// [`meant`]: writes.
pub(crate) const WRITES: u8 = 2;

pub(crate) fn map() -> bool {
    RACES.pairs.map(14)
}

pub(crate) fn begin() {
    RACES.pairs.clear();
    if RACES.any_meant.replace(false) {
        RACES.meant.iter().for_each(|depth| depth.set((0, 0)));
    }
    let (early, _) = RACES.benign_len.get();
    RACES.benign_len.set((early, early));
    let race = root().race.filter(|_| root().full);
    RACES
        .logged_sites
        .set(race.map(|(low, high)| (learned_points::address(low), learned_points::address(high))));
}

/// Whether the execution declared that races are benign somewhere.
pub(crate) fn is_declared() -> bool {
    let (early, now) = RACES.benign_len.get();
    RACES.any_meant.get() || early != now
}

/// Whether accesses of some sites are logged in the current execution.
pub(crate) fn is_watching() -> bool {
    RACES.logged_sites.get().is_some()
}

/// Whether a task was in a region that may race in this execution.
#[inline]
pub(crate) fn is_any_meant() -> bool {
    RACES.any_meant.get()
}

/// Logs an access, before it is compared with others, if the execution is recorded for a race of
/// its site.
#[inline]
pub(crate) fn keep(access: &Access) {
    if let Some((low, high)) = RACES.logged_sites.get()
        && (access.site == low || access.site == high)
    {
        remember(access);
    }
}

#[cold]
fn remember(access: &Access) {
    /// The most logged accesses; beyond that, the first are dropped.
    const MOST: usize = 1024;
    let world = world();
    let task = world.current.get();
    let now = LoggedAccess {
        access: *access,
        task,
        step: world.step.get(),
        found: peek(access.address, access.size),
        stack: backtrace::take(),
    };
    let mut log = RACES.log.borrow_mut();
    let same = |one: &LoggedAccess| {
        (one.task, one.access.site, one.access.address) == (task, access.site, access.address)
    };
    match log.iter().position(same) {
        Some(at) => log[at] = now,
        None => {
            if log.len() == MOST {
                log.remove(0);
            }
            log.push(now);
        }
    }
}

/// A description of a logged access that races.
fn past(slot: &Slot, word: u64, is_later: bool) -> Option<HistoryEvent> {
    let log = RACES.log.borrow();
    let one = log.iter().find(|one| {
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
        // The memory still holds what it wrote, unless the same task wrote again.
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
    Some(HistoryEvent { what: what + &bytes, task, step, stack: one.stack.clone() })
}

/// Begins or ends a region in which the running task's accesses of this kind may race.
pub(crate) fn meant(which: u8, begins: bool) {
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
    crate::detect::access::new_stretch();
}

/// Whether an access of the task may race.
#[inline]
pub(crate) fn is_meant(task: usize, writes: bool) -> bool {
    RACES.any_meant.get() && {
        let (reads, write) = RACES.meant[task].get();
        if writes { write > 0 } else { reads > 0 }
    }
}

/// Declares races on this memory as benign.
pub(crate) fn benign(address: u64, size: u64) {
    let (early, len) = RACES.benign_len.get();
    if let Some(slot) = RACES.benign.get(len) {
        slot.set((address, address.saturating_add(size)));
        RACES.benign_len.set((if on_fiber() { early } else { len + 1 }, len + 1));
    }
}

pub(crate) fn ranges() -> [(u64, u64); 1] {
    [RACES.pairs.range()]
}

/// `earlier` and `later` access the word unordered, and one of them writes.
pub(crate) fn conflict(word: u64, earlier: &Slot, later: &Slot) {
    let meant = u64::from((earlier.kind | later.kind) & MEANT) << 56;
    let spot = learned_points::word_spot(word);
    let pair = earlier.site.rotate_left(32) ^ later.site ^ key(spot) ^ meant;
    if !is_first(pair) {
        return;
    }
    let conflict = Conflict { word, spot, earlier: *earlier, later: *later };
    // SAFETY: the controlled process has one kernel thread, and no reference to the value exists:
    // it is written here and copied out on the manager's stack, before the call below returns.
    unsafe { *RACES.conflict.get() = conflict };
    if root().is_learning() && is_uncertain(earlier, later) {
        note_callers(later.site);
    }
    if switch::on_manager(report, 0) != 0 {
        outcome::end_here(End::Failed(Box::new(found(&conflict))));
    }
}

/// Notes the callers of a site that is known to conflict, in the learning phase, unless its accesses are known
/// to be no atomic ones. In the conflict that made it known it was perhaps the earlier one, whose stack is
/// gone.
#[inline]
pub(crate) fn note_callers_of(access: &Slot) {
    if root().is_learning() && !is_plain(access) && learned_points::is_site(access.site) {
        note_callers(access.site);
    }
}

/// Notes the callers of the running task's access, once for each site.
#[cold]
fn note_callers(site: u64) {
    if !root().callers.borrow().contains_key(&site) {
        let mut callers = [0; CALLERS];
        let count = backtrace::innermost(&mut callers);
        RACES.callers.set((site, callers, count));
        switch::on_manager(store_callers, 0);
    }
}

/// On the manager's stack: stores the callers of a site.
extern "C" fn store_callers(_: u64) -> u64 {
    let (site, callers, count) = RACES.callers.get();
    root().callers.borrow().insert(site, callers[..count].to_vec());
    0
}

/// An access to a word with known conflicts, by an instruction without any.
pub(crate) fn belongs(word: u64, access: &Slot) {
    if crate::state::world::world().created.get() == 1 {
        return;
    }
    let spot = learned_points::word_spot(word);
    let pair = access.site ^ key(spot);
    if !is_first(pair) {
        return;
    }
    // SAFETY: as in `conflict`.
    unsafe { *RACES.conflict.get() = Conflict { word, spot, earlier: *access, later: *access } };
    switch::on_manager(note, 0);
}

/// Several tasks that exist at the same time access a word, and one of them writes.
#[cold]
pub(crate) fn shared(word: u64) {
    let spot = learned_points::word_spot(word);
    let key = key(spot).rotate_left(17);
    if !is_first(key) {
        return;
    }
    RACES.part.set(spot);
    switch::on_manager(note_shared, 0);
}

/// On the manager's stack.
extern "C" fn note_shared(_: u64) -> u64 {
    root().learned.borrow().find_shared(RACES.part.get());
    0
}

/// The running task is about to access a word, which is a scheduling point only because tasks share the word.
#[cold]
pub(crate) fn stopped(word: u64, access: &Slot) {
    let spot = learned_points::word_spot(word);
    let key = (access.site ^ key(spot)).rotate_left(17);
    if !is_first(key) {
        return;
    }
    // SAFETY: as in `conflict`.
    unsafe { *RACES.conflict.get() = Conflict { word, spot, earlier: *access, later: *access } };
    switch::on_manager(note_stopped, 0);
}

/// On the manager's stack.
extern "C" fn note_stopped(_: u64) -> u64 {
    // SAFETY: as in `conflict`.
    let Conflict { later, spot, .. } = unsafe { *RACES.conflict.get() };
    root().learned.borrow().find_stop(later.site, spot);
    0
}

/// The handler of a signal accesses a word. From the next execution on, accesses of the code that it may
/// interrupt are compared with that.
pub(crate) fn handled(word: u64, access: &Slot, signal: u8) {
    let key = word.rotate_left(7) ^ u64::from(access.kind) ^ u64::from(signal) << 56;
    if !is_first(key) {
        return;
    }
    let spot = learned_points::spot(canonical(word));
    // SAFETY: as in `conflict`.
    unsafe { *RACES.conflict.get() = Conflict { word, spot, earlier: *access, later: *access } };
    switch::on_manager(note_handled, signal.into());
}

/// A step accesses a part of a word that ends or begins at `byte`. From the next execution on, the two
/// parts are different objects. `word`: the identity of the word.
#[cold]
pub(crate) fn splits(word: u64, byte: u8) {
    note_part(ModuleAddress::split(word, byte));
}

/// A lock of Rust's standard library begins at this byte of a word. From the next execution on, it is one for
/// the search, too. `word`: the identity of the word.
#[cold]
pub(crate) fn locks(word: u64, byte: u8) {
    note_part(ModuleAddress::lock(word, byte));
}

/// Whether this is the first time in the execution that something with this key is noted.
fn is_first(key: u64) -> bool {
    let is_first = RACES.pairs.get(key).is_none();
    if is_first {
        RACES.pairs.insert(key, 1);
    }
    is_first
}

/// A word, or a part of one, as a key of [`Races::pairs`].
fn key(spot: ModuleAddress) -> u64 {
    mix(spot.offset ^ u64::from(spot.module))
}

fn note_part(part: ModuleAddress) {
    let key = key(part);
    if !is_first(key) {
        return;
    }
    RACES.part.set(part);
    switch::on_manager(note_found_part, 0);
}

/// On the manager's stack: notes the part of a word.
extern "C" fn note_found_part(_: u64) -> u64 {
    root().learned.borrow().find_part(RACES.part.get());
    0
}

/// On the manager's stack: notes the access of a handler.
extern "C" fn note_handled(signal: u64) -> u64 {
    // SAFETY: as in `conflict`.
    let conflict = unsafe { *RACES.conflict.get() };
    let writes = conflict.later.kind & WRITE != 0;
    root().learned.borrow().find_handled(conflict.spot, signal as u8, writes);
    0
}

/// On the manager's stack: notes the instruction.
extern "C" fn note(_: u64) -> u64 {
    // SAFETY: as in `conflict`.
    let conflict = unsafe { *RACES.conflict.get() };
    root().learned.borrow().find(conflict.later.site, conflict.spot);
    0
}

/// On the manager's stack: notes the conflict; not 0 if the execution ends with it.
extern "C" fn report(_: u64) -> u64 {
    // SAFETY: as in `conflict`.
    let conflict = unsafe { *RACES.conflict.get() };
    let is_atomic = conflict.earlier.kind & conflict.later.kind & ATOMIC != 0;
    if upcalls::get().unordered_uses(conflict.word, is_atomic, conflict.later.site) {
        return 0;
    }
    // What the other access finds between two parts is not explored.
    for slot in [&conflict.earlier, &conflict.later] {
        if slot.kind & IN_PARTS != 0 {
            upcalls::get().met_in_parts(slot.site);
        }
    }
    let root = root();
    root.learned.borrow().find(conflict.earlier.site, conflict.spot);
    root.learned.borrow().find(conflict.later.site, conflict.spot);
    if !is_plain(&conflict.earlier) && !is_plain(&conflict.later) {
        if root.is_learning() && is_uncertain(&conflict.earlier, &conflict.later) {
            note_conflict(&conflict);
        }
        return 0;
    }
    if may_race(&conflict) {
        return 0;
    }
    if outcome::counts(FailureKind::Race) {
        return u64::from(root.race.is_none_or(|race| race == places(&conflict)));
    }
    let (low, high) = sorted(&conflict);
    // Executions outside of a search report no races.
    if root.learns && root.raced.borrow().insert((low, high)) {
        root.beside.borrow().push(found(&conflict));
    }
    0
}

/// Whether the access is known to be no atomic one.
fn is_plain(slot: &Slot) -> bool {
    slot.kind & (PROVEN | ATOMIC) == PROVEN
}

/// Whether two accesses may be a race, and may be atomic. (Two that are known to be atomic are no race.)
fn is_uncertain(earlier: &Slot, later: &Slot) -> bool {
    !is_plain(earlier) && !is_plain(later) && earlier.kind & later.kind & PROVEN == 0
}

/// Reports a conflict of the learning phase once, and once more when the callers of both sites are
/// known ([`note_callers_of`]).
fn note_conflict(conflict: &Conflict) {
    let root = root();
    let (low, high) = sorted(conflict);
    let callers = root.callers.borrow();
    let callers = [low, high].map(|site| callers.get(&site).cloned().unwrap_or_default());
    let all = callers.iter().all(|callers| !callers.is_empty());
    let before = root.conflicted.borrow().insert((low, high), all);
    if before == Some(true) || before == Some(all) {
        return;
    }
    let found = found(conflict);
    let word = learned_points::spot(found.fault);
    let callers =
        callers.map(|callers| callers.into_iter().map(learned_points::spot).collect::<Vec<_>>());
    let (low, high) = places(conflict);
    // The controller knows only the program's executable; libraries are identified by their files.
    let path =
        |spot: ModuleAddress| (crate::steps::identity::path(spot.module), u64::from(spot.module));
    let mut modules: Vec<ModuleAddress> =
        callers.iter().flatten().copied().chain([low, high, word]).collect();
    modules.sort_unstable_by_key(|spot| spot.module);
    modules.dedup_by_key(|spot| spot.module);
    root.conflicts.borrow().push(FoundFailure {
        conflict: Some(Box::new(word)),
        places: modules.into_iter().map(path).collect(),
        callers: callers.into(),
        ..found
    });
}

/// Whether the program declared the race as benign.
fn may_race(conflict: &Conflict) -> bool {
    let at = address(conflict);
    let benign = &RACES.benign[..RACES.benign_len.get().1];
    let is_benign = || benign.iter().any(|range| (range.get().0..range.get().1).contains(&at));
    (conflict.earlier.kind | conflict.later.kind) & MEANT != 0 || is_benign()
}

/// The first byte that both access.
fn address(conflict: &Conflict) -> u64 {
    conflict.word + u64::from((conflict.earlier.mask & conflict.later.mask).trailing_zeros())
}

fn sorted(conflict: &Conflict) -> (u64, u64) {
    let (a, b) = (conflict.earlier.site, conflict.later.site);
    (a.min(b), a.max(b))
}

/// The two sites in terms that are valid in every process.
fn places(conflict: &Conflict) -> (ModuleAddress, ModuleAddress) {
    let (low, high) = sorted(conflict);
    (learned_points::spot(low), learned_points::spot(high))
}

fn found(conflict: &Conflict) -> FoundFailure {
    let (low, high) = sorted(conflict);
    let verb = |slot: &Slot, write: &str, read: &str| {
        let verb = if slot.kind & WRITE != 0 { write } else { read };
        let how = if slot.kind & ATOMIC != 0 { " atomically" } else { "" };
        format!("T{} {verb}{how}", slot.task)
    };
    let address = address(conflict);
    let mut found = outcome::found(
        FailureKind::Race,
        conflict.later.site,
        verb(&conflict.later, "writes", "reads"),
    );
    found.key = outcome::key(FailureKind::Race, &[low, high]);
    found.places = vec![(verb(&conflict.earlier, "wrote", "read"), conflict.earlier.site)];
    found.race = Some(Box::new(places(conflict)));
    found.fault = address;
    let earlier = past(&conflict.earlier, conflict.word, false);
    found.past = earlier.into_iter().chain(past(&conflict.later, conflict.word, true)).collect();
    if root().full {
        found.number = objects::index(Operation::Read, address) as i32;
    }
    found
}
