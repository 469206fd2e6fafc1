//! Virtual time, so that an execution does not depend on the speed of the machine. Every task has a
//! clock ([`search::time`]), which advances when the task sleeps, waits out a time limit or reads it.
//! If any delay is possible (`--slack inf`), all tasks have one clock in common.

use crate::state::root::root;
use crate::state::world::world;
use search::time::{Moment, READING};
use std::ffi::c_int;
use traces::TaskId;

/// In nanoseconds.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// The start of the monotonic clocks: some time after a boot.
pub(crate) const MONOTONIC_START: u64 = 1_000_000 * SECOND;

/// The start of the calendar: 2026-01-01 00:00:00 UTC.
pub(crate) const REALTIME_START: u64 = 1_767_225_600 * SECOND;

fn me() -> TaskId {
    TaskId(world().current.get())
}

fn is_alone() -> bool {
    world().alive_len.get() == 1
}

/// The time of the running task, if tasks have their own clocks.
fn moment() -> Option<Moment> {
    root().slack.map(|_| root().time.borrow().clocks.of(me()))
}

/// Nanoseconds since the clock's start, as the running task sees them.
pub(crate) fn now() -> u64 {
    moment().map_or_else(|| world().clock.get(), Moment::now)
}

/// Whether the task's time includes a reading of a clock, and its time.
pub(crate) fn shown_to(task: TaskId) -> Option<u64> {
    let _slack = root().slack?;
    let moment = root().time.borrow().clocks.of(task);
    (moment.readings > 0).then(|| moment.now())
}

/// The running task reads the clock, which takes time.
pub(crate) fn read() -> u64 {
    let world = world();
    let now = match root().slack {
        None => world.clock.get().saturating_add(READING),
        Some(_) => {
            let mut time = root().time.borrow();
            let now = time.clocks.read(me(), is_alone());
            world.timed.set(world.timed.get() || time.clocks.differ());
            now
        }
    };
    world.clock.set(world.clock.get().max(now));
    now
}

/// Whether an earlier read of a clock returned this time of a read, or a later one: then another task
/// made it, and nothing orders the two reads.
pub(crate) fn is_shown_again(time: u64) -> bool {
    let shown = &world().shown;
    root().slack.is_some() && shown.replace(shown.get().max(time)) >= time
}

/// The running task has waited until `when`, unless the clock is later already.
pub(crate) fn reach_monotonic(when: u64) {
    let world = world();
    if let Some(moment) = moment() {
        // The scheduler raised the clock when it chose the task, unless the task was not to expire.
        let deadline = moment.deadline(when);
        if deadline > moment.clock {
            let mut time = root().time.borrow();
            time.clocks.raise(me(), deadline, is_alone());
            world.timed.set(true);
        }
    }
    world.clock.set(world.clock.get().max(when));
}

/// The running task waits at its next operation, and at most until `when`.
pub(crate) fn limit_monotonic(when: u64) {
    if let Some(moment) = moment() {
        let world = world();
        world.task().deadline.set(moment.deadline(when).min(u64::MAX - 1));
        world.task().limited_wait.set(0);
        world.timed.set(true);
    }
}

/// The same, with the deadline at an address.
pub(crate) fn limit(clock: c_int, deadline: u64) {
    limit_monotonic(since_start(clock, nanoseconds(deadline)));
}

/// The running task enables another one.
pub(crate) fn enable(task: u16) {
    if world().timed.get() && root().slack.is_some() {
        root().time.borrow().clocks.enable(me(), TaskId(task));
    }
}

/// The running task creates another one.
pub(crate) fn create(task: u16) {
    if root().slack.is_some() {
        root().time.borrow().clocks.create(me(), TaskId(task), is_alone());
    }
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
