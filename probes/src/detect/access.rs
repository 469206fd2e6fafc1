//! Memory accesses: their comparison with those of other tasks, and how closely they are monitored.
//!
//! Each access of monitored code is compared with the earlier ones ([`shadow`], [`clocks`]). Two
//! accesses that are unordered, of which at least one writes, *conflict*: from the next execution on
//! their sites are scheduling points, at the addresses where a conflict was seen
//! ([`learned_points`]). An address that tasks hand to each other under a lock is no scheduling
//! point and need not be: the order is decided at the lock.

use crate::detect::clocks;
use crate::detect::delayed_stores;
use crate::detect::heap_words;
use crate::detect::learned_points;
use crate::detect::order;
use crate::detect::race;

use crate::detect::clocks::Clocks;
use crate::detect::shadow::{Shadow, Viewer};
use crate::detect::slot::{ATOMIC, Head, IN_PARTS, MEANT, PROVEN, Slot, USED, WRITE, bytes_within};
use crate::detect::waiting::{PATIENCE, Waiting};
use crate::memory::arena;
use crate::state::start_point;
use crate::state::world::world;
use crate::steps::record;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::points::InstrumentationGap;
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
    /// Whether this process has probes.
    pub(crate) probed: Cell<bool>,
    /// Whether some of the program's code is compiler-instrumented, and the rest has to be probed.
    pub(crate) mixed: Cell<bool>,
    /// Whether every access is known to be atomic or not: all of the code is compiler-instrumented.
    pub(crate) certain: Cell<bool>,
    /// See [`are_only_observed`].
    pub(crate) only_observed: Cell<bool>,
    /// Whether every access is a scheduling point.
    pub(crate) all: Cell<bool>,
    /// Whether words that several tasks access are noted, however the accesses are ordered.
    pub(crate) notes_shared: Cell<bool>,
    /// Whether all accesses to such words, and to words with conflicts, are scheduling points.
    pub(crate) stops_at_shared: Cell<bool>,
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
    /// Whether the running task is suspected of waiting.
    pub(crate) suspect: Cell<bool>,
    /// Whether the running task may be in a spin loop with steps, so that its writes count.
    pub(crate) watched: Cell<bool>,
    pub(crate) waiting: Waiting,
    pub(crate) shadow: Shadow,
    pub(crate) clocks: Clocks,
    /// Address and size of what the last step writes, to be recorded after the write.
    pub(crate) written: Cell<(u64, u8)>,
    /// The step in which a word that a condition of a predicate reads was written last, and the site.
    condition_write: Cell<(u64, u64)>,
}
// SAFETY: the controlled process has one kernel thread. Most fields are `Cell`s, which hand out no
// references; `shadow`, `clocks` and `waiting` are made of cells and raw memory, with their own
// contracts.
unsafe impl Sync for Points {}
pub(crate) static POINTS: Points = Points {
    monitoring: Cell::new(Monitoring::Off),
    ready: Cell::new(false),
    probed: Cell::new(false),
    mixed: Cell::new(false),
    certain: Cell::new(false),
    only_observed: Cell::new(false),
    all: Cell::new(false),
    notes_shared: Cell::new(false),
    stops_at_shared: Cell::new(false),
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
    written: Cell::new((0, 0)),
    condition_write: Cell::new((0, 0)),
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
    /// Whether the C library or the kernel makes it in parts, which are executed here as one step.
    pub(crate) in_parts: bool,
}

impl Access {
    /// An atomic access that the compiler did not instrument.
    pub(crate) fn atomic(address: u64, size: u64, writes: bool, site: u64) -> Access {
        Access { address, size, writes, atomic: true, proven: false, site, in_parts: false }
    }

    /// Whether it is to an aligned word, which is accessed as a whole.
    pub(crate) fn is_of_word(&self) -> bool {
        self.size <= 8 && self.size.is_power_of_two() && self.address.is_multiple_of(self.size)
    }
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

/// Whether accesses take part in the execution: they may be steps, and show which tasks wait. In an
/// execution that only observes they do not, so that it is the one that its replays are, which monitor no
/// accesses.
#[inline]
pub(crate) fn take_part() -> bool {
    are_on() && !POINTS.only_observed.get()
}

/// Whether the compiler instrumented some of the program's accesses.
pub(crate) fn are_compiled() -> bool {
    POINTS.certain.get() || POINTS.mixed.get()
}

/// Whether accesses are monitored, but do not [`take_part`].
pub(crate) fn are_only_observed() -> bool {
    POINTS.only_observed.get()
}

/// Notes that some accesses are not monitored, and why.
#[cold]
pub(crate) fn note_gap(why: InstrumentationGap) {
    let unseen = &crate::sys::channel::header().instrumentation.unseen;
    unseen.store(unseen.load(Relaxed) | why as u64, Relaxed);
}

/// Whether the program uses more memory than the shadow memory can cover.
pub(crate) fn is_crowded() -> bool {
    crate::sys::channel::header().instrumentation.unseen.load(Relaxed)
        & InstrumentationGap::Crowded as u64
        != 0
}

/// Sets how closely accesses are monitored from here on.
pub(crate) fn update_monitoring() {
    if start_point::is_ahead() {
        return POINTS.monitoring.set(Monitoring::Off);
    }
    let suspect = POINTS.suspect.get() || POINTS.watched.get();
    let in_full =
        POINTS.all.get() || POINTS.stops_at_shared.get() || suspect || race::is_watching();
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
    let is_quick = POINTS.plainly.get()
        && me < clocks::TASKS
        && !crate::state::root::root().is_harness(me as u16)
        && !race::is_any_meant()
        && world().task().handler.get().0 == 0;
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

/// How much of a lock, a condition variable, a semaphore or a barrier an operation accesses at least.
const LOCK_WORD: u64 = 4;

/// Updates the vector clocks for an operation of the threads library. What it operates on may be freed
/// by another task: for that, the operation is an atomic read, so that two operations do not conflict.
pub(crate) fn synchronise(operation: Operation, object: u64, mutex: u64, succeeds: bool) {
    use Operation as O;
    if !are_on() {
        return;
    }
    if arena::holds(object) && operation.uses_memory() && is_in_company() {
        look(&Access {
            address: object,
            size: LOCK_WORD,
            writes: false,
            atomic: true,
            proven: true,
            site: world().task().site.get(),
            in_parts: false,
        });
    }
    let (me, clocks) = (me(), &POINTS.clocks);
    // The threads library implements its operations with locked instructions. Tasks are identified
    // by numbers from 1.
    match operation {
        O::Start | O::Exit | O::ExitNow => {
            delayed_stores::note(MemoryEffect::Update, me as u64 + 1, 0)
        }
        O::Read | O::Write | O::Update | O::Await | O::Yield | O::Sleep => {}
        O::Ready | O::Transfer => {}
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

/// Whether the accesses of the running task are monitored: not those of a test harness's main.
#[inline]
pub(crate) fn is_awake() -> bool {
    are_on() && !crate::state::root::root().is_harness(world().current.get())
}

/// The memory was newly allocated.
#[inline]
pub(crate) fn fresh(address: u64, len: u64) {
    if are_on() {
        POINTS.shadow.forget(&POINTS.clocks, address, len);
    }
}

/// The heap has a new block with this memory, or one that grew.
#[inline]
pub(crate) fn allocated(address: u64, len: u64) {
    if are_on() {
        fresh(address, len);
        heap_words::mark(&POINTS.shadow, address);
    }
}

/// Memory was mapped or unmapped that has several addresses.
pub(crate) fn views_changed() {
    if are_ready() {
        POINTS.shadow.views_changed();
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

/// The value that the last step writes is not recorded: it may not be in memory.
pub(crate) fn forget_written() {
    POINTS.written.set((0, 0));
}

/// Whether the running task can conflict with another: a single task conflicts with none.
pub(crate) fn is_in_company() -> bool {
    are_on() && world().created.get() > 1 && is_awake()
}

/// Whether the access is a scheduling point.
pub(crate) fn is_point(access: &Access) -> bool {
    if POINTS.all.get() {
        return true;
    }
    let mut words = (access.address & !7..access.address + access.size).step_by(8);
    let is_hot = |at| POINTS.shadow.word(at).is_some_and(|word| heap_words::is_hot(word, at));
    match learned_points::is_site(access.site) {
        true => words.any(is_hot),
        // The recording of the execution has all sites that access such a word, so that it is repeated exactly.
        false => {
            POINTS.stops_at_shared.get()
                && words.any(|at| is_hot(at) || learned_points::is_shared(at))
        }
    }
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

/// The site that wrote last, in the present step, what a condition of a predicate reads.
pub(crate) fn condition_writer() -> Option<u64> {
    let (step, site) = POINTS.condition_write.get();
    (site != 0 && step == world().step.get()).then_some(site)
}

/// An execution begins.
pub(crate) fn forget_condition_writer() {
    POINTS.condition_write.set((0, 0));
}

/// Whether an access to the word at this address may be a scheduling point, or may conflict with an earlier one: no
/// task touched the page of a word for which neither holds.
pub(crate) fn is_known(address: u64) -> bool {
    POINTS.all.get() || POINTS.shadow.is_known(address)
}

/// Another task, which has ended, stored to this word as its last access, which was not compared with others because
/// the word was not known ([`is_known`]). The running task is about to read it.
pub(crate) fn catch_up(task: u16, address: u64, site: u64) {
    let task_clock = usize::from(task);
    if !is_in_company() || task_clock >= clocks::TASKS {
        return;
    }
    let Some(word) = POINTS.shadow.word(address) else { return };
    let (clock, kind) = (POINTS.clocks.latest(task_clock), USED | WRITE | ATOMIC);
    let store = Slot { clock, task, mask: 0xff, kind, site };
    word.note(&store, POINTS.clocks.viewer(task_clock), |_| {});
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
        | bit(race::is_meant(me, access.writes), MEANT)
        | bit(access.in_parts, IN_PARTS);
    race::note_callers_of(&Slot { clock, task: me as u16, mask: 0xff, kind, site: access.site });
    let mut at = access.address & !7;
    let mut may_be_freed = false;
    let is_new = POINTS.stops_at_shared.get() && !learned_points::is_site(access.site);
    while at < end {
        let Some(word) = POINTS.shadow.word(at) else {
            return note_gap(InstrumentationGap::Crowded);
        };
        let mask = bytes_within(at, access.address, end);
        let slot = Slot { clock, task: me as u16, mask, kind, site: access.site };
        if POINTS.notes_shared.get() && word.is_shared(&slot, &POINTS.clocks) {
            race::shared(at);
        }
        word.note(&slot, viewer, |earlier| race::conflict(at, earlier, &slot));
        // A plain write ends the release sequence at its bytes.
        if word.orders() && access.writes && access.proven && !access.atomic {
            order::forget(&POINTS.clocks, at, mask);
        }
        // Every access to a synchronisation word counts, not only those that were seen unordered:
        // which of them can meet is for the search to determine.
        let is_hot = heap_words::is_hot(word, at);
        if is_new && (is_hot || learned_points::is_shared(at)) {
            race::stopped(at, &slot);
        }
        if is_hot
            && (access.atomic || word.synchronises(&POINTS.clocks) & mask != 0)
            && !learned_points::is_site(access.site)
        {
            race::belongs(at, &slot);
        }
        if is_hot && access.writes && learned_points::is_watched(at) {
            POINTS.condition_write.set((world().step.get(), access.site));
            if !learned_points::is_site(access.site) {
                race::belongs(at, &slot);
            }
        }
        meets_handler(at, &slot, is_hot);
        may_be_freed |= word.may_be_freed();
        at += 8;
    }
    if may_be_freed {
        uses_freed_memory(access);
    }
    if access.proven {
        crate::state::root::root().note_compiled(access.site);
    }
    if POINTS.probed.get() {
        note_stack(access.address);
    }
}

/// An access touches a word that was in a freed block of the heap at some time. If it still is, the
/// execution fails, provided that the access is a scheduling point: a replay observes no others. From the
/// next execution on it is.
#[cold]
fn uses_freed_memory(access: &Access) {
    let Some(block) = arena::freed_around(access.address, access.size) else {
        let words = (access.address & !7..access.address + access.size).step_by(8);
        for word in words.filter_map(|at| POINTS.shadow.word(at)) {
            word.set_freed(false);
        }
        return;
    };
    if is_point(access) {
        block.used(access.address, access.writes, access.site);
    }
    expect_point(access.address & !7, access.site);
}

/// Compares an access with those of signal handlers, which may run before any access of the code that they
/// interrupt. (The clocks order both by program order.)
fn meets_handler(word: u64, access: &Slot, is_hot: bool) {
    let task = world().task();
    let (signal, frames) = task.handler.get();
    // A handler can interrupt itself where its signal is not blocked (`SA_NODEFER`, or a call unblocked it).
    let is_blocked = signal != 0 && task.mask.get() >> (signal - 1) & 1 != 0;
    if is_hot
        && learned_points::is_handled(
            word,
            access.kind & WRITE != 0,
            if is_blocked { signal } else { 0 },
        )
        && !learned_points::is_site(access.site)
    {
        race::belongs(word, access);
    }
    // What the handler has on the stack is its own.
    let is_own = |word| {
        task.on_alternate_stack.get().has(word) || (task.stack.get().low..frames).contains(&word)
    };
    if signal != 0 && !is_own(word) {
        race::handled(word, access, signal);
    }
}

/// From the next execution on, the access to this word at this site is a scheduling point.
pub(crate) fn expect_point(word: u64, site: u64) {
    if !learned_points::is_site(site) {
        let slot = Slot { clock: 0, task: me() as u16, mask: 0xff, kind: USED, site };
        race::belongs(word, &slot);
    }
}

/// The running task writes to the word of this address without a probe. Where a signal handler does, it
/// matters to the code that it interrupts.
pub(crate) fn writes_in_handler(address: u64) {
    let (signal, _) = world().task().handler.get();
    if signal != 0 && is_in_company() {
        expect_handler(address & !7, signal);
    }
}

/// A handler of the signal may run in a task at any moment, which `word` represents.
pub(crate) fn expect_handler(word: u64, signal: u8) {
    let kind = USED | WRITE | ATOMIC;
    race::handled(word, &Slot { clock: 0, task: me() as u16, mask: 0xff, kind, site: 0 }, signal);
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
