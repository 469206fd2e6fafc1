//! The scheduler's side of [`search::spin`], which detects tasks that wait in spin loops.

use crate::detect::access;
use crate::detect::atoms;
use crate::detect::learned_points;
use crate::fiber::switch;
use crate::schedule::deadlock;
use crate::schedule::external;
use crate::schedule::shown_times;
use crate::state::end::End;
use crate::state::locks;
use crate::state::open_words;
use crate::state::outcome;
use crate::state::pending_signals;
use crate::state::root::root;
use crate::state::task::{Gate, Lifecycle, Task};
use crate::state::upcalls;
use crate::state::world::{World, world};
use crate::steps::record;
use crate::sys::checked_read;
use crate::sys::interpose::{ARGUMENTS, PROGRAM_CALL, RAX, STORED};
use search::reduction::events::mix;
use search::spin::own_view::OwnViews;
use search::spin::repeated_reads::RepeatedReads;
use search::spin::{Effect, SpinDetector, Verdict};
use std::cell::Cell;
use traces::points::InstrumentationGap;
use traces::{FailureKind, Operation, TaskId};

/// The most bytes of a stack that are compared. Deeper frames are those of distant callers, which a
/// loop seldom changes.
const COMPARED: u64 = 16 << 10;

/// What a step accesses, before the step.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// One object, and its content.
    Object(u64, u64),
    /// The memory at this address.
    Memory(u64, [u64; 2]),
}

/// The current step.
struct Step {
    task: Cell<u16>,
    effect: Cell<Option<Effect>>,
    /// What the operation accesses, before the step, if comparing it will show what the step changed.
    before: Cell<Option<Before>>,
    /// Whether the task saw something that differs each time (such as the clock), or acted outside
    /// the program.
    makes_progress: Cell<bool>,
    /// Whether the step is an access to the state of an open file. It changes that if the call that
    /// follows is not refused, which is progress.
    of_file: Cell<bool>,
    /// Whether the task read a clock whose times are recognised in its state.
    reads_clock: Cell<bool>,
    /// Whether any task of the execution asked for what another process may change, and found nothing.
    looked_outside: Cell<bool>,
    /// Whether [`crate::state::root::Root::poll_finder`] observes the execution.
    finds_polls: Cell<bool>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Step {}
static STEP: Step = Step {
    task: Cell::new(0),
    effect: Cell::new(None),
    before: Cell::new(None),
    makes_progress: Cell::new(false),
    of_file: Cell::new(false),
    reads_clock: Cell::new(false),
    looked_outside: Cell::new(false),
    finds_polls: Cell::new(false),
};

/// An execution begins.
pub(crate) fn begin() {
    STEP.effect.set(None);
    STEP.before.set(None);
    STEP.looked_outside.set(false);
    let root = root();
    let (blind, known) = (!access::take_part(), learned_points::has_lock_polls());
    root.stalls.borrow().begin(blind, known);
    // All accesses are monitored in these executions.
    let finds = !blind && !known && (root.is_learning() || root.is_checking());
    STEP.finds_polls.set(finds);
    if finds {
        root.poll_finder.borrow().begin(false, true);
    }
    root.alike.borrow().begin();
    root.own_views.borrow().begin();
    access::watch(false);
}

/// What is known about waiting tasks, to continue an execution from there more than once.
pub(crate) struct Saved {
    task: u16,
    effect: Option<Effect>,
    objects: Vec<u64>,
    before: Option<Before>,
    makes_progress: bool,
    of_file: bool,
    reads_clock: bool,
    looked_outside: bool,
    /// None if they are as at the beginning of an execution.
    stalls: Option<SpinDetector>,
    alike: Option<RepeatedReads>,
    own_views: Option<OwnViews>,
}

/// What is known now, except to [`crate::state::root::Root::poll_finder`]: no loop that looks at data
/// begins before there is another task that may change them.
pub(crate) fn save() -> Saved {
    Saved {
        task: STEP.task.get(),
        effect: STEP.effect.get(),
        objects: root().step_objects.cloned(),
        before: STEP.before.get(),
        makes_progress: STEP.makes_progress.get(),
        of_file: STEP.of_file.get(),
        reads_clock: STEP.reads_clock.get(),
        looked_outside: STEP.looked_outside.get(),
        stalls: Some(root().stalls.cloned()).filter(|stalls| !stalls.is_new()),
        alike: Some(root().alike.cloned()).filter(|alike| !alike.is_new()),
        own_views: Some(root().own_views.cloned()).filter(|views| !views.is_new()),
    }
}

/// An execution that has begun continues where `saved` was known.
pub(crate) fn restore(saved: &Saved) {
    STEP.task.set(saved.task);
    STEP.effect.set(saved.effect);
    root().step_objects.borrow().clone_from(&saved.objects);
    STEP.before.set(saved.before);
    STEP.makes_progress.set(saved.makes_progress);
    STEP.of_file.set(saved.of_file);
    STEP.reads_clock.set(saved.reads_clock);
    STEP.looked_outside.set(saved.looked_outside);
    if let Some(stalls) = &saved.stalls {
        root().stalls.borrow().clone_from(stalls);
    }
    if let Some(alike) = &saved.alike {
        root().alike.borrow().clone_from(alike);
    }
    if let Some(views) = &saved.own_views {
        root().own_views.borrow().clone_from(views);
    }
    access::watch(false);
}

/// From here on, not every write of this execution is observed: an iteration without a write is not
/// known to be one.
pub(crate) fn stop_finding_polls() {
    STEP.finds_polls.set(false);
}

/// The running task reads the clock, or does anything else on which a loop may depend.
#[inline]
pub(crate) fn makes_progress() {
    STEP.makes_progress.set(true);
}

/// The running task found a descriptor not ready, without a wait, that another process may make ready: it waits
/// for that if it asks again and again.
pub(crate) fn looks_outside(descriptor: u64, events: i16) {
    STEP.looked_outside.set(true);
    world().task().outside.set(Some((descriptor as u32, events)));
}

/// Whether a task of the execution has done so.
pub(crate) fn has_looked_outside() -> bool {
    STEP.looked_outside.get()
}

/// Whether a task that asks again and again may be answered by another process.
pub(crate) fn awaits_outside(number: u16) -> bool {
    world().tasks[usize::from(number)].outside.get().is_some() && waits(number)
}

/// Whether the descriptor is ready at which the task looked, and for which it waits.
fn is_answered(number: u16, task: &Task) -> bool {
    task.outside.get().is_some_and(|asked| upcalls::get().is_ready(number, asked))
}

/// Whether steps have to be reported.
#[inline]
pub(crate) fn is_active(stalls: &SpinDetector) -> bool {
    stalls.is_active() || STEP.finds_polls.get()
}

/// The task that ran has reached its next operation.
pub(crate) fn arrived(world: &World, stalls: &mut SpinDetector) {
    use Operation as O;
    let finds = STEP.finds_polls.get();
    if let Some(effect) = STEP.effect.take() {
        let task = TaskId(STEP.task.get());
        let content = |object| content(object).unwrap_or(0);
        let effect = match STEP.before.take() {
            Some(Before::Memory(address, before)) if peek(address) == before => Effect::Read,
            Some(Before::Object(object, before)) => match content(object) {
                after if after == before => Effect::Read,
                after => Effect::Replaced { object, before, after },
            },
            _ if STEP.of_file.get() && !STEP.makes_progress.get() => Effect::Read,
            _ => effect,
        };
        let (makes_progress, reads_clock) = (STEP.makes_progress.get(), STEP.reads_clock.get());
        if makes_progress || !matches!(effect, Effect::None | Effect::Read) {
            world.tasks[task.index()].outside.set(None);
        }
        let objects = root().step_objects.borrow();
        // The step did not change what it read.
        let found = match effect {
            Effect::Read => objects.iter().fold(0, |hash, &object| mix(hash ^ content(object))),
            _ => 0,
        };
        let record = |detector: &mut SpinDetector| {
            if makes_progress {
                detector.record_progress(task);
            }
            detector.record_step(task, effect, &objects, found);
            if reads_clock {
                detector.record_clock(task);
            }
        };
        if stalls.is_active() {
            record(stalls);
        }
        if finds {
            record(&mut root().poll_finder.borrow());
        }
    }
    let task = world.task();
    root().own_views.borrow().arrive(usize::from(world.current.get()));
    let operation = task.operation.get();
    // Without a time limit, these waits end only when the task is woken.
    let is_limited = matches!(operation, O::FutexWoken | O::Ready | O::Join | O::SignalWait);
    let may_wait = !is_limited || task.gate() == Gate::Open;
    if SpinDetector::may_spin_at(operation) && may_wait && task.life() == Lifecycle::Alive {
        let number = TaskId(world.current.get());
        let (object, site) = (atoms::own_object(task), task.site.get());
        // Both detectors may ask for it.
        let mut known = None;
        let mut state = || *known.get_or_insert_with(|| state(task));
        let content = |object| content(object).unwrap_or(0);
        stalls.arrive(number, operation, object, site, &mut state, content);
        if stalls.may_count_iterations() {
            access::note_gap(InstrumentationGap::Counts);
        }
        if finds {
            let mut finder = root().poll_finder.borrow();
            finder.arrive(number, operation, object, site, &mut state, content);
            if finder.found_lock_poll() {
                root().learned.borrow().find_lock_poll();
                STEP.finds_polls.set(false);
            }
        }
        if known.is_some() {
            return;
        }
    }
    // Others may write to its stack wherever in its loop it is parked.
    let number = TaskId(world.current.get());
    if is_followed(number, stalls) {
        let (from, words, _) = stack(task);
        root().own_views.borrow().park(number.index(), from, words);
    }
}

/// Whether a detector remembers where the task was before.
fn is_followed(task: TaskId, stalls: &SpinDetector) -> bool {
    stalls.has_known_sites(task)
        || STEP.finds_polls.get() && root().poll_finder.borrow().has_known_sites(task)
}

/// The running task reads the calendar or the monotonic clock, whose times are recognised in its
/// state ([`shown_times`]), so that a loop that only looks at the clock can be seen to wait.
pub(crate) fn reads_clock() {
    match root().slack {
        Some(_) => {
            STEP.reads_clock.set(true);
            // From here on its memory may hold a time.
            let is_watched = is_followed(TaskId(world().current.get()), &root().stalls.borrow());
            access::watch(is_watched);
        }
        None => makes_progress(),
    }
}

/// The running task, which may be in a loop, reads outside a step: if the memory holds a time, the
/// loop may end when that time has come.
pub(crate) fn record_read(address: u64, size: u64) {
    let task = TaskId(world().current.get());
    if shown_times::is_at(task, address, size) {
        makes_progress();
    }
}

/// The running task is about to write, outside a step, to memory that is not part of its state.
///
/// A task that computes writes to many words, and its further accesses say nothing new: they are not watched, until
/// its next step.
pub(crate) fn record_write(address: u64, size: u64) {
    let (root, task) = (root(), TaskId(world().current.get()));
    let mut stalls = root.stalls.borrow();
    let words = (address & !7..address + size).step_by(8).take(MOST_WORDS);
    let mut suffices = false;
    for word in words {
        suffices = stalls.record_write(task, word | WORD, || content(word | WORD));
        if STEP.finds_polls.get() {
            let mut finder = root.poll_finder.borrow();
            suffices &= finder.record_write(task, word | WORD, || content(word | WORD));
        }
    }
    // Reads matter to a task that has read a clock (`record_read`).
    if suffices && !shown_times::read_clock(task) {
        access::watch(false);
    }
}

/// The most words of a write that are passed on: more than the detector remembers, so that it takes a
/// longer write for one that is not taken back.
const MOST_WORDS: usize = 20;

/// Marks the address of a whole word among the objects, which are atoms otherwise.
const WORD: u64 = 1 << 61;

/// What the program's memory holds in an object; none if it is not mapped.
fn content(object: u64) -> Option<u64> {
    if object & WORD == 0 {
        return atoms::content(object);
    }
    let mut bytes = [0; 8];
    checked_read::read(object & !WORD, &mut bytes).then(|| u64::from_le_bytes(bytes))
}

/// The stack of the running task, which has just parked, from its innermost frame of the program on, and the
/// registers with which it continues. The runtime's frames are left out: their contents are not part of the
/// program's state, and differ between two iterations of a loop.
fn stack(task: &Task) -> (u64, &[u64], [u64; STORED]) {
    let (sp, base) = (task.sp.get(), task.end_of_frames(task.sp.get()));
    let is_within = |at: u64| (sp..base).contains(&at);
    let probed = task.probed.get();
    // Behind a probe, the registers are on the stack. In other code, the program called a function
    // of the runtime.
    let called = PROGRAM_CALL.state_at(task.site.get()).filter(|&(at, _)| is_within(at));
    let (from, registers) = match called {
        _ if is_within(probed) => (probed, [0; STORED]),
        Some(called) => called,
        None => (sp, [0; STORED]),
    };
    let len = base.saturating_sub(from).min(COMPARED);
    let words = std::ptr::slice_from_raw_parts(from as *const u64, len as usize / 8);
    // SAFETY: the range is from the stack pointer of the parked task, or from an address above it,
    // up to at most its outermost frame, all of which is mapped, and the task does not run.
    (from, unsafe { &*words }, registers)
}

/// A hash of the state from which the running task, which has just parked, continues: its registers and its
/// stack, without what other tasks changed there.
fn state(task: &Task) -> u64 {
    let (from, words, mut registers) = stack(task);
    // Other calls leave anything in the registers of further arguments.
    if task.operation.get() != Operation::Update {
        registers[ARGUMENTS].fill(0);
    }
    // What the program computed last, such as the count of its iterations, may be in rax only. In
    // instrumented code, the runtime left something there.
    let is_own = matches!(task.operation.get(), Operation::Yield | Operation::Sleep);
    if !is_own || access::are_compiled() {
        registers[RAX] = 0;
    }
    let mut views = root().own_views.borrow();
    let me = usize::from(world().current.get());
    views.park(me, from, words);
    let words = views.own_words(me);
    let add = |hash: u64, word: u64| {
        let x = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ (x >> 29)
    };
    let number = TaskId(world().current.get());
    if shown_times::read_clock(number) {
        return shown_times::fold(&[words, &registers], from, number, add);
    }
    words.iter().chain(&registers).fold(from, |hash, &word| add(hash, word))
}

/// Sixteen bytes of the program's memory, from the start of the eight-byte granule at this address.
fn peek(address: u64) -> [u64; 2] {
    // SAFETY: the task's pending operation is an access to this address, which it made before, so
    // the granule is mapped. (If the program unmapped it, this read faults as the task's own access
    // would.)
    let first = unsafe { ((address & !7) as *const u64).read_volatile() };
    if address & 0xfff > 0xff0 {
        return [first, 0];
    }
    // SAFETY: in the same page as the first.
    [first, unsafe { ((address & !7) as *const u64).add(1).read_volatile() }]
}

/// The task is about to continue: what is new on its stack was written by others.
fn resume_view(task: &Task, number: u16) {
    let (mut views, number) = (root().own_views.borrow(), usize::from(number));
    let Some((from, len)) = views.parked(number) else { return };
    if from < task.sp.get() || from + 8 * len as u64 > task.end_of_frames(task.sp.get()) {
        return views.arrive(number);
    }
    let words = std::ptr::slice_from_raw_parts(from as *const u64, len);
    // SAFETY: the range is within the stack of the task, from its stack pointer up to its outermost frame, all
    // of which is mapped, and the task does not run.
    views.resume(number, unsafe { &*words });
}

/// The task was chosen.
pub(crate) fn chosen(world: &World, number: u16, stalls: &SpinDetector) {
    use Operation as O;
    let task = &world.tasks[usize::from(number)];
    let (operation, address) = (task.operation.get(), task.object.get());
    resume_view(task, number);
    // What a task did before any task was observed is no part of this step.
    STEP.makes_progress.set(false);
    STEP.reads_clock.set(false);
    let accesses_file = matches!(operation, O::Write | O::Update) && open_words::is_one(address);
    let takes = task.takes() != 0;
    STEP.of_file.set(accesses_file || takes || operation == O::Transfer);
    let mut objects = root().step_objects.borrow();
    objects.clear();
    atoms::each_object(task, |object| objects.push(object.address));
    let object = objects.first().copied().unwrap_or(0);
    let (looked, changed) = (Effect::Read, Effect::Changed);
    let would_succeed =
        || locks::would_succeed(operation, address, task.gate().is_of_word()).unwrap_or(true);
    let unless = |succeeds: bool| if succeeds { changed } else { looked };
    STEP.before.set(None);
    let is_watched = is_followed(TaskId(number), stalls);
    let effect = match operation {
        O::Yield | O::Sleep | O::TestCancel => Effect::None,
        O::Join if joins_in_vain(task) || tries_to_join(world, task) => Effect::None,
        O::Read | O::Await if takes => changed,
        O::Read | O::Await => {
            if shown_times::is_at(TaskId(number), address, 8) {
                STEP.makes_progress.set(true);
            }
            looked
        }
        O::Write | O::Update if is_watched && !STEP.of_file.get() => {
            let object = atoms::only_object(task);
            STEP.before.set(object.map(|(object, content)| Before::Object(object, content)));
            if object.is_none() && stalls.is_at_known_site(TaskId(number)) {
                STEP.before.set(Some(Before::Memory(address, peek(address))));
            }
            changed
        }
        O::Write | O::Update => changed,
        // A handler or a cancellation runs instead of the operation.
        _ if task.alerts.get() != 0 => changed,
        O::SemTryWait | O::SemTimedWait => unless(would_succeed()),
        O::TryLock | O::TryReadLock | O::TryWriteLock | O::SpinTryLock if would_succeed() => {
            Effect::Acquired { lock: object, tried: true }
        }
        O::TimedLock | O::TimedReadLock if would_succeed() => {
            Effect::Acquired { lock: object, tried: true }
        }
        O::TryLock | O::TryReadLock | O::TryWriteLock | O::SpinTryLock => Effect::Tried(object),
        O::TimedLock | O::TimedReadLock => Effect::Tried(object),
        O::Lock | O::ReadLock | O::WriteLock | O::SpinLock => {
            Effect::Acquired { lock: object, tried: false }
        }
        O::Unlock | O::RwUnlock | O::SpinUnlock => Effect::Released(object),
        O::Wait if releases(task, world.tid(number)) => Effect::Released(task.gate().mutex()),
        // The time limit of the wait passes.
        O::TimedWake if !task.woken.get() && task.gate().mutex() != 0 => {
            Effect::Acquired { lock: task.gate().mutex(), tried: false }
        }
        // An attempt to take a lock with priority inheritance changes the futex.
        O::FutexWait => {
            STEP.before.set(Some(Before::Memory(address, peek(address))));
            changed
        }
        O::FutexWoken if !task.woken.get() => Effect::None,
        O::Transfer => unless(task.is_over()),
        O::Ready if let Some(awaited) = task.open_files.get() => {
            unless(takes || awaited.changes && task.is_over())
        }
        // The time limit of a wait for a signal passes.
        O::SignalWait if task.gate() == Gate::Open && !is_signalled(task) => Effect::None,
        _ => {
            objects.push(task.gate().mutex());
            Effect::Changed
        }
    };
    STEP.task.set(number);
    STEP.effect.set(Some(effect));
    access::watch(is_watched);
}

/// Whether the task, which is about to join another one, found before that it has not ended.
pub(crate) fn joins_in_vain(task: &Task) -> bool {
    access::take_part() && task.gate() == Gate::Open
}

/// Whether the task, which is about to join another one, would find that it has not ended.
fn tries_to_join(world: &World, task: &Task) -> bool {
    let joined = &world.tasks[task.object.get() as usize - 1];
    task.gate() == Gate::Open && joined.life() == Lifecycle::Alive
}

/// Whether the task, which is about to wait on a condition variable, releases the mutex. It does not if it
/// is cancelled there.
fn releases(task: &Task, tid: i32) -> bool {
    let mutex = task.gate().mutex();
    mutex != 0 && locks::mutex::would_release(mutex, tid)
}

/// Only tasks that wait in spin loops are left: returns the one that runs through its loop once
/// more, unrecorded, to check that it really waits. None: determine the enabled tasks again.
///
/// `enabled`: whether nothing else blocks a task.
pub(crate) fn pick_spinner(world: &World, enabled: impl Fn(&World, &Task) -> bool) -> Option<u16> {
    let next_operation = |task: TaskId| {
        let task = &world.tasks[task.index()];
        // A task may leave its loop and end, without another operation.
        let is_open = task.life() == Lifecycle::Alive && enabled(world, task);
        is_open.then(|| (task.operation.get(), atoms::own_object(task)))
    };
    let mut stalls = root().stalls.borrow();
    let tried = stalls.is_in_trial();
    let verdict = stalls.verdict(next_operation);
    match verdict {
        Verdict::Try(task) => {
            let parked = &world.tasks[task.index()];
            if !tried || task.0 != world.current.get() {
                parked.loop_site.set(u64::MAX);
            }
            if SpinDetector::may_spin_at(parked.operation.get()) {
                parked.loop_site.set(parked.loop_site.get().min(parked.site.get()));
            }
            chosen(world, task.0, &stalls);
            record::mute(true);
            access::stepped();
            if task.0 != world.current.get() {
                world.current.set(task.0);
                access::new_stretch();
                // SAFETY: the block of every living task is a thread control block of glibc's.
                unsafe { switch::set_thread_pointer(world.tasks[task.index()].block.get()) };
            }
            Some(task.0)
        }
        Verdict::Deadlock if tried => None,
        // The borrow ends first: the report asks which tasks wait in loops.
        Verdict::Deadlock => {
            drop(stalls);
            deadlock::deadlock()
        }
        Verdict::Livelock => {
            let members: Vec<u16> = stalls.spinning().map(|task| task.0).collect();
            drop(stalls);
            if external::first_wait().is_some() {
                drop(members);
                deadlock::deadlock();
            }
            let how = livelock(world, &members);
            drop(members);
            outcome::end(how)
        }
    }
}

/// The place of a loop, wherever in it the task was found to wait: the first of its sites, by address.
fn place(task: &Task) -> u64 {
    match task.loop_site.get() {
        u64::MAX => task.site.get(),
        site => site,
    }
}

/// The end of an execution in which these tasks would spin forever.
fn livelock(world: &World, members: &[u16]) -> End {
    let mut places = Vec::new();
    for number in world.alive().filter(|number| *number != members[0]) {
        let what = if members.contains(&number) { "spins" } else { "waits" };
        let task = &world.tasks[usize::from(number)];
        let site = if members.contains(&number) { place(task) } else { task.site.get() };
        places.push((format!("T{number} {what}"), site));
    }
    let detail = format!("T{} spins in a loop, and no other task can make progress", members[0]);
    let sites = members.iter().map(|&member| place(&world.tasks[usize::from(member)])).collect();
    deadlock::stuck_at(FailureKind::Livelock, members, sites, detail, places)
}

/// Whether the task waits in a spin loop for another task to change something.
pub(crate) fn is_stalled(stalls: &SpinDetector, number: u16, task: &Task) -> bool {
    // A signal handler or a cancellation may be due instead, and the wait may have ended.
    let operation = task.operation.get();
    let has_ended = || match operation {
        Operation::TimedWake | Operation::FutexWoken => task.woken.get(),
        Operation::Ready | Operation::Await => task.is_over(),
        Operation::SignalWait => is_signalled(task),
        _ => false,
    };
    stalls.is_spinning(TaskId(number))
        && SpinDetector::may_spin_at(operation)
        && !has_ended()
        && !is_answered(number, task)
}

/// Whether a signal is there for a task that waits for one with a time limit.
fn is_signalled(task: &Task) -> bool {
    pending_signals::any(task, task.limited_wait.get())
}

/// Whether the task with this number waits in a spin loop, for descriptions of tasks.
pub(crate) fn waits(number: u16) -> bool {
    // A debugger may ask at any time, also while the scheduler decides.
    let stalls = root().stalls.try_borrow();
    stalls.is_some_and(|stalls| is_stalled(&stalls, number, &world().tasks[usize::from(number)]))
}
