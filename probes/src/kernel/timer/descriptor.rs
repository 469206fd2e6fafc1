//! `timerfd_create` and its family: timers that count their expirations in a descriptor.
//!
//! The descriptor is an eventfd, which counts, and is read, polled and closed like a timer's. The
//! timer's task writes to it; a write by the program is refused, as it is for a timer.

use crate::kernel::timer::{MOST, Notice, Setup, TIMERS, as_timespec, due, remaining, set};
use crate::memory::kernel_changes;
use crate::schedule::scheduler::point;
use crate::state::clock;
use crate::state::task::Gate;
use crate::sys::raw;
use crate::sys::stops;
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

/// Whether any timer has a descriptor.
pub(crate) fn are_any() -> bool {
    let is_one = |setup: Setup| matches!(setup.notice, Notice::Descriptor(_));
    TIMERS.0.iter().any(|timer| timer.setup.get().is_some_and(is_one))
}

/// The system call `timerfd_create`.
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
    // SAFETY: passes no pointers; the flags are the same bits as those of a timer.
    let descriptor = unsafe { raw::call!(libc::SYS_eventfd2, 0, flags) };
    if descriptor >= 0 {
        let notice = Notice::Descriptor(descriptor as u64);
        TIMERS.0[number].setup.set(Some(Setup { clock, notice }));
        if !kernel_changes::opened(descriptor as u64) {
            crate::kernel::pass::leave_trace();
        }
    }
    descriptor
}

/// Resets the descriptor's count to 0.
fn drain(descriptor: u64) {
    let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLIN, revents: 0 };
    let mut counted = 0u64;
    // SAFETY: both calls write only to locals; the read does not block, as the poll said that there
    // is a count.
    unsafe {
        if raw::call!(libc::SYS_poll, &raw mut one, 1, 0) > 0 {
            stops::outside();
            raw::call!(libc::SYS_read, descriptor, &raw mut counted, 8);
        }
    }
}

/// The error for a descriptor that is no timer's.
fn none(descriptor: u64) -> i64 {
    // SAFETY: `F_GETFD` takes no pointer.
    let flags = unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFD) };
    if flags < 0 { error(libc::EBADF) } else { error(libc::EINVAL) }
}

/// Writes a timer's remaining time and interval to an `itimerspec`.
fn write_remaining(left: (u64, u64), to: u64) {
    let remaining =
        libc::itimerspec { it_interval: as_timespec(left.1), it_value: as_timespec(left.0) };
    // SAFETY: the caller of the system call passes a valid `itimerspec`.
    unsafe { (to as *mut libc::itimerspec).write(remaining) };
}

/// The system call `timerfd_settime`.
pub(crate) fn set_time(args: [u64; 6], site: u64) -> i64 {
    let [descriptor, flags, new, old, ..] = args;
    let known = libc::TFD_TIMER_ABSTIME | libc::TFD_TIMER_CANCEL_ON_SET;
    let Some((number, setup)) = of(descriptor) else { return none(descriptor) };
    let new = new as *const libc::itimerspec;
    // SAFETY: computes addresses within the program's `itimerspec`, without reading it.
    let (value, interval) =
        unsafe { (&raw const (*new).it_value as u64, &raw const (*new).it_interval as u64) };
    if flags as i32 & !known != 0 || !clock::is_span(value) || !clock::is_span(interval) {
        return error(libc::EINVAL);
    }
    point(Operation::TimerSet, 0, site, Gate::Open);
    let before = remaining(number);
    drain(descriptor);
    let absolute = flags as i32 & libc::TFD_TIMER_ABSTIME != 0;
    let failed = set(number, due(setup.clock, absolute, value), clock::nanoseconds(interval), site);
    if failed != 0 {
        return error(failed);
    }
    if old != 0 {
        write_remaining(before, old);
    }
    0
}

/// The system call `timerfd_gettime`.
pub(crate) fn get_time(args: [u64; 6], site: u64) -> i64 {
    let Some((number, _)) = of(args[0]) else { return none(args[0]) };
    point(Operation::TimerSet, 0, site, Gate::Open);
    write_remaining(remaining(number), args[1]);
    0
}

/// A descriptor is closed or replaced: deletes its timer.
pub(crate) fn closed(descriptor: u64, site: u64) {
    if let Some((number, _)) = of(descriptor) {
        set(number, 0, 0, site);
        TIMERS.0[number].setup.set(None);
    }
}
