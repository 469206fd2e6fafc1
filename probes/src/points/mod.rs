//! Scheduling points at accesses to memory.
//!
//! Whoever sees an access before it happens (code that the compiler put in, [`compiled`]) says so here.
//! While tasks run, accesses are compared with those of other tasks ([`shadow`], [`clocks`]); two that
//! are unordered, and of which one writes, *conflict*: from the next execution on their sites are
//! scheduling points, at the addresses that were seen in a conflict ([`learned`]). An address that
//! tasks hand to each other under a lock is none, and need not be: whoever may go first is decided
//! at the lock.

pub(crate) mod binary;
pub(crate) mod clocks;
pub(crate) mod compiled;
pub(crate) mod delays;
mod given_back;
pub(crate) mod learned;
mod order;
mod plain;
mod race;
mod shadow;
mod table;
mod waiting;

use crate::record;
use crate::scheduler::{look_at, point};
use crate::task::Gate;
use crate::world::world;
use binary::Wanted;
use clocks::Clocks;
pub(crate) use given_back::freed;
use search::stall::Stalls;
use shadow::{ATOMIC, Head, MEANT, PROVEN, Shadow, Slot, USED, Viewer, WRITE};
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use traces::Operation;
use traces::buffers::Act;
use traces::points::{Granularity, Unseen};
use waiting::{PATIENCE, Waiting, no_step};

/// How closely accesses are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(u8)]
enum Looks {
    Nobody = 0,
    /// One that its stretch made before needs no second look.
    Quickly = 1,
    /// Each is looked at.
    Closely = 2,
}

/// The state of one process.
struct Points {
    /// Whether accesses are looked at: memory is there, a fiber runs, and somebody asked; and how closely.
    looks: Cell<Looks>,
    /// Whether memory is there.
    ready: Cell<bool>,
    /// Whether some of the program's code tells of its accesses, and some has to be probed.
    mixed: Cell<bool>,
    /// Whether it is known of every access whether it is atomic: all of the code tells.
    certain: Cell<bool>,
    /// Whether every access is a point.
    all: Cell<bool>,
    /// Whether accesses are looked at of which only those that conflicted before may be points, or count.
    picky: Cell<bool>,
    /// Whether an access that is no point needs nothing but being compared and remembered.
    plainly: Cell<bool>,
    /// What the running task does in the stretch that it is in.
    now: Cell<Head>,
    /// What came before that, if its accesses need nothing but being compared and remembered.
    quick: Cell<Option<Viewer>>,
    /// Accesses until the running task is suspect of waiting, or is believed to wait.
    budget: Cell<u32>,
    /// Whether it is suspect.
    suspect: Cell<bool>,
    /// Whether it goes round in a loop with steps, so that its writes count.
    watched: Cell<bool>,
    waiting: Waiting,
    shadow: Shadow,
    clocks: Clocks,
    /// The task whose accesses are not looked at any more, plus one.
    resting: Cell<u16>,
    /// What the last step wrote, to be recorded when it has: address and size.
    written: Cell<(u64, u8)>,
}
// SAFETY: there is one kernel thread.
unsafe impl Sync for Points {}
static POINTS: Points = Points {
    looks: Cell::new(Looks::Nobody),
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

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) address: u64,
    /// In bytes.
    pub(crate) size: u64,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    /// Whether that is known, as code tells of it: the instruction of a plain access may be an atomic one's, too.
    pub(crate) proven: bool,
    /// The address behind the instruction.
    pub(crate) site: u64,
}

/// Makes ready what is needed to look at accesses, in a process that has code that tells of them.
/// Before the snapshot, so that its memory is no part of that.
pub(crate) fn prepare(points: Granularity) {
    if points == Granularity::Api || POINTS.ready.get() {
        return;
    }
    POINTS.all.set(points == Granularity::All);
    let mapped = POINTS.shadow.map()
        && POINTS.clocks.map()
        && learned::map()
        && race::map()
        && delays::map();
    // Code that tells of its accesses need not be probed.
    let tells = compiled::is_present();
    if tells {
        compiled::take_routines();
    }
    let mixed = tells && binary::is_mixed();
    let probed = (!tells || mixed) && binary::prepare();
    // Where a schedule is repeated, only what is known is probed.
    if mixed && !probed && !crate::manager::root().repeats() {
        out_of_sight(Unseen::Mixed);
    }
    POINTS.mixed.set(mixed);
    POINTS.certain.set(tells && !mixed);
    POINTS.ready.set(mapped && (tells || probed));
}

/// Memory that is the runtime's own.
pub(crate) fn ranges() -> Vec<(u64, u64)> {
    if !POINTS.ready.get() {
        return Vec::new();
    }
    let mut ranges = Vec::new();
    ranges.extend(POINTS.shadow.ranges());
    ranges.extend(POINTS.clocks.ranges());
    ranges.extend(learned::ranges());
    ranges.extend(race::ranges());
    ranges.extend(delays::ranges());
    if binary::are_there() {
        ranges.extend(binary::ranges());
    }
    // Whole pages: what is left of a mapping when these are cut out of it is the program's.
    ranges.iter_mut().for_each(|(_, end)| *end = end.next_multiple_of(4096));
    ranges
}

/// Whether accesses are looked at at all.
pub(crate) fn are_ready() -> bool {
    POINTS.ready.get()
}

/// Whether accesses are looked at now.
#[inline]
pub(crate) fn are_on() -> bool {
    POINTS.looks.get() != Looks::Nobody
}

/// Takes over what was learned, and sets the probes that the next execution is to have; whether
/// accesses are looked at in it.
pub(crate) fn refresh() -> bool {
    if !POINTS.ready.get() {
        return false;
    }
    let root = crate::manager::root();
    let known = learned::refresh(&POINTS.shadow);
    // A search of all schedules is to see what it comes to on paths that learning did not take; a random
    // walk rather goes fast.
    let thorough = root.learns && (root.is_checking() || !root.strategy.rest().is_memoryless());
    let learning = root.is_learning() || POINTS.all.get();
    // Whoever repeats a schedule sees the same of code that tells, and less of code that is probed.
    POINTS.picky.set(!learning && (POINTS.mixed.get() || thorough && binary::are_there()));
    // Code that tells is not asked for stacks each time.
    let stacks = root.stacks_touched || POINTS.mixed.get();
    let wanted = match (learning || thorough, stacks) {
        (false, _) => Wanted::Learned,
        (true, false) => Wanted::All,
        (true, true) => Wanted::WithStacks,
    };
    binary::refresh(wanted, known);
    !binary::are_there() || POINTS.mixed.get() || wanted != Wanted::Learned || known > 0
}

/// Stands for the code of the program's own libraries, as far as they were loaded when it began.
pub(crate) fn libraries() -> u64 {
    binary::libraries()
}

/// How often the execution came to probes, in a program that has them.
pub(crate) fn probes_met() -> Option<u64> {
    binary::are_there().then(binary::hits)
}

/// Some accesses are not looked at.
#[cold]
pub(crate) fn out_of_sight(why: Unseen) {
    let unseen = &crate::channel::header().sight.unseen;
    unseen.store(unseen.load(Relaxed) | why as u64, Relaxed);
}

/// Whether the program uses more memory than account can be kept of.
pub(crate) fn is_crowded() -> bool {
    crate::channel::header().sight.unseen.load(Relaxed) & Unseen::Crowded as u64 != 0
}

/// The program makes a system call: code that it makes, changes or loads is not looked at.
pub(crate) fn note_call(number: i64, args: [u64; 6]) {
    if !POINTS.ready.get() {
        return;
    }
    if matches!(number, libc::SYS_munmap | libc::SYS_mremap) {
        // What was written there is not to be had any more, and what is mapped there next is new.
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
        out_of_sight(Unseen::Generated);
    } else if binary::is_own_file(args[4] as i32) {
        out_of_sight(Unseen::Loaded);
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
    delays::begin();
    POINTS.resting.set(0);
    POINTS.written.set((0, 0));
    POINTS.waiting.begin();
    POINTS.plainly.set(!POINTS.all.get() && !race::is_watching());
    stepped();
    look_from_here_on();
    new_stretch();
}

/// Accesses are looked at as closely as they need to be now.
fn look_from_here_on() {
    let suspect = POINTS.suspect.get() || POINTS.watched.get();
    let closely = POINTS.all.get() || suspect || race::is_watching();
    POINTS.looks.set(if closely { Looks::Closely } else { Looks::Quickly });
}

/// An execution is over.
pub(crate) fn end() {
    POINTS.looks.set(Looks::Nobody);
    // What was about to be written may be why it is over: it is not looked at.
    POINTS.written.set((0, 0));
}

/// Another task runs, or the running one released something.
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
        out_of_sight(Unseen::Crowded);
        end();
    }
}

/// A step was decided: whoever goes on has made no access yet.
#[inline]
pub(crate) fn stepped() {
    POINTS.budget.set(PATIENCE);
    if POINTS.suspect.get() {
        suspect(false);
    }
    POINTS.waiting.stepped();
}

/// Whether the running task is suspect of waiting from here on.
fn suspect(is: bool) {
    POINTS.suspect.set(is);
    if are_on() {
        look_from_here_on();
    }
}

/// Whether the running task perhaps goes round in a loop with steps ([`search::stall`]).
pub(crate) fn watch(is: bool) {
    if POINTS.watched.replace(is) != is && are_on() {
        look_from_here_on();
    }
}

fn me() -> usize {
    usize::from(world().current.get())
}

/// What the task learns and hands on by an operation of the threads library.
pub(crate) fn synchronise(operation: Operation, object: u64, mutex: u64, succeeds: bool) {
    use Operation as O;
    if !are_on() {
        return;
    }
    let (me, clocks) = (me(), &POINTS.clocks);
    // The threads library's own operations are locked instructions; tasks are told by numbers from 1.
    match operation {
        O::Start | O::Exit | O::ExitNow => delays::note(Act::Update, me as u64 + 1, 0),
        O::Read | O::Write | O::Update | O::Await | O::Yield | O::Sleep | O::Ready => {}
        O::Detach | O::Handler | O::SignalWait | O::TestCancel => {}
        _ => delays::note(Act::Update, object, 0),
    }
    if order::operation(clocks, &POINTS.shadow, me, operation, (object, mutex), succeeds) {
        new_stretch();
    }
}

/// The running task made another one.
pub(crate) fn created(child: u16) {
    if are_on() {
        POINTS.clocks.create(me(), usize::from(child));
        new_stretch();
    }
}

/// The running task knows that another has ended.
pub(crate) fn joined(other: u16) {
    if are_on() {
        POINTS.clocks.join(me(), usize::from(other));
        new_stretch();
    }
}

/// The running task learns what was released at an address.
pub(crate) fn acquire(address: u64) {
    if are_on() {
        POINTS.clocks.acquire(me(), address);
        new_stretch();
    }
}

/// The running task hands on what it did to whoever acquires the address.
pub(crate) fn release(address: u64) {
    if are_on() {
        POINTS.clocks.release(me(), address);
        new_stretch();
    }
}

/// The running task panics: what it does from here on is to say so (symbols are looked up, which takes a
/// million accesses), and nothing that the program is about.
pub(crate) fn rest() {
    POINTS.resting.set(world().current.get() + 1);
    POINTS.plainly.set(false);
    POINTS.quick.set(None);
    if crate::manager::root().is_learning() {
        binary::rest();
    }
}

/// Whether the accesses of the running task are looked at.
#[inline]
fn is_awake() -> bool {
    are_on() && POINTS.resting.get() != world().current.get() + 1
}

/// The memory is new: it was allocated.
#[inline]
pub(crate) fn fresh(address: u64, len: u64) {
    if are_on() {
        POINTS.shadow.forget(&POINTS.clocks, address, len);
    }
}

/// Reads up to eight bytes of the program's.
fn peek(address: u64, size: u64) -> u64 {
    let mut value = 0u64;
    // SAFETY: the program is about to read or write there, or just did.
    unsafe {
        std::ptr::copy_nonoverlapping(
            address as *const u8,
            (&raw mut value).cast(),
            size.min(8) as usize,
        );
    }
    value
}

/// Records what the last step wrote, now that it has.
#[inline]
pub(crate) fn settle_write() {
    let (address, size) = POINTS.written.get();
    if size > 0 {
        POINTS.written.set((0, 0));
        record::value(peek(address, u64::from(size)));
    }
}

/// An access just before it happens: perhaps a point, and looked at in any case.
#[inline(never)]
pub(crate) fn visit(access: Access) {
    if !is_awake() {
        return;
    }
    let is_point = is_point(&access);
    if is_point {
        arrive(&access, if access.writes { Operation::Write } else { Operation::Read });
    } else {
        no_step(&access, !POINTS.picky.get() || learned::is_site(access.site));
    }
    look(&access);
    if is_point {
        if access.proven {
            let act = if access.writes { Act::Store } else { Act::Load };
            delays::note(act, access.address, access.site);
        }
        done(&access);
    }
}

/// Whether others may meet at what the running task does: alone, a task conflicts with nobody.
fn is_in_company() -> bool {
    are_on() && world().created.get() > 1 && is_awake()
}

/// A library is about to store what the program's own code looks at, by an atomic operation that is not seen.
pub(crate) fn stored(address: u64, size: u64, site: u64) {
    if is_in_company() {
        settle_write();
        visit(Access { address, size, writes: true, atomic: true, proven: false, site });
    }
}

/// Whether the scheduler may choose before the access.
pub(crate) fn is_point(access: &Access) -> bool {
    if POINTS.all.get() {
        return true;
    }
    let mut at = access.address & !7;
    while at < access.address + access.size {
        if POINTS.shadow.word(at).is_some_and(|word| word.hot) {
            return learned::is_site(access.site);
        }
        at += 8;
    }
    false
}

/// Stands before the access until it is chosen.
pub(crate) fn arrive(access: &Access, operation: Operation) {
    if operation != Operation::Read {
        crate::manager::root().alike.writes(me());
        return arrive_at(access, operation);
    }
    let found = || peek(access.address, access.size);
    look_at(access.address, access.site, found, |operation| arrive_at(access, operation));
}

fn arrive_at(access: &Access, operation: Operation) {
    if Stalls::matters(operation) {
        clear_below();
    }
    if (access.address & 7) + access.size > 8 {
        return arrive_at_several(access, operation);
    }
    point(operation, access.address, access.site, Gate::Open);
}

/// Stands before an access to several words until it is chosen. Those that others meet at count: it depends
/// on what is done to any of them.
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

/// Overwrites what earlier calls left where the runtime's frames are about to lie: they are compared with
/// the rest of the stack of a task that goes round (`crate::stall`), and do not fill every slot.
#[inline(never)]
fn clear_below() {
    std::hint::black_box(&mut [0u64; 160]);
}

/// Records what came of a plain access.
fn done(access: &Access) {
    if access.writes {
        // It is about to happen: its value shows at the next step.
        POINTS.written.set((access.address, access.size.min(8) as u8));
    } else {
        record::value(peek(access.address, access.size));
    }
}

/// Compares an access with those before, and remembers it.
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
        let Some(word) = POINTS.shadow.word(at) else { return out_of_sight(Unseen::Crowded) };
        let mask = shadow::bytes_within(at, access.address, end);
        let slot = Slot { clock, task: me as u16, mask, kind, site: access.site };
        word.note(&slot, viewer, |earlier| race::conflict(at, earlier, &slot));
        // What a plain access writes was released by nobody.
        if word.orders && access.writes && access.proven && !access.atomic {
            order::forget(&POINTS.clocks, at, mask);
        }
        // Of what tasks synchronise by each use counts, not only those that were seen unordered: which
        // of them come together is what the search is to find out.
        if word.hot
            && (access.atomic || word.synchronises(&POINTS.clocks) & mask != 0)
            && !learned::is_site(access.site)
        {
            race::belongs(at, &slot);
        }
        at += 8;
    }
    if access.proven {
        crate::manager::root().note_compiled(access.site);
    }
    if binary::are_there() {
        note_stack(access.address);
    }
}

/// Whether the address lies on the stack of a task other than the running one: then those instructions
/// matter, too, that address by the stack pointer.
fn note_stack(address: u64) {
    let root = crate::manager::root();
    if root.stacks_touched {
        return;
    }
    let world = world();
    let me = world.current.get();
    for number in world.alive().filter(|&number| number != me) {
        let stack = world.tasks[usize::from(number)].stack.get();
        root.stacks_touched |= (stack.low..stack.high).contains(&address);
    }
}
