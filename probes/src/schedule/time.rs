//! The scheduler's side of [`search::time`]: which expiries are due, and how clocks join.

use crate::detect::access;
use crate::state::cancellation;
use crate::state::locks::{self, rwlock};
use crate::state::pending_signals;
use crate::state::root::root;
use crate::state::task::{ALERT_LATER, ALERT_SIGNAL, ExternalWait, Gate, Lifecycle, Task};
use crate::state::time::NEVER;
use crate::state::world::{World, world};
use crate::sys::channel;
use search::PendingOperation;
use search::reduction::events::Event;
use search::time::{
    Candidate, Clocks, LONGEST, Moment, MutexWaiter, SECOND, STEPS, add_waiters, due, seconds,
};
use traces::points::InstrumentationGap;
use traces::{Operation, TaskId};

/// An execution begins.
pub(crate) fn begin() {
    root().time.borrow().clocks.begin(start());
}

/// The moment at which an execution begins in the present state.
pub(crate) fn start() -> Moment {
    Moment { clock: world().clock.get(), readings: 0 }
}

/// If the task's next step is an expiry: its deadline. It is none if the task was woken, could have
/// what it waits for, or has to handle a signal or a cancellation. A step with which the task has taken a second is
/// an expiry as well: so a loop that polls gets no further ahead of other tasks than the slack. `own` is the task's
/// clock, and `steps` the number of its steps with the next one.
fn expiry(world: &World, task: &Task, own: u64, steps: u32) -> Option<u64> {
    use Operation as O;
    let deadline = task.deadline.get();
    let is_cancelled = cancellation::is_at_point(task) && cancellation::is_due_for(task);
    if task.alerts.get() != 0 || is_cancelled {
        return None;
    }
    if deadline == NEVER {
        return (steps >= STEPS).then(|| own.saturating_add(SECOND));
    }
    let (object, wait) = (task.object.get(), task.limited_wait.get());
    let is_over = match task.operation.get() {
        O::TimedWake | O::FutexWoken => task.woken.get(),
        O::SignalWait => pending_signals::any(task, wait),
        O::Join => {
            let life = world.tasks[object as usize - 1].life();
            matches!(life, Lifecycle::Ended | Lifecycle::Reaped)
        }
        O::TimedWriteLock | O::WriteWake => rwlock::is_writable(object),
        // SAFETY: a wait for descriptors stored the address of its wait, on the stack of the task,
        // which is parked in it; sleeps stored 0.
        O::Sleep | O::Ready => wait != 0 && unsafe { ExternalWait::is_over(wait) },
        other => locks::would_succeed(other, object, task.gate().is_of_word()).unwrap_or(false),
    };
    (!is_over).then_some(deadline)
}

/// Removes the tasks that have to wait for their deadline from the enabled ones; returns the number
/// that is left, the new digest, and how many of the next steps are expiries. The tasks of these are
/// in `expiries`, the earliest first. `next` returns a task's pending operation.
#[cold]
pub(crate) fn restrict(
    world: &World,
    enabled: &mut [TaskId],
    operations: &mut [Operation],
    expiries: &mut [TaskId],
    digest: u32,
    next: impl Fn(u16) -> PendingOperation,
) -> (usize, u32, usize) {
    let root = root();
    let mut time = root.time.borrow();
    let time = &mut *time;
    for number in world.alive() {
        world.tasks[usize::from(number)].not_due.set(false);
    }
    time.candidates.clear();
    let mut any = false;
    for &task in enabled.iter() {
        let own = time.clocks.of(task).clock;
        let state = &world.tasks[task.index()];
        let expires = expiry(world, state, own, state.steps.get() + 1);
        any |= expires.is_some();
        time.candidates.push(if time.clocks.differ() {
            let of = (task, state.operation.get());
            Candidate::new(&mut time.clocks, of, expires, || next(task.0))
        } else {
            let at = own.max(expires.unwrap_or(0));
            Candidate { task, at, expires: expires.is_some() }
        });
    }
    let count = enabled.len();
    if !any {
        return (count, digest, 0);
    }
    if time.clocks.differ() {
        time.waiters.clear();
        let waiters = world.alive().filter_map(|number| waiter(world, number, &time.clocks, &next));
        time.waiters.extend(waiters);
        add_waiters(&mut time.candidates, &mut time.waiters);
    }
    let (mut left, mut digest) = (count, digest);
    time.first = time.candidates.iter().min_by_key(|one| one.at).copied();
    due(&mut time.candidates, root.slack, |task| {
        world.tasks[task.index()].not_due.set(true);
        left -= 1;
    });
    let due = time.candidates.len();
    for (to, one) in expiries.iter_mut().zip(&time.candidates) {
        *to = one.task;
    }
    if left == count {
        return (count, digest, due);
    }
    access::note_gap(InstrumentationGap::Deadlines);
    let mut to = 0;
    for at in 0..count {
        let task = &world.tasks[enabled[at].index()];
        if task.not_due.get() {
            digest ^= task.word.get();
        } else {
            (enabled[to], operations[to]) = (enabled[at], operations[at]);
            to += 1;
        }
    }
    (left, digest, due)
}

/// The task as one that waits for a mutex, if it does.
fn waiter(
    world: &World,
    number: u16,
    clocks: &Clocks,
    next: impl Fn(u16) -> PendingOperation,
) -> Option<MutexWaiter> {
    let task = &world.tasks[usize::from(number)];
    if task.operation.get() != Operation::Lock {
        return None;
    }
    let owner = TaskId(match task.gate() {
        Gate::MutexFree(mutex) => world.by_tid(locks::mutex::owner(mutex)?)?,
        Gate::WordFree(mutex) => locks::holders::holders(mutex).next()?,
        _ => return None,
    });
    Some(MutexWaiter::new(clocks, &next(number), owner))
}

/// If the next step of the task is an expiry: a task that could have run earlier, and by how much.
/// Called before [`chosen`], where there are expiries.
pub(crate) fn late(task: TaskId) -> Option<(TaskId, u64)> {
    let time = root().time.borrow();
    let own = time.candidates.iter().find(|one| one.task == task)?;
    let first = time.first.filter(|first| first.at < own.at)?;
    Some((first.task, own.at - first.at))
}

/// The running task handles signals before what it was about to do. Returns what [`continue_after_handler`] needs.
pub(crate) fn begin_handler() -> Option<u64> {
    let id = TaskId(world().current.get());
    root().time.borrow().clocks.begin_handler(id)
}

/// No handler ended the wait of the running task, which continues with what it was about to do.
pub(crate) fn continue_after_handler(before: Option<u64>) {
    let id = TaskId(world().current.get());
    root().time.borrow().clocks.continue_after_handler(id, before);
}

/// What a task that has spent a second without a step should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// Continue: the time has passed.
    Continues,
    /// Let another task run: it has made many calls without a step other than a yield.
    Yields,
    /// The same in a step that is an expiry: the time passes with it, and not before.
    YieldsUntilThen,
}

/// The running task does what is no step, but takes time: it reads a clock, or makes a system call. (Whether a
/// loop with steps waits is the task of [`crate::schedule::stall`].)
///
/// Such a loop may wait for a time. The count is the task's own, so that independent steps still commute. If
/// `another_can_run`, a loop that reads a clock gets no further ahead of it than a task that sleeps would: else the
/// time limit of the loop would expire before a task that was never chosen.
#[inline]
pub(crate) fn spend(another_can_run: fn() -> bool) -> Spent {
    let task = world().task();
    let steps = task.steps.get() + 1;
    task.steps.set(steps);
    if steps >= STEPS { pass(another_can_run) } else { Spent::Continues }
}

#[cold]
fn pass(another_can_run: fn() -> bool) -> Spent {
    let (root, world) = (root(), world());
    let task = world.task();
    task.steps.set(0);
    let waited = task.waited.get();
    // A loop of other calls does not wait for a time: it is interrupted like any loop without a step.
    let looks = task.reads_clock.replace(false);
    if looks && waited >= LONGEST {
        return Spent::Continues;
    }
    let by = if looks { seconds(waited) } else { SECOND };
    task.waited.set(waited.saturating_add(by));
    access::note_gap(InstrumentationGap::Seconds);
    if looks {
        channel::beat();
    }
    let id = TaskId(world.current.get());
    if looks && root.slack.is_some() && another_can_run() {
        task.deadline.set(root.time.borrow().clocks.of(id).clock.saturating_add(by));
        task.limited_wait.set(0);
        world.timed.set(true);
        return Spent::YieldsUntilThen;
    }
    if root.slack.is_some() {
        let mut time = root.time.borrow();
        time.clocks.age(id, by, world.alive_len.get() == 1);
        world.timed.set(true);
        world.clock.set(world.clock.get().max(time.clocks.of(id).now()));
    } else {
        world.clock.set(world.clock.get().saturating_add(by));
    }
    if waited > 0 { Spent::Yields } else { Spent::Continues }
}

/// The task was chosen: its clock rises if the step is an expiry, or its steps have taken a second,
/// and joins the clocks of what the step depends on.
#[cold]
pub(crate) fn chosen(world: &World, number: u16, next: impl FnOnce() -> PendingOperation) {
    let (task, id) = (&world.tasks[usize::from(number)], TaskId(number));
    let mut time = root().time.borrow();
    let clocks = &mut time.clocks;
    let before = clocks.of(id).clock;
    let expires = expiry(world, task, before, task.steps.get());
    if expires.is_some() && task.deadline.get() == NEVER {
        access::note_gap(InstrumentationGap::Seconds);
    } else if expires.is_some() {
        let expiries = &world.allowance.expiries;
        expiries.set(expiries.get() + 1);
    }
    let alone = world.alive_len.get() == 1;
    clocks.leave(id, task.operation.get());
    if clocks.differ() || expires.is_some() && !alone {
        clocks.step(&Event::new(&next(), 0), expires);
        clocks.forget(world.alive().map(TaskId));
    } else if let Some(deadline) = expires {
        clocks.raise(id, deadline, alone);
    }
    if expires.is_some() && clocks.of(id).clock > before {
        task.steps.set(0);
    } else if task.steps.get() >= STEPS {
        task.steps.set(0);
        clocks.age(id, SECOND, alone);
        world.timed.set(true);
        access::note_gap(InstrumentationGap::Seconds);
    }
    if task.steps.get() + 1 >= STEPS {
        world.timed.set(true);
    }
    let now = clocks.of(id);
    world.clock.set(world.clock.get().max(now.now()));
    let alerts = task.alerts.get();
    if alerts == 0 {
        task.deadline.set(NEVER);
    } else if alerts & ALERT_SIGNAL != 0
        && root().slack.is_some_and(|slack| now.clock - before > slack)
    {
        task.alerts.set(alerts | ALERT_LATER);
    }
}
