//! Waits for other processes: the only ones in which real time passes, and no strategy observes it.

use crate::state::root::root;
use crate::state::task::{ExternalWait, Gate, Task, TaskKind};
use crate::state::upcalls;
use crate::state::world::world;
use crate::sys::channel::header;
use crate::sys::raw;
use search::{AnyStrategy, PrefixReplay};
use std::sync::atomic::Ordering::Relaxed;

/// Runs `point`, in which the task waits for something that another process may provide.
pub(crate) fn wait(point: impl FnOnce()) {
    let outside = &world().outside;
    outside.set(outside.get() + 1);
    point();
    // The gate may lead to a wait on the stack of the call, which ends now.
    world().task().set_gate(Gate::Open);
    outside.set(outside.get().saturating_sub(1));
}

/// Whether a task waits for a descriptor that another process may make ready.
pub(crate) fn is_outside(task: &Task) -> bool {
    // SAFETY: the gate has the address of a wait on the stack of the task, which is parked in it.
    matches!(task.gate(), Gate::Ready(wait) | Gate::FileFree(wait) if !unsafe { ExternalWait::is_private(wait) })
}

/// Whether a task waits for something that only this process uses, though another one could open it by its
/// name.
fn is_for_own(number: u16) -> bool {
    // SAFETY: as in `is_outside`.
    matches!(world().tasks[usize::from(number)].gate(), Gate::Ready(wait) if unsafe { ExternalWait::is_own(wait) })
}

/// Checks the waits of all tasks. A check may make the call for which its task waits, and that ends other waits.
pub(crate) fn look_for_all() {
    let world = world();
    for number in world.alive() {
        if let Gate::Ready(wait) = world.tasks[usize::from(number)].gate() {
            // SAFETY: as in `is_outside`.
            unsafe { ExternalWait::is_over(wait) };
        }
    }
}

/// Whether another process may end the wait of a task.
fn may_end(number: u16) -> bool {
    upcalls::get().waits_outside(number)
}

/// If no task is enabled, or a task may have to wait for another process, the runtime polls with this
/// pause before each poll.
const PAUSE_MILLISECONDS: u32 = 2;
const PAUSE: libc::timespec =
    libc::timespec { tv_sec: 0, tv_nsec: PAUSE_MILLISECONDS as i64 * 1_000_000 };
/// The most polls where other tasks could run: one second.
const MOST_POLLS: u32 = 500;
/// After this many waits in vain, the runtime no longer waits: the program behaves that way.
const MOST_TIMEOUTS: u32 = 8;

/// The same, where no task is enabled: one wait is enough if all are for what only this process uses.
fn most_in_vain() -> u64 {
    if first_wait().is_none() { 1 } else { 2 }
}

/// Whether a recorded execution is repeated that ended here, although it waited.
pub(crate) fn repeats_end() -> bool {
    let strategy = root().strategy.borrow();
    matches!(strategy.rest(), AnyStrategy::Follow(follow) if follow.is_over())
}

/// Whether to determine the enabled tasks again after a pause. That is so if a task waits for
/// another process, and either no task is enabled or the enabled tasks differ from those that the
/// strategy expects here: the other process may only be slower this time. (No strategy observes
/// real time. It gets the same input as before, or the difference after the last poll.)
#[cold]
pub(crate) fn may_change(count: usize, digest: u32) -> bool {
    let root = root();
    let is_unexpected = count == 0
        || root.strategy.borrow().expected_digest().is_some_and(|expected| expected != digest);
    if !is_unexpected {
        // The expected input arrived during the wait.
        root.external_polls.borrow().count = 0;
        return false;
    }
    if count == 0 && !world().alive().any(may_end) {
        // Only this process could end the waits, and it cannot.
        return false;
    }
    let most = match count {
        0 => root.outside_limit.div_ceil(PAUSE_MILLISECONDS),
        _ => MOST_POLLS,
    };
    let in_vain = &header().waits_in_vain;
    let mut polls = root.external_polls.borrow();
    let is_over = match count {
        // Forks of this process count, too. What a client does is no habit of the program.
        0 if root.together => repeats_end(),
        0 if polls.count == 0 => in_vain.load(Relaxed) >= most_in_vain() || repeats_end(),
        0 => false,
        _ => polls.timeouts >= MOST_TIMEOUTS,
    };
    if is_over || polls.count >= most {
        if polls.count >= most && count == 0 {
            in_vain.fetch_add(1, Relaxed);
        } else if polls.count >= most {
            polls.timeouts += 1;
        }
        polls.count = 0;
        return false;
    }
    polls.count += 1;
    drop(polls);
    // To the watchdog, the wait is progress: its length is limited.
    header().heartbeat.fetch_add(1, Relaxed);
    let pause = PAUSE;
    // SAFETY: the kernel only reads the local `pause`.
    unsafe { raw::call!(libc::SYS_nanosleep, &raw const pause, 0) };
    if count == 0 {
        upcalls::get().deliver_outside();
    }
    true
}

/// The program only lets time pass, while it has live clients: in real time, so that these have the time that they would
/// have. Whether one of them has done something.
#[cold]
pub(crate) fn lets_time_pass() -> bool {
    const MOST: u32 = 10;
    let is_client =
        |&number: &u16| world().tasks[usize::from(number)].kind.get() == TaskKind::Client;
    let has_news = || {
        let mut clients = world().alive().filter(is_client);
        clients.any(|number| match world().tasks[usize::from(number)].gate() {
            // SAFETY: as in `is_outside`.
            Gate::Ready(wait) => unsafe { ExternalWait::is_over(wait) },
            _ => false,
        })
    };
    let pause = PAUSE;
    for _ in 0..MOST {
        if has_news() {
            return true;
        }
        header().heartbeat.fetch_add(1, Relaxed);
        // SAFETY: the kernel only reads the local `pause`.
        unsafe { raw::call!(libc::SYS_nanosleep, &raw const pause, 0) };
    }
    false
}

/// The first task that waits for another process, and what it waits for. A wait for what only this process
/// uses is none.
pub(crate) fn first_wait() -> Option<(u16, String)> {
    let is_client =
        |number: &u16| world().tasks[usize::from(*number)].kind.get() == TaskKind::Client;
    let all = || world().alive().filter(|&number| may_end(number) && !is_for_own(number));
    // What a client does ends the waits of the others.
    let task = all().find(is_client).or_else(|| all().next())?;
    Some((task, upcalls::get().outside_wait(task)))
}

/// Whether no task waits for another process but for the live clients of a search, and these wait for data of the program.
/// Where they are recorded first, that may be their nature.
pub(crate) fn clients_wait_for_data() -> bool {
    let waits = |&number: &u16| may_end(number) && !is_for_own(number);
    let mut all = world().alive().filter(waits).peekable();
    root().together
        && all.peek().is_some()
        && all.all(|number| {
            world().tasks[usize::from(number)].kind.get() == TaskKind::Client
                && upcalls::get().client_waits(number)
        })
}

/// How long an execution waits for another process, in nanoseconds.
pub(crate) fn limit() -> u64 {
    u64::from(root().outside_limit) * 1_000_000
}
