//! Waiting until descriptors are ready: `poll`, `select`, `epoll_wait` and their forms.
//!
//! A wait without a time limit is over when something is ready. One with a limit may always move: if
//! nothing is ready then, its time is up, which is a choice like any other, and the clock moves.
//! What is ready already is no scheduling point.

use crate::manager::root;
use crate::models::delivery::{self, Interrupted};
use crate::models::{cancel, time, timer};
use crate::raw;
use crate::scheduler::point;
use crate::task::Gate;
use crate::world::world;
use search::Strategy;
use traces::Operation;

/// What a task polls, kept on its stack while it is parked: [`Gate::Ready`] has its address.
struct Poll {
    /// The address of an array of `pollfd`.
    descriptors: u64,
    count: u64,
}

impl Poll {
    /// Whether it would say something at once.
    fn is_ready(&self) -> bool {
        ask(self.descriptors, self.count) != 0
    }

    fn gate(&self) -> Gate {
        Gate::Ready(std::ptr::from_ref(self) as u64)
    }
}

/// Has a task come to a point where it waits for what another process may give.
pub(crate) fn outside(point: impl FnOnce()) {
    let outside = &world().outside;
    outside.set(outside.get() + 1);
    point();
    outside.set(outside.get().saturating_sub(1));
}

/// How often it is looked again before it is believed that a task has to wait for another process, or
/// that nobody can move, and how long is waited before each look: a second in all.
const LOOKS: u32 = 500;
const PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 2_000_000 };
/// So often in vain, and it is believed at once: it is the program's way.
const VAIN: u32 = 8;

/// How often it was looked again, and how often in vain.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    looks: u32,
    vain: u32,
}

/// Whether it is to be looked once more who can move, after a while: nobody can, or others than did at
/// this place before; and a task waits for something that may come from another process, which may only
/// be slower this time. (No strategy sees the time: it is told the same as before, or has to believe.)
#[cold]
pub(crate) fn may_change(count: usize, digest: u32) -> bool {
    let root = root();
    let in_doubt =
        count == 0 || root.strategy.expected().is_some_and(|expected| expected != digest);
    let patience = &mut root.patience;
    if !in_doubt {
        // It came while it was waited for.
        patience.looks = 0;
        return false;
    }
    if patience.vain >= VAIN || patience.looks >= LOOKS {
        patience.vain += u32::from(patience.looks >= LOOKS);
        patience.looks = 0;
        return false;
    }
    patience.looks += 1;
    let pause = PAUSE;
    // SAFETY: sleeps.
    unsafe { raw::call!(libc::SYS_nanosleep, &raw const pause, 0) };
    true
}

/// What a poll says that does not wait. The array is the waiter's own, alive while it is parked.
fn ask(descriptors: u64, count: u64) -> i64 {
    // SAFETY: the kernel says whether it is an array.
    let found = unsafe { raw::call!(libc::SYS_poll, descriptors, count, 0) };
    if found <= 0 || !timer::descriptor::are_any() {
        return found;
    }
    // SAFETY: it is one, since the kernel wrote to it.
    let all =
        unsafe { std::slice::from_raw_parts_mut(descriptors as *mut libc::pollfd, count as usize) };
    timer::descriptor::correct(all, found)
}

/// Whether the poll at this address would say something at once. Called by the scheduler for each
/// parked waiter.
pub(crate) fn ready(poll: u64) -> bool {
    // SAFETY: on the stack of a task that is parked in the poll.
    unsafe { (*(poll as *const Poll)).is_ready() }
}

/// Waits, as a task, until a call on the descriptor would not block. What is ready already (files
/// always are) is no scheduling point, unless it is a timer's: then another's step makes it so. False
/// where a handler ended the wait.
pub(crate) fn wait_ready(descriptor: u64, events: i16, site: u64) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events, revents: 0 };
    let poll = Poll { descriptors: &raw mut one as u64, count: 1 };
    // SAFETY: asks for the descriptor's flags.
    let flags = unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFL) };
    let waits = flags & i64::from(libc::O_NONBLOCK) == 0;
    if flags < 0 || (!waits || poll.is_ready()) && !timer::descriptor::is_one(descriptor) {
        return true;
    }
    let task = world().task();
    task.interrupts.set(Interrupted::UnlessRestarted);
    let gate = if waits { poll.gate() } else { Gate::Open };
    outside(|| point(Operation::Ready, descriptor + 1, site, gate));
    task.interrupts.set(Interrupted::Never);
    // It is in a function that is a cancellation point, if a request opened its gate.
    if cancel::is_at_point(task) {
        cancel::act_if_due();
    }
    !task.interrupted.replace(false)
}

/// How long a wait may last.
#[derive(Clone, Copy)]
enum Limit {
    Endless,
    /// Nanoseconds.
    For(u64),
}

impl Limit {
    /// Milliseconds, below 0 for no limit.
    fn milliseconds(limit: u64) -> Limit {
        match i64::from(limit as i32) {
            ..0 => Limit::Endless,
            limit => Limit::For(limit as u64 * 1_000_000),
        }
    }

    /// The `timespec` at this address; none for no limit. An error number if it says no time.
    fn timespec(address: u64) -> Result<Limit, i64> {
        match address {
            0 => Ok(Limit::Endless),
            _ if !time::is_span(address) => Err(-i64::from(libc::EINVAL)),
            _ => Ok(Limit::For(time::nanoseconds(address))),
        }
    }
}

/// Waits until `look` finds anything, by the descriptors of `waited`, with another signal mask if there
/// is one. `look` answers as the kernel does; 0 for nothing.
fn wait(
    waited: &mut [libc::pollfd],
    limit: Limit,
    mask: Option<u64>,
    site: u64,
    mut look: impl FnMut() -> i64,
) -> i64 {
    let found = look();
    if found != 0 || matches!(limit, Limit::For(0)) {
        return found;
    }
    let task = world().task();
    let until = match limit {
        Limit::Endless => None,
        Limit::For(nanoseconds) => Some(time::now().saturating_add(nanoseconds)),
    };
    let before = task.mask.get();
    if let Some(mask) = mask {
        task.mask.set(mask);
        if delivery::mask_changed() != Interrupted::Never {
            // A signal that the mask held back ends the wait before it begins.
            task.mask.set(before);
            return -i64::from(libc::EINTR);
        }
    }
    let poll = Poll { descriptors: waited.as_mut_ptr() as u64, count: waited.len() as u64 };
    let object = waited.first().map_or(0, |first| first.fd as u64 + 1);
    let answer = loop {
        task.interrupts.set(Interrupted::Always);
        let (gate, operation) = match until {
            Some(_) => (Gate::Open, Operation::Sleep),
            None if waited.is_empty() => (Gate::Woken, Operation::SignalWait),
            None => (poll.gate(), Operation::Ready),
        };
        task.woken.set(false);
        let object = if operation == Operation::Ready { object } else { 0 };
        outside(|| point(operation, object, site, gate));
        task.interrupts.set(Interrupted::Never);
        if cancel::is_at_point(task) {
            task.mask.set(before);
            cancel::act_if_due();
        }
        if task.interrupted.replace(false) {
            break -i64::from(libc::EINTR);
        }
        let found = look();
        match until {
            _ if found != 0 => break found,
            Some(until) => {
                time::reach_monotonic(until);
                break 0;
            }
            None => {}
        }
    };
    task.mask.set(before);
    if mask.is_some() {
        delivery::mask_changed();
    }
    answer
}

/// The signal mask at an address, if there is one.
fn mask_at(address: u64) -> Option<u64> {
    // SAFETY: the program's set, or null.
    (address != 0).then(|| unsafe { *(address as *const u64) })
}

fn poll_for(descriptors: u64, count: u64, limit: Limit, mask: Option<u64>, site: u64) -> i64 {
    let look = || ask(descriptors, count);
    let found = look();
    if found != 0 {
        return found;
    }
    let waited = match count {
        0 => &mut [][..],
        // SAFETY: the kernel has said that it is an array.
        _ => unsafe {
            std::slice::from_raw_parts_mut(descriptors as *mut libc::pollfd, count as usize)
        },
    };
    wait(waited, limit, mask, site, look)
}

/// `poll`, as a system call.
pub(crate) fn poll(args: [u64; 6], site: u64) -> i64 {
    poll_for(args[0], args[1], Limit::milliseconds(args[2]), None, site)
}

/// `ppoll`, as a system call.
pub(crate) fn ppoll(args: [u64; 6], site: u64) -> i64 {
    match Limit::timespec(args[2]) {
        Ok(limit) => poll_for(args[0], args[1], limit, mask_at(args[3]), site),
        Err(error) => error,
    }
}

/// Words of a set for `select` that holds as many descriptors as there can be.
const WORDS: usize = 16;
type Set = [u64; WORDS];

/// `select` (whose limit is a `timeval`) and `pselect6`, as system calls.
pub(crate) fn select(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [count, sets @ .., limit, more] = args;
    let timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let given;
    let (limit, mask) = match number {
        libc::SYS_select if limit != 0 => {
            // SAFETY: the program's `timeval`.
            let time = unsafe { *(limit as *const libc::timeval) };
            given = libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 };
            (&raw const given as u64, None)
        }
        libc::SYS_select => (0, None),
        // SAFETY: the kernel's pair of a pointer to a mask and its size.
        _ => (limit, if more == 0 { None } else { mask_at(unsafe { *(more as *const u64) }) }),
    };
    let limit = match Limit::timespec(limit) {
        Ok(limit) => limit,
        Err(error) => return error,
    };
    if count as i32 > (WORDS * 64) as i32 || (count as i32) < 0 {
        return -i64::from(libc::EINVAL);
    }
    let words = (count as usize).div_ceil(64);
    let mut asked: [Set; 3] = [[0; WORDS]; 3];
    for (set, &address) in asked.iter_mut().zip(&sets) {
        if address != 0 {
            // SAFETY: the program's set of at least so many bits.
            let from = unsafe { std::slice::from_raw_parts(address as *const u64, words) };
            set[..words].copy_from_slice(from);
        }
    }
    let mut waited = [libc::pollfd { fd: 0, events: 0, revents: 0 }; WORDS * 64];
    let mut len = 0;
    for descriptor in 0..count as i32 {
        let (word, bit) = (descriptor as usize / 64, 1 << (descriptor % 64));
        let kinds = [libc::POLLIN, libc::POLLOUT, libc::POLLPRI];
        let of = |(set, kind): (&Set, i16)| if set[word] & bit != 0 { kind } else { 0 };
        let events = asked.iter().zip(kinds).map(of).fold(0, |all, one| all | one);
        if events != 0 {
            waited[len] = libc::pollfd { fd: descriptor, events, revents: 0 };
            len += 1;
        }
    }
    wait(&mut waited[..len], limit, mask, site, || {
        for (set, &address) in asked.iter().zip(&sets) {
            if address != 0 {
                // SAFETY: as above.
                let to = unsafe { std::slice::from_raw_parts_mut(address as *mut u64, words) };
                to.copy_from_slice(&set[..words]);
            }
        }
        // SAFETY: the program's own sets.
        let found = unsafe {
            raw::call!(libc::SYS_pselect6, count, sets[0], sets[1], sets[2], &raw const timespec, 0)
        };
        let writable = sets[1];
        if found <= 0 || writable == 0 || !timer::descriptor::are_any() {
            return found;
        }
        // SAFETY: as above.
        let writable = unsafe { std::slice::from_raw_parts_mut(writable as *mut u64, words) };
        let mut left = found;
        for descriptor in (0..count).filter(|&one| timer::descriptor::is_one(one)) {
            let (word, bit) = (descriptor as usize / 64, 1 << (descriptor % 64));
            left -= i64::from(writable[word] & bit != 0);
            writable[word] &= !bit;
        }
        left
    })
}

/// `epoll_wait`, `epoll_pwait` and `epoll_pwait2`, as system calls. The descriptor of an epoll is
/// itself ready when something is: so nothing is taken from it before the task is chosen.
pub(crate) fn epoll_wait(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [epoll, events, most, limit, mask, _] = args;
    let limit = match number {
        libc::SYS_epoll_pwait2 => match Limit::timespec(limit) {
            Ok(limit) => limit,
            Err(error) => return error,
        },
        _ => Limit::milliseconds(limit),
    };
    let mask = if number == libc::SYS_epoll_wait { None } else { mask_at(mask) };
    let mut one = [libc::pollfd { fd: epoll as i32, events: libc::POLLIN, revents: 0 }];
    // SAFETY: the program's own array.
    let look = || unsafe { raw::call!(libc::SYS_epoll_wait, epoll, events, most, 0) };
    wait(&mut one, limit, mask, site, look)
}
