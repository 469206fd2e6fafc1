//! The virtual clock. It advances when the program sleeps, waits out a time limit or reads it, so
//! that an execution does not depend on the speed of the machine.

use crate::state::world::world;
use std::ffi::c_int;

/// In nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// The start of the monotonic clocks: some time after a boot.
pub(crate) const MONOTONIC_START: u64 = 1_000_000 * SECOND;

/// The start of the calendar: 2026-01-01 00:00:00 UTC.
const REALTIME_START: u64 = 1_767_225_600 * SECOND;

/// Nanoseconds since the clock's start.
pub(crate) fn now() -> u64 {
    world().clock.get()
}

/// Advances the clock.
pub(crate) fn advance(nanoseconds: u64) {
    world().clock.set(now().saturating_add(nanoseconds));
}

/// Advances the clock to `when`, unless it is later already.
pub(crate) fn reach_monotonic(when: u64) {
    world().clock.set(now().max(when));
}

/// Where a clock starts, in nanoseconds since its epoch.
pub(crate) fn start(clock: c_int) -> u64 {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => REALTIME_START,
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID | ..0 => 0,
        _ => MONOTONIC_START,
    }
}

/// A time on `clock` as nanoseconds since the virtual clock's start.
pub(crate) fn since_start(clock: c_int, nanoseconds: u64) -> u64 {
    nanoseconds.saturating_sub(start(clock))
}

/// Advances the clock to the deadline at this address.
pub(crate) fn reach(clock: c_int, deadline: u64) {
    reach_monotonic(since_start(clock, nanoseconds(deadline)));
}

/// The value of the `timespec` at this address; negative times count as 0.
pub(crate) fn nanoseconds(timespec: u64) -> u64 {
    // SAFETY: the program passed the address as a `timespec` to a function that requires a valid
    // one; an invalid one faults here as it would in the C library.
    let time = unsafe { &*(timespec as *const libc::timespec) };
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64)
}

/// Whether the `timespec` at this address has a valid nanosecond part.
pub(crate) fn is_valid(timespec: u64) -> bool {
    // SAFETY: as in `nanoseconds`.
    let time = unsafe { &*(timespec as *const libc::timespec) };
    (0..SECOND as i64).contains(&time.tv_nsec)
}

/// Whether the `timespec` at this address is before the clock's epoch. Such a deadline has passed,
/// whatever its nanosecond part is, in functions that do not check that part first.
pub(crate) fn is_past(timespec: u64) -> bool {
    // SAFETY: as in `nanoseconds`.
    unsafe { (*(timespec as *const libc::timespec)).tv_sec < 0 }
}

/// Whether the `timespec` at this address is a valid duration.
pub(crate) fn is_span(timespec: u64) -> bool {
    // SAFETY: as in `nanoseconds`.
    is_valid(timespec) && unsafe { (*(timespec as *const libc::timespec)).tv_sec >= 0 }
}

/// Whether a wait may use this clock.
pub(crate) fn is_waitable(clock: c_int) -> bool {
    matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC)
}
