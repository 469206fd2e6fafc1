//! Timers: `timer_create` and its family, `alarm`, `setitimer`, `timerfd_create`.
//!
//! An armed timer is a separate task with one operation, its expiration. That is always enabled,
//! like the end of a sleep, and advances the clock. Its effect (a signal, a call) belongs to the
//! same step, so that none comes after the timer was disarmed.

pub(crate) mod descriptor;
mod idle;

use crate::kernel::signal_calls;
use crate::kernel::signal_delivery;
use crate::primitives::attributes::number_meant;
use crate::primitives::thread;
use crate::schedule::scheduler::point;
use crate::state::clock;
use crate::state::outcome;
use crate::state::pending_signals::Information;
use crate::state::task::{Gate, TaskKind};
use crate::state::time::NEVER;
use crate::state::world::{on_fiber, world};
use crate::sys::errno::set_errno;
use crate::sys::interpose::{interpose, site};
use crate::sys::raw;
use crate::sys::real::real;
use crate::sys::stops;
use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use traces::Operation;

/// What a timer does when it expires.
#[derive(Clone, Copy)]
enum Notice {
    Nothing,
    Process {
        signal: i32,
        value: u64,
    },
    Task {
        number: u16,
        signal: i32,
        value: u64,
    },
    Call {
        function: u64,
        value: u64,
    },
    /// Counts in a descriptor.
    Descriptor(u64),
}

#[derive(Clone, Copy)]
struct Setup {
    clock: c_int,
    notice: Notice,
}

struct Timer {
    setup: Cell<Option<Setup>>,
    /// The time at which the timer expires, on the virtual clock; 0 while it is disarmed.
    due: Cell<u64>,
    interval: Cell<u64>,
    /// How many times it was armed: the task of an earlier arming does nothing any more.
    times: Cell<u32>,
    site: Cell<u64>,
    /// The task of the last arming.
    task: Cell<u16>,
}

/// The first is the process's own, for `alarm` and `setitimer`.
const MOST: usize = 64;

struct Timers([Timer; MOST]);
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Timers {}
static TIMERS: Timers = Timers(
    [const {
        Timer {
            setup: Cell::new(None),
            due: Cell::new(0),
            interval: Cell::new(0),
            times: Cell::new(0),
            site: Cell::new(0),
            task: Cell::new(0),
        }
    }; MOST],
);

/// The kernel's times end here (`KTIME_MAX`).
fn latest(due: u64) -> u64 {
    due.min(i64::MAX as u64)
}

/// An execution begins.
pub(crate) fn clear() {
    for timer in &TIMERS.0 {
        timer.setup.set(None);
        timer.due.set(0);
        timer.interval.set(0);
        timer.times.set(0);
        timer.task.set(0);
    }
}

/// Whether the execution has no timers.
pub(crate) fn is_clear() -> bool {
    TIMERS.0.iter().all(|timer| timer.setup.get().is_none() && timer.times.get() == 0)
}

/// Whether a task is that of a timer that sends a signal for which there is a handler.
pub(crate) fn runs_handler(task: u16) -> bool {
    let own = |timer: &&Timer| timer.task.get() == task && timer.times.get() > 0;
    let setup = TIMERS.0.iter().find(own).and_then(|timer| timer.setup.get());
    match setup.map(|setup| setup.notice) {
        Some(Notice::Process { signal, .. } | Notice::Task { signal, .. }) => {
            let handler = signal_calls::action(signal).handler;
            handler != libc::SIG_DFL as u64 && handler != libc::SIG_IGN as u64
        }
        _ => false,
    }
}

/// The body of a timer's task; the argument is the timer and its [`Timer::times`].
extern "C-unwind" fn run(argument: u64) -> u64 {
    let timer = &TIMERS.0[(argument & 0xffff) as usize];
    let is_stale = || u64::from(timer.times.get()) != argument >> 16;
    let mut expirations = 0u32;
    loop {
        let site = timer.site.get();
        if !is_stale() && timer.setup.get().is_some() {
            clock::limit_monotonic(timer.due.get());
        }
        point(Operation::Timer, 0, site, Gate::Open);
        let Some(setup) = timer.setup.get().filter(|_| !is_stale()) else { return 0 };
        clock::reach_monotonic(timer.due.get());
        idle::check(expirations);
        let again = timer.interval.get();
        timer.due.set(if again > 0 { latest(timer.due.get().saturating_add(again)) } else { 0 });
        match setup.notice {
            Notice::Nothing => {}
            Notice::Process { signal, value } => {
                signal_delivery::arrive(signal, Information::of_timer(value), site)
            }
            Notice::Task { number, signal, value } => {
                signal_delivery::arrive_at(number, signal, Information::of_timer(value), site);
            }
            Notice::Descriptor(descriptor) => count(descriptor),
            Notice::Call { function, value } => {
                // SAFETY: the program passed this function for `SIGEV_THREAD`, with this type.
                unsafe {
                    std::mem::transmute::<u64, extern "C-unwind" fn(u64)>(function)(value);
                }
            }
        }
        // Whether the timer was armed again since is a matter of the next step: a callback may have ended long after
        // the expiration.
        if again == 0 {
            return 0;
        }
        expirations = expirations.saturating_add(1);
    }
}

static ONE: u64 = 1;

/// Adds one to the descriptor's count: the timer expired.
fn count(descriptor: u64) {
    // A forked copy of the process would write to the same descriptor.
    stops::outside();
    // SAFETY: the kernel reads 8 bytes from a static. The write does not block: the counter never
    // comes near its maximum.
    unsafe { raw::call!(libc::SYS_write, descriptor, &raw const ONE, 8) };
}

/// Arms a timer, or disarms it (`due` 0), as a step.
fn set(number: usize, due: u64, interval: u64, site: u64) -> c_int {
    let timer = &TIMERS.0[number];
    timer.times.set(timer.times.get() + 1);
    timer.due.set(latest(due));
    timer.interval.set(interval);
    timer.site.set(site);
    // The task of the earlier arming has nothing to wait for.
    let earlier = timer.task.replace(0);
    if earlier != 0 {
        world().tasks[usize::from(earlier)].deadline.set(NEVER);
    }
    if due == 0 {
        return 0;
    }
    let world = world();
    let argument = number as u64 | u64::from(timer.times.get()) << 16;
    let mut thread = 0;
    let start = run as *const () as u64;
    // SAFETY: the thread's id goes to a local, and null means default attributes.
    let error = unsafe { thread::create(&raw mut thread, std::ptr::null(), start, argument, site) };
    if error == 0 {
        timer.task.set(world.created.get() - 1);
        let task = &world.tasks[usize::from(timer.task.get())];
        let mut name = [0; 16];
        name[..5].copy_from_slice(b"timer");
        task.name.set(name);
        task.kind.set(TaskKind::Timer);
        task.detached.set(true);
        task.site.set(site);
        // Signals for the process must not go to this task.
        task.mask.set(u64::MAX);
    }
    error
}

/// The time until it expires, and its interval.
fn remaining(number: usize) -> (u64, u64) {
    let timer = &TIMERS.0[number];
    let left = match timer.due.get() {
        0 => 0,
        due => due.saturating_sub(clock::now()).max(1),
    };
    (left, timer.interval.get())
}

/// When a timer expires that is armed with the `timespec` at this address; 0 for never.
fn due(clock: c_int, absolute: bool, value: u64) -> u64 {
    match clock::nanoseconds(value) {
        0 => 0,
        first if absolute => clock::since_start(clock, first).max(1),
        first => clock::now().saturating_add(first),
    }
}

fn refuse(error: c_int) -> c_int {
    set_errno(error);
    -1
}

/// The timer that the program means.
fn known(timer: u64) -> Option<(usize, Setup)> {
    let number = usize::try_from(timer).ok().filter(|number| (1..MOST).contains(number))?;
    let setup = TIMERS.0[number].setup.get()?;
    (!matches!(setup.notice, Notice::Descriptor(_))).then_some((number, setup))
}

/// The notification that a `sigevent` asks for; none if it is invalid.
fn notice(event: u64, number: usize) -> Option<Notice> {
    const SIGEV_THREAD: c_int = 2;
    if event == 0 {
        return Some(Notice::Process { signal: libc::SIGALRM, value: number as u64 });
    }
    // SAFETY: the caller of `timer_create` passes a valid `sigevent` or null: a value, a signal,
    // the kind of notification; then a thread id or a function.
    let (value, signal, how, tid, function) = unsafe {
        let words = event as *const u64;
        let halves = event as *const i32;
        (*words, *halves.add(2), *halves.add(3), *halves.add(4), *words.add(2))
    };
    let is_signal = (1..=64).contains(&signal);
    match how {
        libc::SIGEV_NONE => Some(Notice::Nothing),
        libc::SIGEV_SIGNAL if is_signal => Some(Notice::Process { signal, value }),
        libc::SIGEV_THREAD_ID if is_signal => {
            let number = number_meant(tid as u64).filter(|_| tid != 0)?;
            Some(Notice::Task { number, signal, value })
        }
        SIGEV_THREAD => Some(Notice::Call { function, value }),
        _ => None,
    }
}

fn create(clock: c_int, event: u64, timer: *mut u64, site: u64) -> c_int {
    if matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID | ..0) {
        outcome::unsupported("timer_create with a processor-time clock", site);
    }
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME | libc::CLOCK_TAI => {}
        // Clocks on which nothing can wait. The alarm clocks are not tried.
        libc::CLOCK_MONOTONIC_RAW..=libc::CLOCK_BOOTTIME_ALARM => return refuse(libc::EOPNOTSUPP),
        _ => return refuse(libc::EINVAL),
    }
    let free = (1..MOST).find(|&number| TIMERS.0[number].setup.get().is_none());
    let Some(number) = free else { return refuse(libc::EAGAIN) };
    let Some(notice) = notice(event, number) else { return refuse(libc::EINVAL) };
    TIMERS.0[number].setup.set(Some(Setup { clock, notice }));
    // SAFETY: the caller of `timer_create` passes a valid pointer for the id.
    unsafe { timer.write(number as u64) };
    0
}

fn as_timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / 1_000_000_000) as i64,
        tv_nsec: (nanoseconds % 1_000_000_000) as i64,
    }
}

fn as_timeval(nanoseconds: u64) -> libc::timeval {
    let microseconds = nanoseconds.div_ceil(1000);
    libc::timeval {
        tv_sec: (microseconds / 1_000_000) as i64,
        tv_usec: (microseconds % 1_000_000) as i64,
    }
}

/// Arms the process's own timer (0: disarms it); returns what was left of it.
fn own(first: u64, interval: u64, site: u64) -> (u64, u64) {
    point(Operation::TimerSet, 0, site, Gate::Open);
    let before = remaining(0);
    let notice = Notice::Process { signal: libc::SIGALRM, value: 0 };
    TIMERS.0[0].setup.set(Some(Setup { clock: libc::CLOCK_REALTIME, notice }));
    let due = if first > 0 { clock::now().saturating_add(first) } else { 0 };
    set(0, due, interval, site);
    before
}

const SECOND: u64 = 1_000_000_000;

/// The nanoseconds of a `timeval`, if it is valid.
fn nanoseconds_of(time: libc::timeval) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let micro = u64::try_from(time.tv_usec).ok().filter(|&micro| micro < 1_000_000)?;
    Some(seconds.saturating_mul(SECOND).saturating_add(micro * 1000))
}

interpose! {
    fn timer_create(clock: c_int, event: u64, timer: *mut u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(timer_create(clock, event, timer)
                as fn(c_int, u64, *mut u64) -> c_int) };
        }
        create(clock, event, timer, site())
    }

    fn timer_settime(timer: u64, flags: c_int, new: *const libc::itimerspec,
                     old: *mut libc::itimerspec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(timer_settime(timer, flags, new, old)
                as fn(u64, c_int, *const libc::itimerspec, *mut libc::itimerspec) -> c_int) };
        }
        let site = site();
        let Some((number, setup)) = known(timer) else { return refuse(libc::EINVAL) };
        let (value, interval) = unsafe {
            (&raw const (*new).it_value as u64, &raw const (*new).it_interval as u64)
        };
        if !clock::is_span(value) || !clock::is_span(interval) {
            return refuse(libc::EINVAL);
        }
        point(Operation::TimerSet, 0, site, Gate::Open);
        let before = remaining(number);
        let due = due(setup.clock, flags & libc::TIMER_ABSTIME != 0, value);
        let error = set(number, due, clock::nanoseconds(interval), site);
        if error != 0 {
            return refuse(error);
        }
        if !old.is_null() {
            unsafe {
                (*old).it_value = as_timespec(before.0);
                (*old).it_interval = as_timespec(before.1);
            }
        }
        0
    }

    fn timer_gettime(timer: u64, to: *mut libc::itimerspec) -> c_int {
        if !on_fiber() {
            return unsafe { real!(timer_gettime(timer, to)
                as fn(u64, *mut libc::itimerspec) -> c_int) };
        }
        let site = site();
        let Some((number, _)) = known(timer) else { return refuse(libc::EINVAL) };
        point(Operation::TimerSet, 0, site, Gate::Open);
        let (left, interval) = remaining(number);
        unsafe {
            (*to).it_value = as_timespec(left);
            (*to).it_interval = as_timespec(interval);
        }
        0
    }

    fn timer_getoverrun(timer: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(timer_getoverrun(timer) as fn(u64) -> c_int) };
        }
        // Every expiration is a separate step, so there are no overruns.
        if known(timer).is_some() { 0 } else { refuse(libc::EINVAL) }
    }

    fn timer_delete(timer: u64) -> c_int {
        if !on_fiber() {
            return unsafe { real!(timer_delete(timer) as fn(u64) -> c_int) };
        }
        let site = site();
        let Some((number, _)) = known(timer) else { return refuse(libc::EINVAL) };
        point(Operation::TimerSet, 0, site, Gate::Open);
        set(number, 0, 0, site);
        TIMERS.0[number].setup.set(None);
        0
    }

    fn alarm(seconds: c_uint) -> c_uint {
        if !on_fiber() {
            return unsafe { real!(alarm(seconds) as fn(c_uint) -> c_uint) };
        }
        own(u64::from(seconds) * SECOND, 0, site()).0.div_ceil(SECOND) as c_uint
    }

    fn ualarm(first: c_uint, interval: c_uint) -> c_uint {
        if !on_fiber() {
            return unsafe { real!(ualarm(first, interval) as fn(c_uint, c_uint) -> c_uint) };
        }
        if first.max(interval) >= 1_000_000 {
            return refuse(libc::EINVAL) as c_uint;
        }
        own(u64::from(first) * 1000, u64::from(interval) * 1000, site()).0.div_ceil(1000) as c_uint
    }

    fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int {
        if !on_fiber() {
            return unsafe { real!(setitimer(which, new, old)
                as fn(c_int, *const libc::itimerval, *mut libc::itimerval) -> c_int) };
        }
        let site = site();
        if !(libc::ITIMER_REAL..=libc::ITIMER_PROF).contains(&which) {
            return refuse(libc::EINVAL);
        }
        let (value, interval) = unsafe { ((*new).it_value, (*new).it_interval) };
        let (Some(first), Some(interval)) = (nanoseconds_of(value), nanoseconds_of(interval)) else {
            return refuse(libc::EINVAL);
        };
        let before = match which {
            libc::ITIMER_REAL => own(first, interval, site),
            // A timer that was never armed may be disarmed.
            _ if first == 0 => (0, 0),
            _ => outcome::unsupported("setitimer with a processor-time clock", site),
        };
        if !old.is_null() {
            unsafe {
                (*old).it_value = as_timeval(before.0);
                (*old).it_interval = as_timeval(before.1);
            }
        }
        0
    }

    fn getitimer(which: c_int, to: *mut libc::itimerval) -> c_int {
        if !on_fiber() {
            return unsafe { real!(getitimer(which, to)
                as fn(c_int, *mut libc::itimerval) -> c_int) };
        }
        let site = site();
        let (left, interval) = match which {
            libc::ITIMER_REAL => {
                point(Operation::TimerSet, 0, site, Gate::Open);
                remaining(0)
            }
            libc::ITIMER_VIRTUAL | libc::ITIMER_PROF => (0, 0),
            _ => return refuse(libc::EINVAL),
        };
        unsafe {
            (*to).it_value = as_timeval(left);
            (*to).it_interval = as_timeval(interval);
        }
        0
    }
}
