//! The calls that read the clock or sleep ([`crate::state::clock`]).

use crate::detect::access;
use crate::primitives::attributes;
use crate::primitives::cancel;
use crate::schedule::interrupt;
use crate::schedule::scheduler::point;
use crate::schedule::shown_times;
use crate::schedule::stall;
use crate::state::clock::{
    self, MONOTONIC_START, SECOND, is_span, nanoseconds, now, reach_monotonic, since_start, start,
};
use crate::state::task::Gate;
use crate::state::task::Interrupted;
use crate::state::world::{on_fiber, world};
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use std::ffi::{c_int, c_uint, c_void};
use traces::Operation;
use traces::points::InstrumentationGap;

/// Whether a clock's number is a descriptor's (Linux, `FD_TO_CLOCKID`).
fn is_of_descriptor(clock: c_int) -> bool {
    clock < 0 && clock & 7 == 3
}

/// Whether a clock's number is that of a thread's processor time (Linux, `CPUCLOCK_PERTHREAD`).
fn is_of_thread(clock: c_int) -> bool {
    clock < 0 && clock & 4 != 0
}

/// Whether a clock with this number exists.
fn exists(clock: c_int) -> bool {
    match clock {
        // The processor time of a thread of this process (Linux, `MAKE_THREAD_CPUCLOCK`).
        ..0 if is_of_thread(clock) => {
            clock & 3 != 3 && attributes::task_meant(!(clock >> 3) as u64).is_some()
        }
        // Of a process (`MAKE_PROCESS_CPUCLOCK`).
        ..0 => clock & 3 != 3 && attributes::process_exists(!(clock >> 3)),
        0..=7 | libc::CLOCK_TAI => true,
        // The alarm clocks exist only on machines that can be woken from suspension.
        //
        // SAFETY: `clock_getres` with a null pointer writes nothing.
        _ => unsafe { raw::call!(libc::SYS_clock_getres, clock, 0) == 0 },
    }
}

/// No memory of a program is below this address.
const LOWEST: u64 = 4096;

/// Any sleep: a yield that advances the clock. `clock` holds the clock and the flags of
/// `clock_nanosleep`. If a handler interrupts the sleep, the remaining time goes to `rest` (an
/// address, or 0). Returns as the kernel does.
pub(crate) fn sleep(request: u64, rest: u64, clock: Option<(u64, u64)>, site: u64) -> i64 {
    match clock.map(|(clock, _)| clock as c_int) {
        Some(libc::CLOCK_THREAD_CPUTIME_ID) => return -i64::from(libc::EINVAL),
        // A thread's time does not pass while it sleeps.
        Some(clock)
            if is_of_thread(clock)
                && attributes::number_meant(!(clock >> 3) as u64)
                    == Some(world().current.get()) =>
        {
            return -i64::from(libc::EINVAL);
        }
        Some(clock) if is_of_descriptor(clock) => return -i64::from(libc::EOPNOTSUPP),
        Some(clock) if !exists(clock) => {
            let wakes = matches!(clock, libc::CLOCK_REALTIME_ALARM | libc::CLOCK_BOOTTIME_ALARM);
            return -i64::from(if wakes { libc::EOPNOTSUPP } else { libc::EINVAL });
        }
        Some(
            libc::CLOCK_REALTIME_COARSE | libc::CLOCK_MONOTONIC_COARSE | libc::CLOCK_MONOTONIC_RAW,
        ) => {
            return -i64::from(libc::EOPNOTSUPP);
        }
        _ => {}
    }
    if request < LOWEST {
        return -i64::from(libc::EFAULT);
    }
    if !is_span(request) {
        return -i64::from(libc::EINVAL);
    }
    let absolute = clock.filter(|&(_, flags)| flags as i32 & libc::TIMER_ABSTIME != 0);
    let until = match absolute {
        Some((clock, _)) => since_start(clock as c_int, nanoseconds(request)),
        None => now().saturating_add(nanoseconds(request)),
    };
    let task = world().task();
    task.interrupts.set(Interrupted::Always);
    clock::limit_monotonic(until);
    cancel::point(Operation::Sleep, 0, site, Gate::Open);
    task.interrupts.set(Interrupted::Never);
    cancel::act_if_due();
    if task.interrupted.replace(false) {
        if rest != 0 && absolute.is_none() {
            let left = until.saturating_sub(now());
            // SAFETY: the caller of the sleep passes a valid `timespec` for the rest, or null.
            unsafe {
                (rest as *mut libc::timespec).write(libc::timespec {
                    tv_sec: (left / SECOND) as i64,
                    tv_nsec: (left % SECOND) as i64,
                });
            }
        }
        return -i64::from(libc::EINTR);
    }
    reach_monotonic(until);
    0
}

/// Reads a clock for a call from `caller`, if that is known.
fn read(clock: c_int, caller: Option<u64>) -> u64 {
    world().task().reads_clock.set(true);
    // A system call counts where it is served.
    if let Some(site) = caller {
        interrupt::clock_reading(site);
    }
    let time = clock::read();
    if clock::is_shown_again(time) {
        access::note_gap(InstrumentationGap::Times);
    }
    let now = start(clock) + time;
    // A loop may depend on the processor time that passes, or on what a library makes of the time.
    if start(clock) != 0 && caller.is_some_and(shown_times::are_followed) {
        stall::reads_clock();
    } else {
        stall::makes_progress();
    }
    now
}

/// The system call `clock_gettime`.
pub(crate) fn clock_gettime(clock: u64, to: u64, caller: Option<u64>) -> i64 {
    let clock = clock as c_int;
    if is_of_descriptor(clock) || !exists(clock) {
        return -i64::from(libc::EINVAL);
    }
    let now = read(clock, caller);
    // SAFETY: the caller passes a valid `timespec`; an invalid one faults here as it would in the
    // vDSO.
    unsafe {
        (to as *mut libc::timespec).write(libc::timespec {
            tv_sec: (now / SECOND) as i64,
            tv_nsec: (now % SECOND) as i64,
        });
    }
    0
}

/// The system call `gettimeofday`.
pub(crate) fn gettimeofday(to: u64, caller: Option<u64>) -> i64 {
    let now = read(libc::CLOCK_REALTIME, caller);
    if to != 0 {
        // SAFETY: the caller passes a valid `timeval` or null.
        unsafe {
            (to as *mut libc::timeval).write(libc::timeval {
                tv_sec: (now / SECOND) as i64,
                tv_usec: (now % SECOND / 1000) as i64,
            });
        }
    }
    0
}

/// The system call `time`.
pub(crate) fn time(to: u64, caller: Option<u64>) -> i64 {
    let now = (read(libc::CLOCK_REALTIME, caller) / SECOND) as i64;
    if to != 0 {
        // SAFETY: the caller passes a valid word or null.
        unsafe { (to as *mut i64).write(now) };
    }
    now
}

/// The system call `times`: all time counts as the program's user time.
pub(crate) fn times(to: u64) -> i64 {
    const TICK: u64 = SECOND / 100;
    let now = read(libc::CLOCK_MONOTONIC, None);
    if to != 0 {
        let own = ((now - MONOTONIC_START) / TICK) as i64;
        // SAFETY: the caller passes a valid `tms` or null.
        unsafe {
            (to as *mut libc::tms).write(libc::tms {
                tms_utime: own,
                tms_stime: 0,
                tms_cutime: 0,
                tms_cstime: 0,
            });
        }
    }
    (now / TICK) as i64
}

/// The system call `getrusage`: processor time as in [`times`], memory as the kernel reports it,
/// and 0 for values that differ between executions.
pub(crate) fn getrusage(who: u64, to: u64) -> i64 {
    // SAFETY: the kernel checks the program's buffer.
    let result = unsafe { raw::call!(libc::SYS_getrusage, who, to) };
    if result == 0 {
        let now = read(libc::CLOCK_PROCESS_CPUTIME_ID, None);
        // SAFETY: the kernel just wrote an `rusage` there, so it is mapped and writable.
        unsafe {
            let usage = &mut *(to as *mut libc::rusage);
            let most = usage.ru_maxrss;
            (to as *mut libc::rusage).write_bytes(0, 1);
            usage.ru_maxrss = most;
            usage.ru_utime = libc::timeval {
                tv_sec: (now / SECOND) as i64,
                tv_usec: (now % SECOND / 1000) as i64,
            };
        }
    }
    result
}

/// The system call `sysinfo`: uptime by the virtual clock, and no load.
pub(crate) fn sysinfo(to: u64) -> i64 {
    // SAFETY: the kernel checks the program's buffer.
    let result = unsafe { raw::call!(libc::SYS_sysinfo, to) };
    if result == 0 {
        // SAFETY: the kernel just wrote a `sysinfo` there, so it is mapped and writable.
        unsafe {
            let info = &mut *(to as *mut libc::sysinfo);
            info.uptime = (read(libc::CLOCK_MONOTONIC, None) / SECOND) as i64;
            info.loads = [0; 3];
            info.procs = 1;
        }
    }
    result
}

fn answer(result: i64) -> c_int {
    if result < 0 {
        set_errno(-result as c_int);
        return -1;
    }
    0
}

/// The result of a sleep, and the remaining seconds if it was interrupted.
fn sleep_for(seconds: u64, nanoseconds: u64, site: u64) -> (i64, i64) {
    let mut time = libc::timespec { tv_sec: seconds as i64, tv_nsec: nanoseconds as i64 };
    let address = &raw mut time as u64;
    (sleep(address, address, None, site), time.tv_sec)
}

interpose! {
    fn clock_gettime(clock: c_int, to: *mut libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(clock_gettime(clock, to)
                as fn(c_int, *mut libc::timespec) -> c_int) };
        }
        answer(self::clock_gettime(clock as u64, to as u64, Some(site())))
    }

    fn gettimeofday(to: *mut libc::timeval, zone: *mut c_void) -> c_int {
        if !on_fiber() {
            return unsafe { real!(gettimeofday(to, zone)
                as fn(*mut libc::timeval, *mut c_void) -> c_int) };
        }
        answer(self::gettimeofday(to as u64, Some(site())))
    }

    fn time(to: *mut i64) -> i64 {
        if !on_fiber() {
            return unsafe { real!(time(to) as fn(*mut i64) -> i64) };
        }
        self::time(to as u64, Some(site()))
    }

    fn timespec_get(to: *mut libc::timespec, base: c_int) -> c_int {
        if !on_fiber() {
            return unsafe { real!(timespec_get(to, base)
                as fn(*mut libc::timespec, c_int) -> c_int) };
        }
        const TIME_UTC: c_int = 1;
        if base != TIME_UTC {
            return 0;
        }
        self::clock_gettime(libc::CLOCK_REALTIME as u64, to as u64, Some(site()));
        base
    }

    fn nanosleep(request: *const libc::timespec, rest: *mut libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(nanosleep(request, rest)
                as fn(*const libc::timespec, *mut libc::timespec) -> c_int) };
        }
        answer(sleep(request as u64, rest as u64, None, site()))
    }

    fn clock_nanosleep(clock: c_int, flags: c_int, request: *const libc::timespec,
                       rest: *mut libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(clock_nanosleep(clock, flags, request, rest)
                as fn(c_int, c_int, *const libc::timespec, *mut libc::timespec) -> c_int) };
        }
        -sleep(request as u64, rest as u64, Some((clock as u64, flags as u64)), site()) as c_int
    }

    fn usleep(microseconds: c_uint) -> c_int {
        if !on_fiber() {
            return unsafe { real!(usleep(microseconds) as fn(c_uint) -> c_int) };
        }
        let microseconds = u64::from(microseconds);
        answer(sleep_for(microseconds / 1_000_000, microseconds % 1_000_000 * 1000, site()).0)
    }

    fn sleep(seconds: c_uint) -> c_uint {
        if !on_fiber() {
            return unsafe { real!(sleep(seconds) as fn(c_uint) -> c_uint) };
        }
        match sleep_for(u64::from(seconds), 0, site()) {
            (0, _) => 0,
            (_, left) => left as c_uint,
        }
    }

    fn thrd_sleep(request: *const libc::timespec, rest: *mut libc::timespec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(thrd_sleep(request, rest)
                as fn(*const libc::timespec, *mut libc::timespec) -> c_int) };
        }
        match self::sleep(request as u64, rest as u64, None, site()) {
            0 => 0,
            interrupted if interrupted == -i64::from(libc::EINTR) => -1,
            _ => -2,
        }
    }

    fn sched_getcpu() -> c_int {
        if !on_fiber() {
            return unsafe { real!(sched_getcpu() as fn() -> c_int) };
        }
        interrupt::call_without_step(site());
        let mut processor = 0;
        attributes::own_processor(&raw mut processor, std::ptr::null_mut());
        processor as c_int
    }

    fn getcpu(processor: *mut u32, node: *mut u32) -> c_int {
        if !on_fiber() {
            return unsafe { real!(getcpu(processor, node) as fn(*mut u32, *mut u32) -> c_int) };
        }
        interrupt::call_without_step(site());
        attributes::own_processor(processor, node);
        0
    }

    fn sched_yield() -> c_int {
        if !on_fiber() {
            return unsafe { real!(sched_yield() as fn() -> c_int) };
        }
        point(Operation::Yield, 0, site(), Gate::Open);
        0
    }

    fn pthread_yield() -> c_int {
        if !on_fiber() {
            return unsafe { real!(sched_yield() as fn() -> c_int) };
        }
        point(Operation::Yield, 0, site(), Gate::Open);
        0
    }

    fn thrd_yield() -> c_int {
        if !on_fiber() {
            return unsafe { real!(sched_yield() as fn() -> c_int) };
        }
        point(Operation::Yield, 0, site(), Gate::Open);
        0
    }
}
