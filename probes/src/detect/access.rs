//! Scheduling points at memory accesses.
//!
//! Instrumented code reports each access here before it happens: compiler instrumentation
//! ([`compiled`]) and probes ([`binary`]) do. While tasks run, accesses are compared with those of
//! other tasks ([`shadow`], [`clocks`]). Two accesses that are unordered, of which at least one
//! writes, *conflict*: from the next execution on their sites are scheduling points, at the
//! addresses where a conflict was seen ([`learned`]). An address that tasks hand to each other
//! under a lock is no scheduling point and need not be: the order is decided at the lock.

use crate::detect::clocks;
use crate::detect::delayed_stores;
use crate::detect::learned_points;
use crate::detect::order;
use crate::detect::race;
use crate::detect::shadow;
use crate::instrument::binary;
use crate::instrument::compiled;
use crate::memory::runtime_heap;

use crate::detect::clocks::Clocks;
use crate::detect::shadow::{ATOMIC, Head, MEANT, PROVEN, Shadow, Slot, USED, Viewer, WRITE};
use crate::instrument::binary::placement::Wanted;
use crate::schedule::busy_loops::{PATIENCE, Waiting, no_step};
use crate::schedule::scheduler::{point, read_step};
use crate::state::record;
use crate::state::task::Gate;
use crate::state::world::world;
use search::spin::SpinDetector;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::points::{Granularity, InstrumentationGap};
use traces::store_buffers::MemoryEffect;

/// How closely accesses are monitored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
pub(crate) enum Monitoring {
    Off = 0,
    /// An access that repeats one of the same stretch is skipped.
    SkipRepeats = 1,
    /// No access is skipped.
    Full = 2,
}

/// The state of one process.
pub(crate) struct Points {
    /// How closely accesses are monitored now; not at all unless the memory is mapped, a fiber
    /// runs, and monitoring was asked for.
    pub(crate) monitoring: Cell<Monitoring>,
    /// Whether the memory is mapped.
    pub(crate) ready: Cell<bool>,
    /// Whether some of the program's code is compiler-instrumented, and the rest has to be probed.
    pub(crate) mixed: Cell<bool>,
    /// Whether every access is known to be atomic or not: all of the code is compiler-instrumented.
    pub(crate) certain: Cell<bool>,
    /// Whether every access is a scheduling point.
    pub(crate) all: Cell<bool>,
    /// Whether accesses are monitored that may not be points, nor count for spin detection, unless
    /// their site has conflicted before.
    pub(crate) picky: Cell<bool>,
    /// Whether an access that is no point needs nothing but a comparison and an entry in the shadow
    /// memory.
    pub(crate) plainly: Cell<bool>,
    /// The head of an access that the running task makes in its current stretch.
    pub(crate) now: Cell<Head>,
    /// The clocks to compare with, if accesses need nothing but a comparison and an entry.
    pub(crate) quick: Cell<Option<Viewer>>,
    /// How many accesses are left until the running task is suspected of waiting, or is treated as
    /// waiting.
    pub(crate) budget: Cell<u32>,
    /// Whether it is suspected.
    pub(crate) suspect: Cell<bool>,
    /// Whether it may be in a spin loop with steps, so that its writes count.
    pub(crate) watched: Cell<bool>,
    pub(crate) waiting: Waiting,
    pub(crate) shadow: Shadow,
    pub(crate) clocks: Clocks,
    /// The task whose accesses are no longer monitored, plus one.
    pub(crate) resting: Cell<u16>,
    /// Address and size of what the last step writes, to be recorded after the write.
    pub(crate) written: Cell<(u64, u8)>,
}
// SAFETY: the controlled process has one kernel thread. Most fields are `Cell`s, which hand out no
// references; `shadow`, `clocks` and `waiting` are made of cells and raw memory, with their own
// contracts.
unsafe impl Sync for Points {}
pub(crate) static POINTS: Points = Points {
    monitoring: Cell::new(Monitoring::Off),
    ready: Cell::new(false),
    mixed: Cell::new(false),
    certain: Cell::new(false),
    all: Cell::new(false),
    picky: Cell::new(false),
    plainly: Cell::new(false),
    now: Cell::new(Head::new(0, 0, 0)),
    quick: Cell::new(None),
    budget: Cell::new(PATIENCE),
    suspect: Cell::new(false),
    watched: Cell::new(false),
    waiting: Waiting::new(),
    shadow: Shadow::new(),
    clocks: Clocks::new(),
    resting: Cell::new(0),
    written: Cell::new((0, 0)),
};

/// A memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: u64,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    /// Whether `atomic` is certain, because the compiler reported the access: the instruction of a
    /// plain access may as well be that of an atomic one.
    pub(crate) proven: bool,
    /// The address behind the instruction.
    pub(crate) site: u64,
}

/// Maps the memory for monitoring accesses and decides how they are observed. Called before the
/// snapshot, so that this memory is no part of it.
pub(crate) fn prepare(points: Granularity) {
    if points == Granularity::Api || POINTS.ready.get() {
        return;
    }
    POINTS.all.set(points == Granularity::All);
    let mapped = POINTS.shadow.map()
        && POINTS.clocks.map()
        && runtime_heap::in_private(learned_points::map)
        && race::map()
        && delayed_stores::map();
    // Compiler-instrumented code needs no probes.
    let instrumented = compiled::is_present();
    if instrumented {
        compiled::take_routines();
    }
    let mixed = instrumented && binary::is_mixed();
    let probed = (!instrumented || mixed) && runtime_heap::in_private(binary::prepare);
    // In a replay, only known sites are probed.
    if mixed && !probed && !crate::state::root::root().repeats() {
        note_gap(InstrumentationGap::Mixed);
    }
    POINTS.mixed.set(mixed);
    POINTS.certain.set(instrumented && !mixed);
    POINTS.ready.set(mapped && (instrumented || probed));
}

/// Ranges of memory that belong to the runtime.
pub(crate) fn ranges() -> Vec<(u64, u64)> {
    if !POINTS.ready.get() {
        return Vec::new();
    }
    let mut ranges = Vec::new();
    ranges.extend(POINTS.shadow.ranges());
    ranges.extend(POINTS.clocks.ranges());
    ranges.extend(learned_points::ranges());
    ranges.extend(race::ranges());
    ranges.extend(delayed_stores::ranges());
    if binary::are_there() {
        ranges.extend(binary::ranges());
    }
    // Whole pages: what remains of a mapping around these ranges counts as the program's.
    ranges.iter_mut().for_each(|(_, end)| *end = end.next_multiple_of(4096));
    ranges
}

/// Whether accesses can be monitored in this process.
pub(crate) fn are_ready() -> bool {
    POINTS.ready.get()
}

/// Whether accesses are monitored now.
#[inline]
pub(crate) fn are_on() -> bool {
    POINTS.monitoring.get() != Monitoring::Off
}

/// Adopts what was learned, and installs the probes for the next execution. Whether accesses are
/// monitored in it.
pub(crate) fn refresh() -> bool {
    if !POINTS.ready.get() {
        return false;
    }
    let root = crate::state::root::root();
    let known = learned_points::refresh(&POINTS.shadow);
    // An exhaustive search must see what it reaches on paths that the learning phase did not take;
    // a random walk favours speed.
    let thorough =
        root.learns && (root.is_checking() || !root.strategy.borrow().rest().is_memoryless());
    let learning = root.is_learning() || POINTS.all.get();
    // A replay sees the same accesses of compiler-instrumented code, but fewer of probed code.
    POINTS.picky.set(!learning && (POINTS.mixed.get() || thorough && binary::are_there()));
    // Compiler-instrumented code does not distinguish accesses to stacks.
    let stacks = root.stacks_touched.get() || POINTS.mixed.get();
    let wanted = match (learning || thorough, stacks) {
        (false, _) => Wanted::Learned,
        (true, false) => Wanted::All,
        (true, true) => Wanted::WithStacks,
    };
    binary::refresh(wanted, known);
    !binary::are_there() || POINTS.mixed.get() || wanted != Wanted::Learned || known > 0
}

/// A hash of the code of the program's own libraries that were loaded when the program began.
pub(crate) fn libraries() -> u64 {
    binary::libraries()
}

/// How many times the execution reached probes, in a program that has them.
pub(crate) fn probes_met() -> Option<u64> {
    binary::are_there().then(binary::hits)
}

/// Notes that some accesses are not monitored, and why.
#[cold]
pub(crate) fn note_gap(why: InstrumentationGap) {
    let unseen = &crate::sys::channel::header().sight.unseen;
    unseen.store(unseen.load(Relaxed) | why as u64, Relaxed);
}

/// Whether the program uses more memory than the shadow memory can cover.
pub(crate) fn is_crowded() -> bool {
    crate::sys::channel::header().sight.unseen.load(Relaxed) & InstrumentationGap::Crowded as u64
        != 0
}

/// The program makes a system call. Code that it generates, modifies or loads is not monitored.
pub(crate) fn note_call(number: i64, args: [u64; 6]) {
    if !POINTS.ready.get() {
        return;
    }
    if matches!(number, libc::SYS_munmap | libc::SYS_mremap) {
        // A pending write to that memory cannot be read any more, and what is mapped there next is
        // new.
        settle_write();
        fresh(args[0], args[1]);
    }
    if !matches!(number, libc::SYS_mmap | libc::SYS_mprotect) {
        return;
    }
    let changes = number == libc::SYS_mprotect && binary::about_to_change(args[0], args[1]);
    if changes || args[2] as i32 & libc::PROT_EXEC == 0 {
        return;
    }
    let is_file = number == libc::SYS_mmap && args[3] as i32 & libc::MAP_ANONYMOUS == 0;
    if !is_file {
        note_gap(InstrumentationGap::Generated);
    } else if binary::is_own_file(args[4] as i32) {
        note_gap(InstrumentationGap::Loaded);
    }
}

/// An execution begins.
pub(crate) fn begin() {
    if !refresh() {
        return;
    }
    let anew = POINTS.clocks.begin();
    POINTS.shadow.begin(anew);
    race::begin();
    delayed_stores::begin();
    POINTS.resting.set(0);
    POINTS.written.set((0, 0));
    POINTS.waiting.begin();
    POINTS.plainly.set(!POINTS.all.get() && !race::is_watching());
    stepped();
    update_monitoring();
    new_stretch();
}

/// Sets how closely accesses are monitored from here on.
fn update_monitoring() {
    let suspect = POINTS.suspect.get() || POINTS.watched.get();
    let in_full = POINTS.all.get() || suspect || race::is_watching();
    POINTS.monitoring.set(if in_full { Monitoring::Full } else { Monitoring::SkipRepeats });
}

/// An execution ends.
pub(crate) fn end() {
    POINTS.monitoring.set(Monitoring::Off);
    // The pending write may be the one that faulted, so its memory is not read.
    POINTS.written.set((0, 0));
}

/// Begins a new stretch: another task runs, or the running one released something.
#[inline]
pub(crate) fn new_stretch() {
    if !are_on() {
        return;
    }
    let (me, clocks) = (me(), &POINTS.clocks);
    clocks.tick(me);
    let kind = if POINTS.certain.get() { USED | PROVEN } else { USED };
    POINTS.now.set(Head::new(clocks.stamp(), me as u16, kind));
    let is_quick = POINTS.plainly.get() && me < clocks::TASKS && !race::is_any_meant();
    POINTS.quick.set(is_quick.then(|| clocks.viewer(me)));
    if clocks.are_used_up() {
        note_gap(InstrumentationGap::Crowded);
        end();
    }
}

/// A step was decided: the task that runs next has made no access in it yet.
#[inline]
pub(crate) fn stepped() {
    POINTS.budget.set(PATIENCE);
    if POINTS.suspect.get() {
        suspect(false);
    }
    POINTS.waiting.stepped();
}

/// Sets whether the running task is suspected of waiting.
pub(crate) fn suspect(is: bool) {
    POINTS.suspect.set(is);
    if are_on() {
        update_monitoring();
    }
}

/// Sets whether the running task may be in a spin loop with steps ([`search::spin`]).
pub(crate) fn watch(is: bool) {
    if POINTS.watched.replace(is) != is && are_on() {
        update_monitoring();
    }
}

pub(crate) fn me() -> usize {
    usize::from(world().current.get())
}

/// Updates the vector clocks for an operation of the threads library.
pub(crate) fn synchronise(operation: Operation, object: u64, mutex: u64, succeeds: bool) {
    use Operation as O;
    if !are_on() {
        return;
    }
    let (me, clocks) = (me(), &POINTS.clocks);
    // The threads library implements its operations with locked instructions. Tasks are identified
    // by numbers from 1.
    match operation {
        O::Start | O::Exit | O::ExitNow => {
            delayed_stores::note(MemoryEffect::Update, me as u64 + 1, 0)
        }
        O::Read | O::Write | O::Update | O::Await | O::Yield | O::Sleep | O::Ready => {}
        O::Detach | O::Handler | O::SignalWait | O::TestCancel => {}
        _ => delayed_stores::note(MemoryEffect::Update, object, 0),
    }
    if order::operation(clocks, &POINTS.shadow, me, operation, (object, mutex), succeeds) {
        new_stretch();
    }
}

/// The running task created another one.
pub(crate) fn created(child: u16) {
    if are_on() {
        POINTS.clocks.create(me(), usize::from(child));
        new_stretch();
    }
}

/// The running task joined another, which has ended.
pub(crate) fn joined(other: u16) {
    if are_on() {
        POINTS.clocks.join(me(), usize::from(other));
        new_stretch();
    }
}

/// The running task acquires what was released at an address.
pub(crate) fn acquire(address: u64) {
    if are_on() {
        POINTS.clocks.acquire(me(), address);
        new_stretch();
    }
}

/// The running task releases what it did to any task that acquires the address.
pub(crate) fn release(address: u64) {
    if are_on() {
        POINTS.clocks.release(me(), address);
        new_stretch();
    }
}

/// The running task panics, and its accesses are no longer monitored: from here on it prints the
/// panic message, for which symbols are looked up (a million accesses).
pub(crate) fn rest() {
    POINTS.resting.set(world().current.get() + 1);
    POINTS.plainly.set(false);
    POINTS.quick.set(None);
    if crate::state::root::root().is_learning() {
        binary::rest();
    }
}

/// Whether the accesses of the running task are monitored.
#[inline]
pub(crate) fn is_awake() -> bool {
    are_on() && POINTS.resting.get() != world().current.get() + 1
}

/// The memory was newly allocated.
#[inline]
pub(crate) fn fresh(address: u64, len: u64) {
    if are_on() {
        POINTS.shadow.forget(&POINTS.clocks, address, len);
    }
}

/// Reads up to eight bytes of the program's memory.
pub(crate) fn peek(address: u64, size: u64) -> u64 {
    let mut value = 0u64;
    // SAFETY: the program is about to access these bytes, or just did, so they are mapped. (If not,
    // this read faults as the program's own access would.)
    unsafe {
        std::ptr::copy_nonoverlapping(
            address as *const u8,
            (&raw mut value).cast(),
            size.min(8) as usize,
        );
    }
    value
}

/// Records the value that the last step wrote, after the write.
#[inline]
pub(crate) fn settle_write() {
    let (address, size) = POINTS.written.get();
    if size > 0 {
        POINTS.written.set((0, 0));
        record::value(peek(address, u64::from(size)));
    }
}

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

/// Whether the running task can conflict with another: a single task conflicts with none.
pub(crate) fn is_in_company() -> bool {
    are_on() && world().created.get() > 1 && is_awake()
}

/// A library is about to store, by an atomic operation that is not instrumented, what the program's
/// code reads.
pub(crate) fn stored(address: u64, size: u64, site: u64) {
    if is_in_company() {
        settle_write();
        visit(Access { address, size, writes: true, atomic: true, proven: false, site });
    }
}

/// Whether the access is a scheduling point.
pub(crate) fn is_point(access: &Access) -> bool {
    if POINTS.all.get() {
        return true;
    }
    let mut at = access.address & !7;
    while at < access.address + access.size {
        if POINTS.shadow.word(at).is_some_and(|word| word.hot) {
            return learned_points::is_site(access.site);
        }
        at += 8;
    }
    false
}

/// Parks before the access until the task is chosen.
pub(crate) fn arrive(access: &Access, operation: Operation) {
    if operation != Operation::Read {
        crate::state::root::root().alike.borrow().writes(me());
        return arrive_at(access, operation);
    }
    let found = || peek(access.address, access.size);
    read_step(access.address, access.site, found, |operation| arrive_at(access, operation));
}

fn arrive_at(access: &Access, operation: Operation) {
    if SpinDetector::may_spin_at(operation) {
        clear_below();
    }
    if (access.address & 7) + access.size > 8 {
        return arrive_at_several(access, operation);
    }
    point(operation, access.address, access.site, Gate::Open);
}

/// Parks before an access to several words until the task is chosen. The step depends on every
/// operation on any of those words that other tasks also access.
fn arrive_at_several(access: &Access, operation: Operation) {
    let end = access.address + access.size;
    let is_hot = |at: &u64| {
        POINTS.shadow.is_known(*at) && POINTS.shadow.word(*at).is_some_and(|word| word.hot)
    };
    let mut hot = (access.address & !7..end).step_by(8).filter(is_hot);
    let first = hot.next().unwrap_or(access.address).max(access.address);
    let task = world().task();
    task.second.set(hot.next().unwrap_or(0));
    task.wide.set(hot.next().is_some());
    point(operation, first, access.site, Gate::Open);
    task.second.set(0);
    task.wide.set(false);
}

/// Overwrites what earlier calls left on the stack where the runtime's frames will be. Those frames
/// do not fill every slot, and they are compared with the rest of the stack of a task in a spin
/// loop (`crate::schedule::stall`).
#[inline(never)]
fn clear_below() {
    std::hint::black_box(&mut [0u64; 160]);
}

/// Records the value of a plain access.
pub(crate) fn done(access: &Access) {
    if access.writes {
        // The write is about to happen: its value is recorded at the next step.
        POINTS.written.set((access.address, access.size.min(8) as u8));
    } else {
        record::value(peek(access.address, access.size));
    }
}

/// Compares an access with the earlier ones, and stores it in the shadow memory.
pub(crate) fn look(access: &Access) {
    let me = me();
    if me >= clocks::TASKS {
        return;
    }
    race::keep(access);
    let viewer = POINTS.clocks.viewer(me);
    let clock = POINTS.clocks.stamp();
    let end = access.address + access.size;
    let bit = |is: bool, bit: u8| if is { bit } else { 0 };
    let kind = USED
        | bit(access.writes, WRITE)
        | bit(access.atomic, ATOMIC)
        | bit(access.proven && POINTS.certain.get(), PROVEN)
        | bit(race::is_meant(me, access.writes), MEANT);
    let mut at = access.address & !7;
    while at < end {
        let Some(word) = POINTS.shadow.word(at) else {
            return note_gap(InstrumentationGap::Crowded);
        };
        let mask = shadow::bytes_within(at, access.address, end);
        let slot = Slot { clock, task: me as u16, mask, kind, site: access.site };
        word.note(&slot, viewer, |earlier| race::conflict(at, earlier, &slot));
        // A plain write ends the release sequence at its bytes.
        if word.orders && access.writes && access.proven && !access.atomic {
            order::forget(&POINTS.clocks, at, mask);
        }
        // Every access to a synchronisation word counts, not only those that were seen unordered:
        // which of them can meet is for the search to determine.
        if word.hot
            && (access.atomic || word.synchronises(&POINTS.clocks) & mask != 0)
            && !learned_points::is_site(access.site)
        {
            race::belongs(at, &slot);
        }
        at += 8;
    }
    if access.proven {
        crate::state::root::root().note_compiled(access.site);
    }
    if binary::are_there() {
        note_stack(access.address);
    }
}

/// Notes whether the address is on the stack of a task other than the running one. Then
/// instructions that address memory by the stack pointer have to be monitored, too.
pub(crate) fn note_stack(address: u64) {
    let root = crate::state::root::root();
    if root.stacks_touched.get() {
        return;
    }
    let world = world();
    let me = world.current.get();
    for number in world.alive().filter(|&number| number != me) {
        let stack = world.tasks[usize::from(number)].stack.get();
        root.stacks_touched
            .set(root.stacks_touched.get() | (stack.low..stack.high).contains(&address));
    }
}
