//! Waits for signals.

use crate::kernel::children;
use crate::kernel::signal_delivery::{answer, deliver_outside, mask_changed, take_outside_here};
use crate::primitives::cancel;
use crate::schedule::external;
use crate::state::cancellation;
use crate::state::clock;
use crate::state::pending_signals;
use crate::state::task::{ExternalWait, Gate, Interrupted};
use crate::state::world::{on_fiber, world};
use crate::steps::record;
use crate::sys::interpose::{interpose, site};
use crate::sys::real::real;
use crate::sys::signals::has_outside;
use std::ffi::{c_int, c_void};
use traces::Operation;

/// The running task is about to wait for a signal, which a child may send: whether the child was faster decides
/// nothing.
pub(super) fn await_children(site: u64) {
    if children::are_there() {
        children::give_time(has_outside);
        deliver_outside(site);
    }
}

/// Signals that a task waits for, on its stack; it also waits for any that a child sends.
struct Awaited {
    task: u16,
    signals: u64,
}

/// Whether one is there. The scheduler calls this.
fn has_come(awaited: u64) -> bool {
    // SAFETY: the address is that of an `Awaited` on the stack of a task that is parked in `wait`.
    let awaited = unsafe { &*(awaited as *const Awaited) };
    has_outside()
        || pending_signals::any(&world().tasks[usize::from(awaited.task)], awaited.signals)
}

/// Waits at `gate` until one of these signals is pending or a handler has run; false in the latter case.
fn wait(signals: u64, gate: Gate, site: u64) -> bool {
    let task = world().task();
    loop {
        let outside = children::are_there() && gate != Gate::Open;
        let awaited = Awaited { task: world().current.get(), signals };
        let from_children = ExternalWait::new(has_come, &raw const awaited as u64);
        task.interrupts.set(Interrupted::Always);
        match outside {
            true => external::wait(|| {
                let gate = Gate::Ready(from_children.address());
                cancel::point(Operation::SignalWait, 0, site, gate);
            }),
            false => cancel::point(Operation::SignalWait, 0, site, gate),
        }
        task.interrupts.set(Interrupted::Never);
        if task.interrupted.replace(false) {
            return false;
        }
        if cancellation::is_at_point(task) && cancellation::is_due() {
            return true;
        }
        if outside && take_outside_here(site) != Interrupted::Never {
            return false;
        }
        if !outside || pending_signals::any(task, signals) {
            return true;
        }
    }
}

/// `sigtimedwait`: waits until one of the signals of `set` is pending, and takes it. With a time
/// limit the task is always enabled.
pub(crate) fn wait_for(set: u64, info: u64, timeout: u64, site: u64) -> i64 {
    if timeout != 0 && !clock::is_span(timeout) {
        return -i64::from(libc::EINVAL);
    }
    await_children(site);
    let task = world().task();
    let gate = if timeout == 0 { Gate::Signalled(set) } else { Gate::Open };
    let until = match timeout {
        0 => 0,
        _ => clock::now().saturating_add(clock::nanoseconds(timeout)),
    };
    if timeout != 0 {
        clock::limit_monotonic(until);
        task.limited_wait.set(set);
    }
    let has_come = wait(set, gate, site);
    cancel::act_if_due();
    if !has_come {
        return -i64::from(libc::EINTR);
    }
    if let Some((signal, information)) = pending_signals::take_any(set) {
        if info != 0 {
            // SAFETY: the caller of `sigtimedwait` passes a valid `siginfo_t` or null.
            unsafe { information.write(signal, info) };
        }
        record::value(signal as u64);
        return i64::from(signal);
    }
    if timeout != 0 {
        clock::reach_monotonic(until);
    }
    record::value(libc::EAGAIN as u64);
    -i64::from(libc::EAGAIN)
}

/// `sigsuspend`, and `pause` with the current mask: waits with this mask until a handler has run.
pub(crate) fn suspend(mask: u64, site: u64) -> i64 {
    await_children(site);
    let task = world().task();
    let before = task.mask.replace(mask);
    let outside = task.masked_outside.replace(before);
    if mask_changed() != Interrupted::Never {
        // A signal that the old mask blocked ends the wait before it begins.
        task.mask.set(before);
        task.masked_outside.set(outside);
        mask_changed();
        return -i64::from(libc::EINTR);
    }
    wait(0, Gate::NEVER, site);
    task.mask.set(before);
    task.masked_outside.set(outside);
    cancel::act_if_due();
    mask_changed();
    -i64::from(libc::EINTR)
}

/// glibc reports `SI_USER` from these functions for both `kill` and `pthread_kill`.
fn with_glibc_code(answer: i64, info: u64) -> i64 {
    if answer > 0 && info != 0 {
        // SAFETY: the wait succeeded, so `info` is the program's `siginfo_t`, which `wait_for`
        // filled in.
        unsafe {
            let code = (info as *mut i32).add(2);
            if *code == libc::SI_TKILL {
                *code = libc::SI_USER;
            }
        }
    }
    answer
}

/// The first word of a `sigset_t`; Linux uses no more.
fn set_at(set: *const c_void) -> u64 {
    // SAFETY: callers of the interposed functions pass a valid `sigset_t`.
    unsafe { *set.cast::<u64>() }
}

interpose! {
    fn sigwait(set: *const c_void, signal: *mut c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sigwait(set, signal)
                as fn(*const c_void, *mut c_int) -> c_int) };
        }
        loop {
            // `sigwait` never returns `EINTR` (POSIX).
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
        answer(with_glibc_code(wait_for(set_at(set), info, 0, site()), info))
    }

    fn sigtimedwait(set: *const c_void, info: u64, timeout: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(sigtimedwait(set, info, timeout)
                as fn(*const c_void, u64, u64) -> c_int) };
        }
        answer(with_glibc_code(wait_for(set_at(set), info, timeout, site()), info))
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
