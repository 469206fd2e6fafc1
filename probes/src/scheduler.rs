//! What happens at a scheduling point.
//!
//! A task comes to a point *before* it does a visible operation: it notes what it is about to do and
//! parks. The scheduler finds who may move, asks the strategy, records the choice and switches. The
//! chosen task then does its operation and runs on to its next point: that is one step.

use crate::backtrace;
use crate::channel;
use crate::debugger;
use crate::failure::{self, End};
use crate::fiber;
use crate::identity;
use crate::manager::root;
use crate::models::delivery::{self, Interrupted};
use crate::models::{cancel, file_lock, mutex, readiness, rwlock, semaphore, spin};
use crate::points;
use crate::record;
use crate::scope;
use crate::stall;
use crate::task::{Gate, Life, Task};
use crate::told;
use crate::world::{MAX_TASKS, World, world};
use search::stall::Stalls;
use search::{Decision, GiveUp, Next, Strategy, View};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Operation, TaskId};

/// The enabled tasks of the choice that is being made, kept here and not on a stack.
struct Scratch {
    enabled: [TaskId; MAX_TASKS],
    operations: [Operation; MAX_TASKS],
    tasks: [Next; MAX_TASKS],
}
struct Shared(UnsafeCell<Scratch>);
// SAFETY: there is one kernel thread, and `heddle_pick` does not call itself.
unsafe impl Sync for Shared {}
static SCRATCH: Shared = Shared(UnsafeCell::new(Scratch {
    enabled: [TaskId(0); MAX_TASKS],
    operations: [Operation::Start; MAX_TASKS],
    tasks: [NOBODY; MAX_TASKS],
}));

/// An entry of [`Scratch::tasks`] that is not in use.
const NOBODY: Next = Next {
    task: TaskId(0),
    operation: Operation::Start,
    object: 0,
    mutex: 0,
    also: 0,
    site: 0,
    value: 0,
    enabled: false,
    woken: false,
    timed: false,
    writes: false,
    preferred: false,
    cancellable: false,
    awaits: [0; 3],
    vague: false,
};

/// The mutex that a wait on a condition variable gives back or takes again, or 0.
pub(crate) fn mutex_of(task: &Task) -> u64 {
    match task.gate() {
        Gate::Releasing(mutex) | Gate::WokenMutexFree(mutex) | Gate::TimedMutexFree(mutex) => mutex,
        _ => 0,
    }
}

/// What a task that has not ended would do next, in all detail.
fn next(world: &World, number: u16) -> Next {
    let task = &world.tasks[usize::from(number)];
    let operation = task.operation.get();
    let gate = task.gate();
    let (object, site) = (task.object.get(), task.site.get());
    let of = identity::of_task(task, number == world.current.get());
    let mutex = mutex_of(task);
    let stalls = &root().stalls;
    let (awaits, all) =
        if stalls.is_awake() { stalls.awaits(TaskId(number)) } else { ([0; 3], true) };
    let value = match operation {
        Operation::SemWait | Operation::SemPost => u64::from(semaphore::value(object)),
        _ => 0,
    };
    let timed = match operation {
        Operation::TimedWake
        | Operation::SpuriousWake
        | Operation::TimedLock
        | Operation::SemTimedWait => true,
        Operation::FutexWoken | Operation::Join | Operation::WriteWake => gate == Gate::Open,
        _ => false,
    };
    let writes = match operation {
        Operation::Lock | Operation::TryLock | Operation::TimedLock => mutex::is_free(object),
        Operation::Unlock => mutex::would_release(object, world.tid(number)),
        Operation::SemTryWait | Operation::SemTimedWait => semaphore::value(object) > 0,
        Operation::ReadLock | Operation::WriteLock => {
            !rwlock::is_written_by(object, world.tid(number))
        }
        Operation::TryReadLock | Operation::TimedReadLock => rwlock::is_readable(object),
        Operation::TryWriteLock => rwlock::is_writable(object),
        Operation::TimedWriteLock => rwlock::is_writable(object) || rwlock::prefers_writers(object),
        Operation::RwUnlock => rwlock::is_written(object),
        Operation::SpinTryLock => spin::is_free(object),
        other => other.is_write(),
    };
    Next {
        mutex: identity::of(mutex),
        writes,
        value,
        timed,
        enabled: enabled(world, task) && !stall::is_stalled(stalls, number, task),
        awaits: awaits.map(identity::of),
        also: identity::of(task.second.get()),
        // Of what is done to more than two words no reduction knows all; what is known of a file is not
        // known to be the same file.
        vague: !all
            || task.several.get().1 > 2
            || task.wide.get()
            || matches!(gate, Gate::FileFree(_)),
        woken: task.woken.get(),
        cancellable: cancel::is_at_point(task),
        preferred: operation == Operation::WriteLock && rwlock::prefers_writers(object),
        ..Next::new(TaskId(number), operation, of, identity::of_code(site) ^ task.frames.get())
    }
}

/// Tells the strategy what every task stood before when the execution ended, if it wants to know.
/// The task that ran has done so already, unless all were parked.
pub(crate) fn tell_left(all_parked: bool) {
    let root = root();
    if root.detailed {
        // SAFETY: see `Shared`; no decision is being made.
        let scratch = unsafe { &mut *SCRATCH.0.get() };
        let count = nexts(world(), &mut scratch.tasks).len();
        let current = TaskId(world().current.get());
        for next in scratch.tasks[..count].iter_mut().filter(|next| next.task == current) {
            next.enabled |= !all_parked;
        }
        root.strategy.left(&scratch.tasks[..count]);
    }
}

/// [`next`] for every task that has not ended.
fn nexts<'s>(world: &World, tasks: &'s mut [Next]) -> &'s [Next] {
    let mut count = 0;
    for number in world.alive() {
        tasks[count] = next(world, number);
        count += 1;
    }
    &tasks[..count]
}

/// Announces `operation` on `object` and waits to be chosen for it. On return the task has been
/// chosen, and does the operation.
#[inline]
pub(crate) fn point(operation: Operation, object: u64, site: u64, gate: Gate) {
    let task = world().task();
    task.operation.set(operation);
    task.object.set(object);
    task.site.set(site);
    task.frames.set(if root().frames { backtrace::around() } else { 0 });
    task.set_gate(gate);
    // SAFETY: a fiber runs (interposers ask first), and the slot is its own.
    unsafe { fiber::heddle_point(task.sp.as_ptr()) }
    record::callers_if_wanted(task);
    if task.alerts.get() != 0 {
        heed_alerts(operation, object, site, gate);
    }
    if points::are_on() {
        synchronise(operation, object, gate);
    }
}

/// The running task comes to a read, which is a step: `arrive` stands before it until it is chosen, and then
/// `found` tells what there is. Whoever finds the same again and again waits.
#[inline]
pub(crate) fn look_at(
    object: u64,
    site: u64,
    found: impl FnOnce() -> u64,
    arrive: impl FnOnce(Operation),
) {
    let me = usize::from(world().current.get());
    let waits = root().alike.waits(me, site, object);
    arrive(if waits { Operation::Await } else { Operation::Read });
    root().alike.found(me, site, object, found());
}

/// A signal is to be handled.
pub(crate) const ALERT_SIGNAL: u8 = 1;
/// The task is to end where it stands.
pub(crate) const ALERT_CANCELLED: u8 = 2;
/// With [`ALERT_SIGNAL`]: that does not end its wait, since it could have gone on when it came.
pub(crate) const ALERT_UNTOUCHED: u8 = 4;

/// The running task was chosen to do something else first: that is done, and then it comes to its
/// point again, unless what it did ends its wait.
#[cold]
fn heed_alerts(operation: Operation, object: u64, site: u64, gate: Gate) {
    let task = world().task();
    loop {
        let alerts = task.alerts.replace(0);
        if alerts & ALERT_CANCELLED != 0 {
            cancel::act_if_asynchronous();
        }
        if alerts & ALERT_SIGNAL == 0 {
            return;
        }
        let interrupts = task.interrupts.replace(Interrupted::Never);
        let waits = task.waits_on.get();
        let handled = delivery::handle_all();
        task.waits_on.set(waits);
        let ends = match interrupts {
            _ if alerts & ALERT_UNTOUCHED != 0 => false,
            Interrupted::Never => false,
            Interrupted::UnlessRestarted => handled == Interrupted::UnlessRestarted,
            Interrupted::Always => handled != Interrupted::Never,
        };
        if ends {
            task.interrupted.set(true);
            return;
        }
        task.interrupts.set(interrupts);
        task.operation.set(operation);
        task.object.set(object);
        task.site.set(site);
        // The gate that it had may have been opened for it.
        let due = cancel::is_at_point(task) && cancel::is_due();
        task.set_gate(if due { cancel::opened(gate) } else { gate });
        // It waits again, and may close a circle.
        world().suspect.set(World::ALL);
        // SAFETY: as in `point`.
        unsafe { fiber::heddle_point(task.sp.as_ptr()) }
        record::callers_if_wanted(task);
    }
}

/// Tells of what the step that begins orders.
#[cold]
fn synchronise(operation: Operation, object: u64, gate: Gate) {
    use Operation as O;
    let mutex = match gate {
        Gate::Releasing(mutex) | Gate::WokenMutexFree(mutex) | Gate::TimedMutexFree(mutex) => mutex,
        _ => 0,
    };
    let succeeds = match operation {
        O::TryLock | O::TimedLock => mutex::is_free(object),
        O::SemTryWait | O::SemTimedWait => semaphore::value(object) > 0,
        O::TryReadLock | O::TimedReadLock => rwlock::is_readable(object),
        O::TryWriteLock | O::TimedWriteLock | O::WriteLock | O::WriteWake => {
            rwlock::is_writable(object)
        }
        O::SpinTryLock => spin::is_free(object),
        // Whether a writer gives it up.
        O::RwUnlock => rwlock::is_written(object),
        _ => true,
    };
    points::synchronise(operation, object, mutex, succeeds);
}

/// The same at a gate that may be closed: whoever comes to a closed one may close a circle of tasks
/// that wait for each other.
#[inline]
pub(crate) fn point_if(open: bool, operation: Operation, object: u64, site: u64, gate: Gate) {
    if !open {
        world().suspect.set(world().current.get());
    }
    point(operation, object, site, gate);
}

/// A choice that the running step has to make: a number below `of`, recorded with the step.
pub(crate) fn choose_data(of: u32) -> u32 {
    extern "C" fn ask(of: u64) -> u64 {
        u64::from(root().strategy.choose_data(of as u32))
    }
    if of < 2 {
        return 0;
    }
    let taken = fiber::on_manager(ask, u64::from(of)) as u32;
    record::data(taken, of);
    taken
}

/// Whether the wait that the running step begins is to come back with nobody having to wake its task:
/// POSIX allows that of any wait for a condition, and Linux of a futex's. A choice of each wait, as long
/// as its task has some left (`--spurious`): each task has its own, so that the choices of tasks that
/// have nothing to do with each other do not either.
pub(crate) fn comes_back_by_itself() -> bool {
    let used = &world().task().spurious;
    if used.get() >= root().spurious || choose_data(2) == 0 {
        return false;
    }
    used.set(used.get() + 1);
    true
}

/// Whether a parked task could go on.
#[inline]
pub(crate) fn enabled(world: &World, task: &Task) -> bool {
    match task.gate() {
        Gate::Open | Gate::Releasing(_) => true,
        Gate::MutexFree(mutex) | Gate::TimedMutexFree(mutex) | Gate::CeilingFree(mutex) => {
            mutex::is_free(mutex)
        }
        Gate::Readable(lock) => rwlock::is_readable(lock),
        Gate::Writable(lock) => rwlock::is_writable(lock),
        Gate::SpinFree(lock) => spin::is_free(lock),
        Gate::WokenMutexFree(mutex) => task.woken.get() && mutex::is_free(mutex),
        Gate::SemaphorePositive(semaphore) => semaphore::value(semaphore) > 0,
        Gate::Woken => task.woken.get(),
        Gate::Signalled(set) => delivery::is_pending(task, set),
        Gate::Ended(other) => {
            matches!(world.tasks[other as usize].life(), Life::Ended | Life::Reaped)
        }
        Gate::Ready(poll) => readiness::ready(poll),
        Gate::FileFree(wanted) => file_lock::is_free(wanted),
    }
}

/// Whether the last step invited others to run.
#[inline]
fn gave_way(world: &World) -> bool {
    world.last.get().gave_way(record::last_value())
}

/// How many may be chosen where the search is scoped: the running task alone where it is not to be
/// preempted. (The digest tells of all who could move, so that a replay need not know of scopes.)
#[cold]
fn only_running(world: &World, scratch: &mut Scratch, count: usize) -> usize {
    let Some(running) = world.running.get().filter(|_| !gave_way(world)) else {
        return count;
    };
    let able = scratch.enabled[..count].binary_search(&TaskId(running));
    match able {
        Ok(at)
            if told::keeps(running)
                || scope::keeps(world.tasks[usize::from(running)].site.get()) =>
        {
            scratch.enabled[0] = scratch.enabled[at];
            scratch.operations[0] = scratch.operations[at];
            1
        }
        _ => count,
    }
}

/// The decision at a point, made on the manager's stack with the parked fiber's thread pointer:
/// returns the stack pointer to go on with.
pub(crate) extern "C" fn heddle_pick() -> u64 {
    points::settle_write();
    let world = world();
    // SAFETY: see `Shared`.
    let scratch = unsafe { &mut *SCRATCH.0.get() };
    let root = root();
    let stalls = &mut root.stalls;
    if stalls.is_awake() || Stalls::matters(world.task().operation.get()) {
        stall::arrived(world, stalls);
    }
    let (mut count, mut digest);
    loop {
        (count, digest) = (0, 0);
        for number in world.alive() {
            let task = &world.tasks[usize::from(number)];
            let open = match task.closed() {
                Some(word) => word == 0,
                None => enabled(world, task),
            };
            let open = open && !stall::is_stalled(stalls, number, task);
            // Written in any case and kept if it counts: a branch here would be foretold wrongly in
            // every other step. (There is room: fewer come before than are alive.)
            scratch.enabled[count] = TaskId(number);
            scratch.operations[count] = task.operation.get();
            digest ^= if open { task.word.get() } else { 0 };
            count += usize::from(open);
        }
        if world.outside.get() > 0 && readiness::may_change(count, digest) {
            continue;
        }
        let suspect = world.suspect.get();
        if suspect != World::NOBODY {
            world.suspect.set(World::NOBODY);
            failure::check_circle(suspect);
        }
        if count > 0 {
            break;
        }
        if let Some(number) = stall::nobody(world, stalls) {
            return world.tasks[usize::from(number)].sp.get();
        }
    }
    if root.scoped && count > 1 {
        count = only_running(world, scratch, count);
    }
    let step = world.step.get();
    if step >= root.max_steps {
        failure::end(End::Cut);
    }
    let view = View {
        step,
        running: world.running.get().map(TaskId),
        yielded: gave_way(world),
        place: world.place.get(),
        enabled: &scratch.enabled[..count],
        operations: &scratch.operations[..count],
        digest,
        tasks: if root.strategy.looks() { nexts(world, &mut scratch.tasks) } else { &[] },
    };
    let chosen = match root.strategy.choose(&view) {
        Decision::Task(task) => task.0,
        Decision::GiveUp(GiveUp::Diverged(divergence)) => failure::end(End::Diverged(divergence)),
        Decision::GiveUp(GiveUp::Redundant) => failure::end(End::GivenUp),
    };
    let task = &world.tasks[usize::from(chosen)];
    if root.full {
        record::enabled_changes(view.enabled);
    }
    record::step(chosen, task, digest);
    if root.stalls.is_awake() {
        stall::chosen(world, chosen, &root.stalls);
    }
    root.note_site(task.site.get());
    world.step.set(step + 1);
    task.last_step.set(step + 1);
    world.last.set(task.operation.get());
    world.place.set(task.site.get());
    world.running.set(Some(chosen));
    let header = channel::header();
    header.heartbeat.store(root.beats + step, Relaxed);
    points::stepped();
    if chosen != world.current.get() {
        world.switches.set(world.switches.get() + 1);
        let preempted = u32::from(view.preempts(TaskId(chosen)));
        world.preemptions.set(world.preemptions.get() + preempted);
        world.current.set(chosen);
        points::new_stretch();
        header.running.store(u32::from(chosen), Relaxed);
        // SAFETY: every task has a block of the C library's.
        unsafe { fiber::set_thread_pointer(task.block.get()) };
    }
    root.changes.chosen(step + 1);
    if root.full {
        debugger::chosen(step + 1);
    }
    task.sp.get()
}
