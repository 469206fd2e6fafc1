//! `timerfd_create` and its family: a timer that counts in a descriptor how often its time was over.
//!
//! The descriptor is an eventfd, which counts, is read, waited for and closed as a timer's is; the
//! timer's task writes to it. The program cannot: a write is refused, as to a timer.

use super::{MOST, Notice, Setup, TIMERS, as_timespec, due, remaining, set};
use crate::debugger;
use crate::ledger;
use crate::models::time;
use crate::raw;
use crate::scheduler::point;
use crate::task::Gate;
use traces::Operation;

const fn error(code: i32) -> i64 {
    -(code as i64)
}

/// The timer of a descriptor.
fn of(descriptor: u64) -> Option<(usize, Setup)> {
    (1..MOST).find_map(|number| {
        let setup = TIMERS.0[number].setup.get()?;
        matches!(setup.notice, Notice::Descriptor(own) if own == descriptor)
            .then_some((number, setup))
    })
}

/// Whether a descriptor is a timer's.
pub(crate) fn is_one(descriptor: u64) -> bool {
    of(descriptor).is_some()
}

/// What is never said of a timer's descriptor: that it could be written to.
const WRITABLE: i16 = libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND;

/// Whether there is any.
pub(crate) fn are_any() -> bool {
    let is_one = |setup: Setup| matches!(setup.notice, Notice::Descriptor(_));
    TIMERS.0.iter().any(|timer| timer.setup.get().is_some_and(is_one))
}

/// Takes back what a poll said of timers that is not so; how many it found then.
pub(crate) fn correct(all: &mut [libc::pollfd], found: i64) -> i64 {
    let mut left = found;
    for one in all.iter_mut().filter(|one| one.revents & WRITABLE != 0) {
        if is_one(one.fd as u64) {
            one.revents &= !WRITABLE;
            left -= i64::from(one.revents == 0);
        }
    }
    left
}

/// `epoll_ctl`, as a system call that the program makes for a timer's descriptor: what is asked of it without
/// that it could be written to.
pub(crate) fn without_writing(event: u64) -> libc::epoll_event {
    // SAFETY: the program's.
    let mut event = unsafe { (event as *const libc::epoll_event).read_unaligned() };
    event.events &= !(WRITABLE as u32);
    event
}

/// `timerfd_create`, as a system call.
pub(crate) fn create(clock: u64, flags: u64) -> i64 {
    const ALARMS: [i32; 2] = [libc::CLOCK_REALTIME_ALARM, libc::CLOCK_BOOTTIME_ALARM];
    let clock = match clock as i32 {
        clock @ (libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME) => clock,
        clock if clock == ALARMS[0] => libc::CLOCK_REALTIME,
        clock if clock == ALARMS[1] => libc::CLOCK_BOOTTIME,
        _ => return error(libc::EINVAL),
    };
    if flags as i32 & !(libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) != 0 {
        return error(libc::EINVAL);
    }
    let free = (1..MOST).find(|&number| TIMERS.0[number].setup.get().is_none());
    let Some(number) = free else { return error(libc::EMFILE) };
    // SAFETY: a new descriptor; the flags are the same bits.
    let descriptor = unsafe { raw::call!(libc::SYS_eventfd2, 0, flags) };
    if descriptor >= 0 {
        let notice = Notice::Descriptor(descriptor as u64);
        TIMERS.0[number].setup.set(Some(Setup { clock, notice }));
        if !ledger::opened(descriptor as u64) {
            crate::syscalls::leave_trace();
        }
    }
    descriptor
}

/// Adds one to what the descriptor counts: the timer's time is over.
pub(super) fn count(descriptor: u64) {
    // A copy of the process would count in the same descriptor.
    debugger::outside();
    // SAFETY: one number; a full counter is not come to.
    unsafe { raw::call!(libc::SYS_write, descriptor, &raw const ONE, 8) };
}

static ONE: u64 = 1;

/// Forgets what was counted.
fn drain(descriptor: u64) {
    let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLIN, revents: 0 };
    let mut counted = 0u64;
    // SAFETY: asks; then a read that does not wait.
    unsafe {
        if raw::call!(libc::SYS_poll, &raw mut one, 1, 0) > 0 {
            debugger::outside();
            raw::call!(libc::SYS_read, descriptor, &raw mut counted, 8);
        }
    }
}

/// Why a descriptor is no timer's.
fn none(descriptor: u64) -> i64 {
    // SAFETY: asks for the descriptor's flags.
    let flags = unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFD) };
    if flags < 0 { error(libc::EBADF) } else { error(libc::EINVAL) }
}

/// Writes what is left of a timer to an `itimerspec`.
fn tell(left: (u64, u64), to: u64) {
    let told = libc::itimerspec { it_interval: as_timespec(left.1), it_value: as_timespec(left.0) };
    // SAFETY: the program's.
    unsafe { (to as *mut libc::itimerspec).write(told) };
}

/// `timerfd_settime`, as a system call.
pub(crate) fn set_time(args: [u64; 6], site: u64) -> i64 {
    let [descriptor, flags, new, old, ..] = args;
    let known = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
    let Some((number, setup)) = of(descriptor) else { return none(descriptor) };
    let new = new as *const libc::itimerspec;
    // SAFETY: addresses within the program's.
    let (value, interval) =
        unsafe { (&raw const (*new).it_value as u64, &raw const (*new).it_interval as u64) };
    if flags as i32 & !known != 0 || !time::is_span(value) || !time::is_span(interval) {
        return error(libc::EINVAL);
    }
    point(Operation::TimerSet, 0, site, Gate::Open);
    let before = remaining(number);
    drain(descriptor);
    let absolute = flags as i32 & libc::TFD_TIMER_ABSTIME != 0;
    let failed = set(number, due(setup.clock, absolute, value), time::nanoseconds(interval), site);
    if failed != 0 {
        return error(failed);
    }
    if old != 0 {
        tell(before, old);
    }
    0
}

/// `timerfd_gettime`, as a system call.
pub(crate) fn get_time(args: [u64; 6], site: u64) -> i64 {
    let Some((number, _)) = of(args[0]) else { return none(args[0]) };
    point(Operation::TimerSet, 0, site, Gate::Open);
    tell(remaining(number), args[1]);
    0
}

/// A descriptor is closed, or becomes another: its timer is gone.
pub(crate) fn closed(descriptor: u64, site: u64) {
    if let Some((number, _)) = of(descriptor) {
        set(number, 0, 0, site);
        TIMERS.0[number].setup.set(None);
    }
}
