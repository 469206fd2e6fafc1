//! Signals from task to task.
//!
//! A signal for a task is pending until the task runs with it unmasked; a task that waits gets a step
//! of its own, in which the handler runs on its stack, and then waits on, or comes back from its wait
//! with `EINTR` where signal(7) says so. A signal for the process goes to main, if that does not mask
//! it, else to the first task that does not (as Linux chooses), else it stays pending.

use crate::debugger;
use crate::failure;
use crate::interpose::{interpose, site};
use crate::ledger;
use crate::models::{semaphore, set_errno, time};
use crate::real::real;
use crate::record;
use crate::scheduler::{self, point};
use crate::signals::{self, Action};
use crate::task::{Gate, Life, Task};
use crate::world::{on_fiber, world};
use std::ffi::{c_int, c_void};
use traces::{FailureKind, Operation};

const SA_NODEFER: u64 = libc::SA_NODEFER as u64;

/// Whether a wait is ended by a handler that ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interrupted {
    /// By none: it goes on.
    Never,
    /// By one that was installed without `SA_RESTART`.
    UnlessRestarted,
    /// By any.
    Always,
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn action(signal: i32) -> Action {
    if signals::is_reserved(signal) { signals::wanted(signal) } else { ledger::action(signal) }
}

/// Signals that do nothing unless they are handled.
fn is_harmless(signal: i32) -> bool {
    matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT)
}

/// What is pending and not masked, for a task.
pub(crate) fn is_wanted(task: &Task) -> bool {
    task.pending.get() & !task.mask.get() != 0
}

/// Whether a `sigwait` for these would come back.
pub(crate) fn is_pending(task: &Task, set: u64) -> bool {
    (task.pending.get() | world().pending.get()) & set != 0
}

/// Sends a signal to a task; `value` comes with it. An error number, or 0.
fn send(number: u16, signal: i32, value: u64, site: u64) -> c_int {
    if !(1..=64).contains(&signal) {
        return libc::EINVAL;
    }
    let task = &world().tasks[usize::from(number)];
    if task.life() != Life::Alive {
        return libc::ESRCH;
    }
    let acts = action(signal);
    let waited_for = matches!(task.gate(), Gate::Signalled(set) if set & bit(signal) != 0);
    if acts.handler == libc::SIG_IGN as u64 && !waited_for {
        return 0;
    }
    if acts.handler == libc::SIG_DFL as u64 && task.mask.get() & bit(signal) == 0 && !waited_for {
        if is_harmless(signal) {
            return 0;
        }
        by_default(signal, site);
    }
    task.pending.set(task.pending.get() | bit(signal));
    task.signal_value.set(value);
    alert(number);
    0
}

/// What a signal does that nobody handles.
fn by_default(signal: i32, site: u64) -> ! {
    if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
        failure::unsupported("a signal that stops the process", site);
    }
    debugger::signal(signal);
    let kind = if signal == libc::SIGABRT { FailureKind::Abort } else { FailureKind::Crash };
    let mut found = failure::found(kind, site, String::new());
    found.number = signal;
    found.key = failure::key(kind, &[site, signal as u64]);
    failure::end_here(failure::End::Failed(Box::new(found)))
}

/// A task that is parked gets a step in which it handles what is pending.
fn alert(number: u16) {
    let world = world();
    let task = &world.tasks[usize::from(number)];
    if !is_wanted(task) {
        return;
    }
    if number == world.current.get() {
        handle_all();
    } else if task.operation.get() != Operation::Start {
        // Whoever would not have waited in its call is not interrupted in it: the handler runs before.
        let object = task.object.get();
        let goes_on = match task.operation.get() {
            Operation::SemWait | Operation::SemTimedWait => semaphore::value(object) > 0,
            // A second signal, before the first was handled.
            Operation::Handler => task.alerts.get() & scheduler::ALERT_UNTOUCHED != 0,
            _ => false,
        };
        let untouched = if goes_on { scheduler::ALERT_UNTOUCHED } else { 0 };
        task.alerts.set(task.alerts.get() | scheduler::ALERT_SIGNAL | untouched);
        task.operation.set(Operation::Handler);
        task.object.set(u64::from(number) + 1);
        task.set_gate(Gate::Open);
    }
}

/// Runs the handlers of what is pending for the running task and not masked; whether a wait that is
/// interrupted in this way is to end.
pub(crate) fn handle_all() -> Interrupted {
    let task = world().task();
    let mut interrupted = Interrupted::Never;
    loop {
        let ready = task.pending.get() & !task.mask.get();
        if ready == 0 {
            return interrupted;
        }
        let signal = ready.trailing_zeros() as i32 + 1;
        task.pending.set(task.pending.get() & !bit(signal));
        let acts = action(signal);
        if acts.handler == libc::SIG_IGN as u64 {
            continue;
        }
        if acts.handler == libc::SIG_DFL as u64 {
            if !is_harmless(signal) {
                by_default(signal, task.site.get());
            }
            continue;
        }
        let restarts = acts.flags & libc::SA_RESTART as u64 != 0;
        if interrupted != Interrupted::UnlessRestarted {
            interrupted = if restarts { Interrupted::Always } else { Interrupted::UnlessRestarted };
        }
        debugger::signal(signal);
        call(signal, acts);
    }
}

/// Calls a handler as the kernel would, but for the stack, which is the task's own.
fn call(signal: i32, acts: Action) {
    let task = world().task();
    let mask = task.mask.get();
    let own = if acts.flags & SA_NODEFER != 0 { 0 } else { bit(signal) };
    task.mask.set(mask | acts.mask | own);
    let mut info = [0u64; 16];
    info[0] = signal as u64;
    // The code of a signal that a task sent (SI_TKILL), or of one with a value (SI_QUEUE).
    let value = task.signal_value.get();
    let code: i32 = if value == 0 { -6 } else { -1 };
    info[1] = u64::from(code as u32);
    info[3] = value;
    let mut context = [0u64; 128];
    // SAFETY: the program gave it as a handler of one of these types.
    unsafe {
        if acts.flags & libc::SA_SIGINFO as u64 != 0 {
            let handler: extern "C-unwind" fn(c_int, *mut u64, *mut u64) =
                std::mem::transmute(acts.handler);
            handler(signal, info.as_mut_ptr(), context.as_mut_ptr());
        } else {
            let handler: extern "C-unwind" fn(c_int) = std::mem::transmute(acts.handler);
            handler(signal);
        }
    }
    task.mask.set(mask);
}

/// Sends a signal to a task by its number, as a step; the kernel's way of answering.
pub(crate) fn send_to_task(number: u16, signal: i32, value: u64, site: u64) -> i64 {
    if signal != 0 && number != world().current.get() {
        point(Operation::Kill, u64::from(number) + 1, site, Gate::Open);
    }
    -i64::from(if signal == 0 { 0 } else { send(number, signal, value, site) })
}

/// The task that gets a signal for the process.
fn receiver(signal: i32) -> Option<u16> {
    let world = world();
    let takes = |&number: &u16| world.tasks[usize::from(number)].mask.get() & bit(signal) == 0;
    let waits = |&number: &u16| {
        let gate = world.tasks[usize::from(number)].gate();
        matches!(gate, Gate::Signalled(set) if set & bit(signal) != 0)
    };
    world.alive().find(waits).or_else(|| world.alive().find(takes))
}

/// A signal for a task arrives, as a part of the step that runs.
pub(crate) fn arrive_at(number: u16, signal: i32, value: u64, site: u64) {
    send(number, signal, value, site);
}

/// A signal for the process arrives, as a part of the step that runs.
pub(crate) fn arrive(signal: i32, value: u64, site: u64) {
    match receiver(signal) {
        Some(number) => arrive_at(number, signal, value, site),
        None => {
            let world = world();
            world.pending.set(world.pending.get() | bit(signal));
            world.task().signal_value.set(value);
        }
    }
}

/// Sends a signal to the process.
pub(crate) fn send_to_process(signal: i32, value: u64, site: u64) -> i64 {
    let world = world();
    if signal == 0 {
        return 0;
    }
    if !(1..=64).contains(&signal) {
        return -i64::from(libc::EINVAL);
    }
    match receiver(signal) {
        Some(number) => send_to_task(number, signal, value, site),
        None => {
            point(Operation::Kill, 0, site, Gate::Open);
            world.pending.set(world.pending.get() | bit(signal));
            world.task().signal_value.set(value);
            0
        }
    }
}

/// The mask of the running task has changed: what was held back arrives.
pub(crate) fn mask_changed() {
    let (world, task) = (world(), world().task());
    let arrives = world.pending.get() & !task.mask.get();
    if arrives != 0 {
        world.pending.set(world.pending.get() & !arrives);
        task.pending.set(task.pending.get() | arrives);
    }
    if is_wanted(task) {
        handle_all();
    }
}

/// What is pending for the running task.
pub(crate) fn pending() -> u64 {
    world().task().pending.get() | world().pending.get()
}

/// Waits until one of the signals of `set` is pending, and takes it: `sigtimedwait`. With a time
/// limit it may always move.
pub(crate) fn wait_for(set: u64, info: u64, timeout: u64, site: u64) -> i64 {
    let task = world().task();
    let gate = if timeout == 0 { Gate::Signalled(set) } else { Gate::Open };
    task.interrupts.set(Interrupted::Always);
    crate::models::cancel::point(Operation::SignalWait, 0, site, gate);
    task.interrupts.set(Interrupted::Never);
    crate::models::cancel::act_if_due();
    if task.interrupted.replace(false) {
        return -i64::from(libc::EINTR);
    }
    for pending in [&task.pending, &world().pending] {
        let ready = pending.get() & set;
        if ready != 0 {
            let signal = ready.trailing_zeros() as i32 + 1;
            pending.set(pending.get() & !bit(signal));
            if info != 0 {
                // SAFETY: the program's `siginfo_t`, of 128 bytes.
                unsafe {
                    let words = info as *mut u64;
                    words.write_bytes(0, 16);
                    *words = signal as u64;
                    *words.add(3) = task.signal_value.get();
                }
            }
            record::value(signal as u64);
            return i64::from(signal);
        }
    }
    if timeout != 0 {
        time::advance(time::nanoseconds(timeout));
    }
    record::value(libc::EAGAIN as u64);
    -i64::from(libc::EAGAIN)
}

/// Waits until a handler has run, with another mask: `sigsuspend`, and `pause` with the same.
pub(crate) fn suspend(mask: u64, site: u64) -> i64 {
    let task = world().task();
    let before = task.mask.replace(mask);
    mask_changed();
    task.interrupts.set(Interrupted::Always);
    task.woken.set(false);
    crate::models::cancel::point(Operation::SignalWait, 0, site, Gate::Woken);
    task.interrupts.set(Interrupted::Never);
    task.interrupted.set(false);
    task.mask.set(before);
    crate::models::cancel::act_if_due();
    mask_changed();
    -i64::from(libc::EINTR)
}

fn answer(result: i64) -> c_int {
    if result < 0 {
        set_errno(-result as c_int);
        return -1;
    }
    result as c_int
}

/// The first word of a `sigset_t`, which is all that there is.
fn set_at(set: *const c_void) -> u64 {
    // SAFETY: the program's set.
    unsafe { *set.cast::<u64>() }
}

interpose! {
    fn pthread_kill(thread: u64, signal: c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_kill(thread, signal) as fn(u64, c_int) -> c_int) };
        }
        if !(0..=64).contains(&signal) {
            return libc::EINVAL;
        }
        let Some(number) = world().by_block(thread) else { return libc::ESRCH };
        match send_to_task(number, signal, 0, site()) {
            // As glibc has it since 2.34: a thread that has ended is no error.
            gone if gone == -i64::from(libc::ESRCH) => 0,
            other => -other as c_int,
        }
    }

    fn pthread_sigqueue(thread: u64, signal: c_int, value: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_sigqueue(thread, signal, value)
                as fn(u64, c_int, u64) -> c_int) };
        }
        if !(0..=64).contains(&signal) {
            return libc::EINVAL;
        }
        let Some(number) = world().by_block(thread) else { return libc::ESRCH };
        -send_to_task(number, signal, value, site()) as c_int
    }

    fn raise(signal: c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(raise(signal) as fn(c_int) -> c_int) };
        }
        answer(send_to_task(world().current.get(), signal, 0, site()))
    }

    fn sigwait(set: *const c_void, signal: *mut c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sigwait(set, signal)
                as fn(*const c_void, *mut c_int) -> c_int) };
        }
        loop {
            // It never answers that it was interrupted (POSIX).
            match wait_for(set_at(set), 0, 0, site()) {
                taken @ 1.. => {
                    unsafe { signal.write(taken as c_int) };
                    return 0;
                }
                interrupted if interrupted == -i64::from(libc::EINTR) => {}
                error => return -error as c_int,
            }
        }
    }

    fn sigwaitinfo(set: *const c_void, info: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sigwaitinfo(set, info) as fn(*const c_void, u64) -> c_int) };
        }
        answer(wait_for(set_at(set), info, 0, site()))
    }

    fn sigtimedwait(set: *const c_void, info: u64, timeout: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sigtimedwait(set, info, timeout)
                as fn(*const c_void, u64, u64) -> c_int) };
        }
        answer(wait_for(set_at(set), info, timeout, site()))
    }

    fn sigsuspend(mask: *const c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sigsuspend(mask) as fn(*const c_void) -> c_int) };
        }
        answer(suspend(set_at(mask), site()))
    }

    fn pause() -> c_int {
        if !on_fiber() {
            return unsafe { real!(pause() as fn() -> c_int) };
        }
        answer(suspend(world().task().mask.get(), site()))
    }
}
