//! Signals between tasks.
//!
//! A signal for a task is pending until the task runs with it unmasked. A waiting task gets a
//! separate step, in which the handler runs on its stack; then it continues to wait, or its wait
//! fails with `EINTR` as specified in signal(7). A signal for the process goes to main unless main
//! masks it, else to the first task that does not mask it (as Linux chooses); if all mask it, it
//! stays pending for the process.

use crate::detect::access;
use crate::instrument::binary::calls;
use crate::kernel::alternate_stack::{self, Delivery};
use crate::kernel::job_control;
use crate::kernel::signal_calls::{action, expect_handler, is_harmless, set_action, visit_action};
use crate::schedule::gates;
use crate::schedule::scheduler::point;
use crate::schedule::time;
use crate::state::end::End;
use crate::state::library_call::Interruption;
use crate::state::locks::semaphore;
use crate::state::outcome;
use crate::state::pending_signals::{self, Information, To};
use crate::state::root::root;
use crate::state::task::{
    ALERT_BEFORE_STEP, ALERT_SIGNAL, ALERT_UNTOUCHED, ExternalWait, Gate, Interrupted, Lifecycle,
    Task,
};
use crate::state::world::{on_fiber, world};
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use crate::sys::signals::{Action, outside, take_outside};
use crate::sys::stops;
use std::ffi::c_int;
use traces::{FailureKind, Operation};

const SA_NODEFER: u64 = libc::SA_NODEFER as u64;

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Whether a task has a pending signal that it does not mask.
pub(crate) fn is_wanted(task: &Task) -> bool {
    task.pending.get() & !task.mask.get() != 0
}

/// Whether a task is parked in a wait for a signal. (The running task is not: its gate is the one
/// of its last operation.)
fn is_waited_for(number: u16, signal: i32) -> bool {
    let world = world();
    let gate = world.tasks[usize::from(number)].gate();
    number != world.current.get() && matches!(gate, Gate::Signalled(set) if set & bit(signal) != 0)
}

/// Sends a signal to a task. An error number, or 0.
fn send(number: u16, signal: i32, information: Information, site: u64) -> c_int {
    if !(1..=64).contains(&signal) {
        return libc::EINVAL;
    }
    let task = &world().tasks[usize::from(number)];
    let acts = action(signal);
    if acts.handler != libc::SIG_IGN as u64 && acts.handler != libc::SIG_DFL as u64 {
        // Also where the task has ended: the signal may come earlier.
        expect_handler(number, signal);
    }
    if task.life() != Lifecycle::Alive {
        return libc::ESRCH;
    }
    job_control::discard_opposites(signal, site);
    let waited_for = is_waited_for(number, signal);
    if acts.handler == libc::SIG_IGN as u64 && !waited_for {
        return 0;
    }
    if acts.handler == libc::SIG_DFL as u64 && task.mask.get() & bit(signal) == 0 && !waited_for {
        if !is_harmless(signal) {
            by_default(signal, site);
        }
        return 0;
    }
    if !pending_signals::add(To::Task(number), signal, information) {
        return libc::EAGAIN;
    }
    alert(number);
    0
}

/// The default action of a signal without a handler. Returns only if that is to stop the process, which is continued at
/// once.
fn by_default(signal: i32, site: u64) {
    if job_control::is_stop(signal) {
        job_control::report_stop(site);
        send_to_process(libc::SIGCONT, Information::BY_PROCESS, site);
        return;
    }
    stops::signal(signal);
    let kind = if signal == libc::SIGABRT { FailureKind::Abort } else { FailureKind::Crash };
    let mut found = outcome::found(kind, site, String::new());
    found.number = signal;
    found.key = outcome::key(kind, &[site, signal as u64]);
    outcome::end_here(End::Failed(Box::new(found)))
}

/// A signal was sent to a task, which may not mask it: the running one handles it now, a parked one in a separate
/// step.
fn alert(number: u16) {
    let world = world();
    let task = &world.tasks[usize::from(number)];
    if !is_wanted(task) {
        return;
    }
    if number == world.current.get() {
        handle_all();
    } else if task.in_instruction.get() {
        task.is_signalled.set(true);
    } else {
        interpose_handler(number);
    }
}

/// The running task is about to park, for the first time since a signal came within an instruction that it
/// executed.
pub(crate) fn park_signalled() {
    let task = world().task();
    if !task.in_instruction.get() && task.is_signalled.replace(false) && is_wanted(task) {
        interpose_handler(world().current.get());
    }
}

/// The running task is about to wait in a call. Signals that only the call unmasks may have come before, for the task
/// or for the process.
pub(super) fn call_begins() {
    take_from_process();
    if is_wanted(world().task()) {
        interpose_handler(world().current.get());
    }
}

/// If a signal came within an instruction that the running task has executed, and it has not parked since: handles it
/// in a separate step.
pub(crate) fn handle_signalled(site: u64) {
    let task = world().task();
    if task.is_signalled.replace(false) && is_wanted(task) {
        point(Operation::Handler, u64::from(world().current.get()) + 1, site, Gate::Open);
        let before = time::begin_handler();
        handle_all();
        time::continue_after_handler(before);
    }
}

/// Gives a task that is parked, or about to park, a step before the one that it is to take, in which it handles its
/// pending signals.
fn interpose_handler(number: u16) {
    let world = world();
    let task = &world.tasks[usize::from(number)];
    if task.operation.get() != Operation::Start {
        // A task that is enabled in its call is not interrupted in it: the handler runs before the
        // call.
        let object = task.object.get();
        let is_enabled = match task.operation.get() {
            Operation::SemWait | Operation::SemTimedWait => semaphore::value(object) > 0,
            Operation::Ready if task.gate() == Gate::Open => {
                let wait = task.limited_wait.get();
                // SAFETY: the task is parked in the call that stored the address of its wait, on its stack, or 0.
                wait != 0 && unsafe { ExternalWait::is_over(wait) }
            }
            Operation::Ready => gates::enabled(world, task),
            // This is a second signal, before the first was handled.
            Operation::Handler => task.alerts.get() & ALERT_UNTOUCHED != 0,
            _ => false,
        };
        let untouched = if is_enabled { ALERT_UNTOUCHED } else { 0 };
        let before_step =
            if search::time::is_undelayed(task.operation.get()) { ALERT_BEFORE_STEP } else { 0 };
        task.alerts.set(task.alerts.get() | ALERT_SIGNAL | untouched | before_step);
        task.operation.set(Operation::Handler);
        task.object.set(u64::from(number) + 1);
        task.set_gate(Gate::Open);
    }
}

/// Runs the handlers of the running task's pending, unmasked signals. Returns which waits they end;
/// the first handler decides. With several signals, each handler is interrupted by the next one
/// before it begins, as the kernel sets them up.
pub(crate) fn handle_all() -> Interrupted {
    let task = world().task();
    let mut interrupted = Interrupted::Never;
    // Otherwise the program's own call caused them, such as `raise`.
    let comes_at_any_moment = task.operation.get() == Operation::Handler;
    loop {
        // The end of a handler may unmask signals that came for the process meanwhile.
        take_from_process();
        let ready = task.pending.get() & !task.mask.get();
        if ready == 0 {
            return interrupted;
        }
        let signal = ready.trailing_zeros() as i32 + 1;
        visit_action(signal, false, task.site.get());
        if !is_ready(task, signal) {
            // During this step another task took the signal, or the program set it to be ignored.
            continue;
        }
        let information = pending_signals::take(To::Task(world().current.get()), signal);
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
        if interrupted == Interrupted::Never {
            interrupted = waits_ended_by(acts);
        }
        stops::signal(signal);
        call(Delivery { signal, acts, information, comes_at_any_moment });
    }
}

/// Which waits the handler of an action ends.
fn waits_ended_by(acts: Action) -> Interrupted {
    match acts.flags & libc::SA_RESTART as u64 {
        0 => Interrupted::UnlessRestarted,
        _ => Interrupted::Always,
    }
}

fn is_ready(task: &Task, signal: i32) -> bool {
    task.pending.get() & !task.mask.get() & bit(signal) != 0
}

/// Which waits [`handle_all`] would end for the running task.
pub(crate) fn would_end() -> Interrupted {
    let task = world().task();
    let has_handler = |signal: &i32| {
        let handler = action(*signal).handler;
        is_ready(task, *signal)
            && handler != libc::SIG_IGN as u64
            && handler != libc::SIG_DFL as u64
    };
    (1..=64).find(has_handler).map_or(Interrupted::Never, |signal| waits_ended_by(action(signal)))
}

/// Whether the running task's pending signals may be handled before the call in which it waits: it does
/// not mask them outside that call.
pub(crate) fn may_come_before_call() -> bool {
    let task = world().task();
    let ready = task.pending.get() & !task.mask.get();
    // A timer's signal is not delivered before the wait. The timer runs from the call that set it, so
    // the signal would come first only if the task took longer than the timer to reach the wait.
    let of_timer = pending_signals::is_of_timer(To::Task(world().current.get()), ready);
    ready & task.masked_outside.get() == 0 && !of_timer
}

/// Calls a handler as the kernel would.
fn call(delivery: Delivery) {
    let Delivery { signal, acts, .. } = delivery;
    let task = world().task();
    let mask = task.mask.get();
    let own = if acts.flags & SA_NODEFER != 0 { 0 } else { bit(signal) };
    task.mask.set(mask | acts.mask | own);
    if acts.flags & libc::SA_RESETHAND as u64 != 0 {
        set_action(signal, Action { handler: libc::SIG_DFL as u64, ..acts });
    }
    handle_all();
    let outer = task.handler.get();
    let interruption = Interruption::new(signal as u8);
    interruption.begin();
    enter_handler((signal as u8, (&raw const outer) as u64));
    let mask = alternate_stack::call_handler(delivery, mask);
    interruption.end();
    enter_handler(outer);
    task.mask.set(mask);
}

/// From here on the running task's accesses are those of this handler, or of none.
fn enter_handler(handler: (u8, u64)) {
    world().task().handler.set(handler);
    access::new_stretch();
    if handler.0 != 0 && access::is_in_company() {
        // A handler may access the stack and the thread-local variables of the code that it interrupts.
        root().stacks_touched.set(true);
    }
}

/// Sends a signal to a task by its number, as a step. Returns as the kernel does.
pub(crate) fn send_to_task(number: u16, signal: i32, information: Information, site: u64) -> i64 {
    if signal != 0 {
        visit_action(signal, false, site);
    }
    if signal != 0 && number != world().current.get() {
        point(Operation::Kill, u64::from(number) + 1, site, Gate::Open);
    }
    -i64::from(if signal == 0 { 0 } else { send(number, signal, information, site) })
}

/// The task that receives a signal for the process. None if all tasks block it: it is pending for the process then,
/// also if it is ignored, and the first task that waits for it takes it.
fn receiver(signal: i32) -> Option<u16> {
    let world = world();
    let takes = |&number: &u16| world.tasks[usize::from(number)].mask.get() & bit(signal) == 0;
    let waits = |&number: &u16| is_waited_for(number, signal);
    let takes_it = world.alive().find(takes)?;
    world.alive().find(waits).or(Some(takes_it))
}

/// A signal for a task arrives, as a part of the running step.
pub(crate) fn arrive_at(number: u16, signal: i32, information: Information, site: u64) {
    let is_masked = world().tasks[usize::from(number)].mask.get() & bit(signal) != 0;
    if job_control::is_stop(signal) && action(signal).handler == libc::SIG_DFL as u64 && !is_masked
    {
        // `SIGCONT` would have to be a step of the task that stops the process.
        outcome::unsupported("a signal of a timer that stops the process", site);
    }
    send(number, signal, information, site);
}

/// A signal for the process arrives, as a part of the running step.
pub(crate) fn arrive(signal: i32, information: Information, site: u64) {
    match receiver(signal) {
        Some(number) => arrive_at(number, signal, information, site),
        None => {
            pending_signals::add(To::Process, signal, information);
        }
    }
}

/// Whether the kernel discards a signal for the process whose default is to do nothing: it looks at the
/// mask of the main thread only.
fn is_discarded(signal: i32) -> bool {
    action(signal).handler == libc::SIG_DFL as u64 && world().tasks[0].mask.get() & bit(signal) == 0
}

/// Delivers the signals that the kernel or another process sent. They arrive at a moment that no choice
/// determines, so the search cannot claim every schedule.
pub(crate) fn deliver_outside(site: u64) {
    let mut signals = take_outside();
    while signals != 0 {
        let signal = signals.trailing_zeros() as i32 + 1;
        signals &= signals - 1;
        if signal == libc::SIGCHLD && is_discarded(signal) {
            continue;
        }
        calls::report_unexplored("a signal from outside", "the kernel", site);
        let of_child = || if signal == libc::SIGCHLD { Information::of_child() } else { None };
        arrive(signal, of_child().unwrap_or(Information::BY_PROCESS), site);
    }
}

/// The same where no task is enabled. Only signals that all tasks block are delivered: they are pending
/// from then on, and no handler has to run.
pub(crate) fn deliver_while_parked() {
    let (world, signals) = (world(), outside());
    let blocks = |number| signals & !world.tasks[usize::from(number)].mask.get() == 0;
    if signals != 0 && world.alive().all(blocks) {
        deliver_outside(world.task().site.get());
    }
}

/// The running task waits for signals: delivers those of other processes. Returns the same as
/// [`handle_all`].
pub(crate) fn take_outside_here(site: u64) -> Interrupted {
    let task = world().task();
    let mask = task.mask.replace(u64::MAX);
    deliver_outside(site);
    task.mask.set(mask);
    mask_changed()
}

/// Sends a signal to the process, as a step. The task that receives it is the one that may at that
/// step: while the sender was parked, others may have ended, or changed their masks.
pub(crate) fn send_to_process(signal: i32, information: Information, site: u64) -> i64 {
    if signal == 0 {
        return 0;
    }
    if !(1..=64).contains(&signal) {
        return -i64::from(libc::EINVAL);
    }
    let expected = receiver(signal);
    if expected.is_some() {
        visit_action(signal, false, site);
    }
    if expected != Some(world().current.get()) {
        point(
            Operation::Kill,
            expected.map_or(0, |number| u64::from(number) + 1),
            site,
            Gate::Open,
        );
    }
    if let Some(number) = receiver(signal) {
        return -i64::from(send(number, signal, information, site));
    }
    job_control::discard_opposites(signal, site);
    let is_added = pending_signals::add(To::Process, signal, information);
    if is_added { 0 } else { -i64::from(libc::EAGAIN) }
}

/// The mask of the running task has changed: handles signals that were blocked until now. Returns
/// the same as [`handle_all`].
pub(crate) fn mask_changed() -> Interrupted {
    take_from_process();
    if is_wanted(world().task()) { handle_all() } else { Interrupted::Never }
}

/// The running task receives the signals that are pending for the process and that it does not mask.
fn take_from_process() {
    let (world, task) = (world(), world().task());
    while world.pending.get() & !task.mask.get() != 0 {
        let signal = (world.pending.get() & !task.mask.get()).trailing_zeros() as i32 + 1;
        let information = pending_signals::take(To::Process, signal);
        pending_signals::add(To::Task(world.current.get()), signal, information);
    }
}

/// The pending signals of the running task and of the process.
pub(crate) fn pending() -> u64 {
    world().task().pending.get() | world().pending.get()
}

/// The result of a library function for that of a system call.
pub(crate) fn answer(result: i64) -> c_int {
    if result < 0 {
        set_errno(-result as c_int);
        return -1;
    }
    result as c_int
}

interpose! {
    fn pthread_kill(thread: u64, signal: c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(pthread_kill(thread, signal) as fn(u64, c_int) -> c_int) };
        }
        let Some(number) = world().by_block(thread) else { return libc::ESRCH };
        // As in glibc since 2.34: a thread that has ended is not an error, for any signal number.
        if !(0..=64).contains(&signal) {
            let alive = world().tasks[usize::from(number)].life() == Lifecycle::Alive;
            return if alive { libc::EINVAL } else { 0 };
        }
        match send_to_task(number, signal, Information::BY_TASK, site()) {
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
        -send_to_task(number, signal, Information::queued(value), site()) as c_int
    }

    fn raise(signal: c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(raise(signal) as fn(c_int) -> c_int) };
        }
        answer(send_to_task(world().current.get(), signal, Information::BY_TASK, site()))
    }
}
