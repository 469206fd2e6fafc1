//! A scheduling point: which tasks are enabled, which one the strategy chooses, the record, the
//! switch.
//!
//! A task reaches a point *before* it executes a visible operation: it records the operation in its
//! `Task` and parks. The scheduler determines the enabled tasks, asks the strategy, records the
//! choice and switches. The chosen task then executes its operation and runs on to its next point:
//! that is one step.

use crate::detect::access;
use crate::fiber::switch;
use crate::schedule::deadlock;
use crate::schedule::external;
use crate::schedule::gates::{enabled, release};
use crate::schedule::pending::{PendingTasks, next};
use crate::schedule::predicates;
use crate::schedule::prefix_steps;
use crate::schedule::program_predicates;
use crate::schedule::scope;
use crate::schedule::stall;
use crate::schedule::start_point;
use crate::schedule::step_limit;
use crate::schedule::time;
use crate::state::clients::{self, Rest};
use crate::state::end::End;
use crate::state::locks::{self, rwlock};
use crate::state::outcome;
use crate::state::root::root;
use crate::state::start_point as before;
use crate::state::task::{Gate, TaskKind};
use crate::state::time::NEVER;
use crate::state::upcalls;
use crate::state::world::{MAX_TASKS, World, world};
use crate::steps::declarations;
use crate::steps::identity;
use crate::steps::record;
use crate::sys::channel;
use crate::sys::raw;
use crate::sys::stops;
use search::reduction::pending::Harness;
use search::spin::SpinDetector;
use search::{Decision, GiveUp, PendingOperation, Reduction, Strategy, View};
use std::cell::UnsafeCell;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::stopped;
use traces::{Operation, TaskId};

/// The enabled tasks of the current decision. Static, because it is large and would otherwise have
/// to be initialised on a stack in each step.
struct Scratch {
    enabled: [TaskId; MAX_TASKS],
    operations: [Operation; MAX_TASKS],
    expiries: [TaskId; MAX_TASKS],
    pending: PendingTasks,
}
struct Shared(UnsafeCell<Scratch>);
// SAFETY: the controlled process has one kernel thread, and only `heddle_pick` and `report_pending`
// borrow the contents. `heddle_pick` is not reentrant and calls nothing that borrows them; the
// manager calls `report_pending` between executions, when no decision is in progress. So at most
// one `&mut` to them exists at any time.
unsafe impl Sync for Shared {}
static SCRATCH: Shared = Shared(UnsafeCell::new(Scratch {
    enabled: [TaskId(0); MAX_TASKS],
    operations: [Operation::Start; MAX_TASKS],
    expiries: [TaskId(0); MAX_TASKS],
    pending: PendingTasks::new(),
}));

/// Reports to the strategy the operation at which each task was when the execution ended, if the
/// strategy asks for it. The running task has executed its operation already, unless all tasks were
/// parked.
pub(crate) fn report_pending(all_parked: bool) {
    let root = root();
    if root.detailed.get() {
        // SAFETY: see `Shared`: the manager calls this between executions, when `heddle_pick` does
        // not run.
        let scratch = unsafe { &mut *SCRATCH.0.get() };
        let pending = scratch.pending.collect(world());
        let current = TaskId(world().current.get());
        for next in pending.iter_mut().filter(|next| next.task == current) {
            next.enabled |= !all_parked;
        }
        root.strategy.borrow().pending_at_end(pending);
        scratch.pending.clear();
    }
}

/// Drops the operations of the last decision. Their lists are in the heap that processes share: a forked
/// child would drop its copy, too, and free them once more.
pub(crate) fn forget_pending() {
    // SAFETY: see `Shared`: the manager calls this between executions, when `heddle_pick` does not
    // run.
    unsafe { (*SCRATCH.0.get()).pending.clear() };
}

/// Announces `operation` on `object` and parks until the scheduler chooses this task for it. After
/// the return the caller executes the operation.
#[inline]
pub(crate) fn point(operation: Operation, object: u64, site: u64, gate: Gate) {
    let task = world().task();
    task.operation.set(operation);
    task.object.set(object);
    task.site.set(site);
    task.frames.set(if root().frames.get() { identity::around() } else { 0 });
    if root().scoped.get() {
        scope::note_caller(task);
    }
    task.set_gate(gate);
    if task.is_signalled.get() {
        upcalls::get().task_parks_signalled();
    }
    predicates::follows(task, operation);
    // SAFETY: the caller runs on a fiber (interposers check `on_fiber` first), and the slot for the
    // stack pointer belongs to the running task.
    unsafe { switch::heddle_point(task.sp.as_ptr()) }
    predicates::executes(task, operation);
    record::callers_if_wanted(task);
    if task.alerts.get() != 0 {
        upcalls::get().task_alerted(operation, object, site, gate);
    }
    if access::are_on() {
        synchronise(operation, object, gate);
    }
}

/// A read by the running task that is a separate step: `arrive` parks until the task is chosen,
/// and `found` then returns the value that was read. A task that reads the same value again and
/// again at one site waits there (`Await`) until another task changes the object.
#[inline]
pub(crate) fn read_step(
    object: u64,
    site: u64,
    found: impl FnOnce() -> u64,
    arrive: impl FnOnce(Operation),
) {
    let me = usize::from(world().current.get());
    let waits = root().alike.borrow().waits(me, site, object);
    arrive(if waits { Operation::Await } else { Operation::Read });
    root().alike.borrow().found(me, site, object, found());
}

/// Updates the vector clocks for the step that begins.
#[cold]
fn synchronise(operation: Operation, object: u64, gate: Gate) {
    use Operation as O;
    let mutex = gate.mutex();
    let succeeds = match operation {
        O::TimedWriteLock | O::WriteLock | O::WriteWake => rwlock::is_writable(object),
        // A release by a writer, as opposed to one by a reader.
        O::RwUnlock => rwlock::is_written(object),
        _ => locks::would_succeed(operation, object, gate.is_of_word()).unwrap_or(true),
    };
    access::synchronise(operation, object, mutex, succeeds);
}

/// Like [`point`], where the gate may be closed. A task that arrives at a closed gate may close a
/// cycle of tasks that wait for each other, so the scheduler checks for one.
#[inline]
pub(crate) fn point_if(open: bool, operation: Operation, object: u64, site: u64, gate: Gate) {
    if !open {
        world().suspect.set(world().current.get());
    }
    point(operation, object, site, gate);
}

/// A step that initialises an object: while no other task exists it cannot be observed, and is none.
pub(crate) fn initialise(operation: Operation, object: u64, site: u64) {
    if world().alive().nth(1).is_some() {
        point(operation, object, site, Gate::Open);
    }
}

/// A data choice of the running step: a number below `of`, recorded with the step.
pub(crate) fn choose_data(of: u32) -> u32 {
    extern "C" fn ask(of: u64) -> u64 {
        u64::from(root().strategy.borrow().choose_data(of as u32))
    }
    if of < 2 {
        return 0;
    }
    let taken = match start_point::has_one_schedule() {
        true => 0,
        false => switch::on_manager(ask, u64::from(of)) as u32,
    };
    record::data(taken, of);
    taken
}

/// Whether the wait that the running step begins ends as a spurious wakeup. POSIX permits that for
/// waits on condition variables, and Linux for futex waits. Each wait is one data choice while its
/// task has spurious wakeups left (`--spurious`). The count is per task, so that the choices of
/// independent tasks stay independent.
pub(crate) fn wakes_spuriously() -> bool {
    let used = &world().task().spurious;
    if used.get() >= root().spurious || choose_data(2) == 0 {
        return false;
    }
    used.set(used.get() + 1);
    true
}

/// Whether the last step was a yield: a switch after it is no preemption.
#[inline]
fn yielded(world: &World) -> bool {
    world.last.get().yielded_or_timed_out(record::last_value())
}

/// The number of tasks to offer in a scoped search: only the running task if the scope forbids to
/// preempt it here. (Where only an option forbids it, the digest still covers all enabled tasks, so that a
/// replay does not need the scope.)
#[cold]
fn only_running(world: &World, scratch: &mut Scratch, count: usize) -> usize {
    let Some(running) = world.running.get().filter(|_| !yielded(world)) else {
        return count;
    };
    let position = scratch.enabled[..count].binary_search(&TaskId(running));
    match position {
        Ok(at)
            if declarations::keeps(running)
                || scope::keeps(&world.tasks[usize::from(running)])
                || scope::is_serial(running, &world.tasks[usize::from(running)]) =>
        {
            scratch.enabled[0] = scratch.enabled[at];
            scratch.operations[0] = scratch.operations[at];
            1
        }
        _ => count,
    }
}

/// Removes a test harness's main from the enabled tasks, of which it is the first, and from those whose
/// step is an expiry. Returns how many are left of both.
#[cold]
fn without_main(scratch: &mut Scratch, count: usize, expiries: usize) -> (usize, usize) {
    scratch.enabled.copy_within(1..count, 0);
    scratch.operations.copy_within(1..count, 0);
    let due = &mut scratch.expiries[..expiries];
    let Some(at) = due.iter().position(|&task| task == TaskId::MAIN) else {
        return (count - 1, expiries);
    };
    due.copy_within(at + 1.., at);
    (count - 1, expiries - 1)
}

/// Whether the step is an access to memory, and no call.
fn is_access(operation: Operation) -> bool {
    use Operation as O;
    matches!(operation, O::Read | O::Write | O::Update | O::Await)
}

/// Lets the running task pass its point, as the debugger executes a function in it that is in no
/// schedule. No other task runs meanwhile: if the task has to wait for one, the process stops for the
/// debugger.
#[cold]
fn without_choice() -> u64 {
    let world = world();
    let task = world.task();
    while !enabled(world, task) {
        stops::stop(stopped::BLOCKED);
    }
    task.sp.get()
}

/// If a client can act, the enabled tasks without those whose step is an expiry, with their digest.
#[cold]
fn clients_first(
    world: &World,
    scratch: &mut Scratch,
    count: usize,
    mut digest: u32,
    expiries: usize,
) -> (usize, u32, usize) {
    let is_client = |task: &TaskId| world.tasks[task.index()].kind.get() == TaskKind::Client;
    if !scratch.enabled[..count].iter().any(is_client) {
        return (count, digest, expiries);
    }
    let mut left = 0;
    for at in 0..count {
        let task = scratch.enabled[at];
        if scratch.expiries[..expiries].contains(&task) {
            digest ^= world.tasks[task.index()].word.get();
            continue;
        }
        scratch.enabled[left] = task;
        scratch.operations[left] = scratch.operations[at];
        left += 1;
    }
    (left, digest, 0)
}

/// The program has clients, and only waits: whether to determine the enabled tasks again. Ends the execution if
/// nothing more will happen.
#[cold]
fn rests(world: &World, enabled: &[TaskId]) -> bool {
    let waiting = enabled.iter().map(|task| {
        let of = &world.tasks[task.index()];
        (task.0, of.site.get(), of.last_step.get())
    });
    match clients::at_rest(waiting, world.clock.get()) {
        Rest::Continues => !enabled.is_empty() && clients::are_live() && external::lets_time_pass(),
        Rest::Stuck => deadlock::deadlock(),
        Rest::Over => {
            deadlock::check_circle(World::ALL);
            outcome::end(End::Passed)
        }
    }
}

/// The decision at a point. It runs on the manager's stack with the parked fiber's thread pointer,
/// and returns the stack pointer to continue with.
pub(crate) extern "C" fn heddle_pick() -> u64 {
    if stops::is_calling() {
        return without_choice();
    }
    access::settle_write();
    if predicates::are_there() {
        predicates::check();
    }
    let world = world();
    // SAFETY: see `Shared`: this function is not reentrant, and what it calls does not borrow the
    // scratch data.
    let scratch = unsafe { &mut *SCRATCH.0.get() };
    let root = root();
    let mut stalls = root.stalls.borrow();
    if stall::is_active(&stalls) || SpinDetector::may_spin_at(world.task().operation.get()) {
        stall::arrived(world, &mut stalls);
    }
    drop(stalls);
    let (mut count, mut digest, mut expiries);
    let mut has_asked_again = false;
    loop {
        (count, digest, expiries) = (0, 0, 0);
        let stalls = root.stalls.borrow();
        for number in world.alive() {
            let task = &world.tasks[usize::from(number)];
            let open = match task.closed() {
                Some(word) => word == 0,
                None => enabled(world, task),
            };
            let open = open && !stall::is_stalled(&stalls, number, task);
            // Written unconditionally, and counted only if the task is enabled: a branch here would
            // be mispredicted in every other step. (The index is in range: it is at most the number
            // of living tasks seen so far.)
            scratch.enabled[count] = TaskId(number);
            scratch.operations[count] = task.operation.get();
            digest ^= if open { task.word.get() } else { 0 };
            count += usize::from(open);
        }
        drop(stalls);
        if world.timed.get() && root.slack.is_some() {
            (count, digest, expiries) = time::restrict(
                world,
                &mut scratch.enabled[..count],
                &mut scratch.operations[..count],
                &mut scratch.expiries,
                digest,
                |task| next(world, task),
            );
        }
        if root.scope.main_last && count > 1 && scratch.enabled[0] == TaskId::MAIN {
            (count, expiries) = without_main(scratch, count, expiries);
            digest ^= world.tasks[0].word.get();
        }
        if count == 0 && world.outside.get() > 0 && !has_asked_again {
            // Before waits are taken for endless ones, the kernel answers once more.
            has_asked_again = true;
            raw::note_change();
            continue;
        }
        if count == 0 && release(world) {
            continue;
        }
        if before::is_ahead()
            && start_point::is_reached(&scratch.enabled[..count], &scratch.expiries[..expiries])
        {
            // From here on other tasks may count as waiting in loops.
            continue;
        }
        if clients::are_there() && expiries > 0 && count > expiries && clients::act_first(expiries)
        {
            (count, digest, expiries) = clients_first(world, scratch, count, digest, expiries);
        }
        if clients::are_there() && count == expiries && rests(world, &scratch.enabled[..count]) {
            continue;
        }
        let may_be_outside = world.outside.get() > 0 || stall::has_looked_outside();
        if may_be_outside && external::may_change(count, digest) {
            continue;
        }
        let suspect = world.suspect.get();
        if suspect != World::NO_TASK {
            world.suspect.set(World::NO_TASK);
            deadlock::check_circle(suspect);
        }
        if count > 0 {
            break;
        }
        if let Some(number) = stall::pick_spinner(world, enabled) {
            let task = &world.tasks[usize::from(number)];
            task.deadline.set(NEVER);
            return task.sp.get();
        }
    }
    if root.scoped.get() {
        let all = count;
        count = program_predicates::restrict(
            world,
            &mut scratch.enabled[..count],
            &mut scratch.operations[..count],
        );
        let mut is_own = count < all;
        if count > 1 {
            let left = only_running(world, scratch, count);
            is_own |= left < count && declarations::keeps(scratch.enabled[0].0);
            count = left;
        }
        // What the program itself forbids is the same in a replay.
        if is_own {
            digest = traces::enabled::digest(scratch.enabled[..count].iter().copied());
        }
    }
    let step = world.step.get();
    if step >= world.allowance.next.get() {
        step_limit::check(world, root, step);
    }
    // The next task, if the schedule is fixed up to the point at which the search begins.
    let before_start = match before::is_ahead() {
        true => start_point::next(&scratch.enabled[..count], &scratch.expiries[..expiries]),
        false => None,
    };
    let view = View {
        step,
        running: world.running.get().map(TaskId),
        yielded: yielded(world),
        site: world.place.get(),
        enabled: &scratch.enabled[..count],
        operations: &scratch.operations[..count],
        digest,
        expiries: &scratch.expiries[..expiries],
        gave_way: world.last.get() == Operation::Yield,
        tasks: if before_start.is_none() && root.strategy.borrow().needs_pending_now() {
            scratch.pending.collect(world)
        } else {
            &[]
        },
    };
    let decision = match before_start {
        Some(task) => Decision::Task(TaskId(task)),
        None => root.strategy.borrow().choose(&view),
    };
    let chosen = match decision {
        Decision::Task(task) => task.0,
        Decision::GiveUp(GiveUp::Diverged(divergence)) => outcome::end(End::Diverged(divergence)),
        Decision::GiveUp(GiveUp::Redundant) => outcome::end(End::GivenUp),
    };
    if world.notes_prefix.get() {
        prefix_steps::note(&view, chosen, || PendingOperation {
            harness: if root.scope.main_last { Harness::Main } else { Harness::None },
            ..next(world, chosen)
        });
    }
    if clients::are_there() && view.expiries.contains(&TaskId(chosen)) {
        clients::expires();
    }
    let task = &world.tasks[usize::from(chosen)];
    if root.full {
        record::enabled_changes(view.enabled);
        if expiries > 0 {
            let (preempts, late) = (view.preempts(TaskId(chosen)), time::late(TaskId(chosen)));
            let plain = View { expiries: &[], ..view };
            if late.is_some() || preempts != plain.preempts(TaskId(chosen)) {
                record::deadline(preempts, late);
            }
        }
    }
    record::step(chosen, task, digest);
    let stalls = root.stalls.borrow();
    if stall::is_active(&stalls) {
        stall::chosen(world, chosen, &stalls);
    }
    drop(stalls);
    root.note_site(task.site.get());
    world.step.set(step + 1);
    // The standard library's accesses behind the unwinding are no sign that the program caught the panic.
    if task.panic_site.get() != 0
        && task.last_step.get() <= task.panic_step.get()
        && is_access(task.operation.get())
    {
        task.panic_step.set(step + 1);
    }
    task.last_step.set(step + 1);
    if root.slack.is_some() {
        let steps = task.steps.get() + 1;
        task.steps.set(steps);
        if task.operation.get() != Operation::Yield {
            task.waited.set(0);
        }
        if world.timed.get() || steps + 1 >= search::time::STEPS {
            time::chosen(world, chosen, || next(world, chosen));
        }
    }
    world.last.set(task.operation.get());
    world.place.set(task.site.get());
    world.running.set(Some(chosen));
    let header = channel::header();
    header.heartbeat.store(root.beats.get() + step, Relaxed);
    access::stepped();
    if chosen != world.current.get() {
        world.switches.set(world.switches.get() + 1);
        let preempted = u32::from(view.preempts(TaskId(chosen)));
        world.preemptions.set(world.preemptions.get() + preempted);
        world.current.set(chosen);
        access::new_stretch();
        header.running.store(u32::from(chosen), Relaxed);
        // SAFETY: the block of every living task is a thread control block that glibc made
        // (`_dl_allocate_tls`, or main's own), and stays allocated until the task is reaped.
        unsafe { switch::set_thread_pointer(task.block.get()) };
    }
    root.changes.chosen(step + 1);
    if root.full {
        stops::chosen(step + 1);
    }
    task.sp.get()
}
