//! Waits for descriptors: `poll`, `select`, `epoll_wait` and their forms.
//!
//! A wait without a time limit ends when a descriptor is ready. A wait with a limit ends then or when
//! its time has come, whichever the order of steps makes first. If a descriptor is ready when the task
//! looks, which is a step where others may change what it finds, there is no wait. Neither changes
//! anything, so a loop of waits with limits is a task that waits for what others do to the descriptors.

use crate::detect::access;
use crate::instrument::binary::open_files;
use crate::kernel::park::{closed_meanwhile, park_at, words_of};
use crate::kernel::polling::{Poll, are_any_never_writable, ask, is_never_writable};
use crate::kernel::private::{self, is_private};
use crate::kernel::signal_delivery;
use crate::kernel::signal_descriptor;
use crate::kernel::timer::descriptor;
use crate::primitives::cancel;
use crate::schedule::access_points;
use crate::schedule::external;
use crate::schedule::scheduler::point;
use crate::schedule::stall;
use crate::state::awaited::Awaited;
use crate::state::cancellation;
use crate::state::clock;
use crate::state::open_words::{self, WordSet};
use crate::state::root::root;
use crate::state::task::Gate;
use crate::state::task::Interrupted;
use crate::state::world::world;
use crate::steps::record;
use crate::sys::open_flags::OpenFlags;
use crate::sys::raw;
use traces::Operation;

/// Waits until a call on the descriptor would not block. Returns at once if the descriptor is ready
/// (regular files always are), without a scheduling point, except for a timer's descriptor, which
/// another task's step makes ready. False if a handler ended the wait.
pub(crate) fn wait_ready(descriptor: u64, events: i16, site: u64) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events, revents: 0 };
    let poll = Poll::of(std::slice::from_mut(&mut one));
    let Some(waits) = OpenFlags::of(descriptor).map(OpenFlags::waits) else { return true };
    if (!waits || poll.is_ready()) && !descriptor::is_one(descriptor) {
        return true;
    }
    let wait = poll.wait();
    let gate = if waits { Gate::Ready(wait.address()) } else { Gate::Open };
    let object = descriptor + 1;
    let task = world().task();
    task.open_files.set(Some(Awaited::change(words_of(descriptor))));
    task.limited_wait.set(wait.address());
    let ended = park_at(gate, Operation::Ready, object, Interrupted::UnlessRestarted, site);
    task.open_files.set(None);
    ended
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

    /// The `timespec` at this address; no limit if it is 0. An error number if it is not a valid
    /// duration.
    fn timespec(address: u64) -> Result<Limit, i64> {
        match address {
            0 => Ok(Limit::Endless),
            _ if !clock::is_span(address) => Err(-i64::from(libc::EINVAL)),
            _ => Ok(Limit::For(clock::nanoseconds(address))),
        }
    }
}

/// Whether signals or timers may make one of the descriptors ready.
fn finds_signals(waited: &[libc::pollfd]) -> bool {
    let may = |descriptor| is_never_writable(descriptor) || private::is_epoll(descriptor);
    are_any_never_writable() && waited.iter().any(|one| one.fd >= 0 && may(one.fd as u64))
}

/// The words of the open files of these descriptors. An epoll descriptor may watch any.
fn words(waited: &[libc::pollfd]) -> WordSet {
    let mut words = WordSet::NONE;
    let mut add = |word, size| words.add(word, size);
    for descriptor in waited.iter().filter(|one| one.fd >= 0).map(|one| one.fd as u64) {
        if private::is_epoll(descriptor) {
            let (start, size) = open_words::all();
            add(start, size);
        }
        open_files::each_awaited(descriptor, &mut add);
    }
    words
}

/// The word of an epoll descriptor's own state: which events the next call finds. A wait takes them if they are
/// reported once (`EPOLLONESHOT`, `EPOLLET`), and otherwise changes their order.
fn own_words(waited: &[libc::pollfd]) -> WordSet {
    let mut words = WordSet::NONE;
    for one in waited.iter().filter(|one| one.fd >= 0) {
        open_files::each_file(one.fd as u64, &mut |word, size| words.add(word, size));
    }
    words
}

/// Waits until `look` returns other than 0; the wait is for the descriptors of `waited`, with
/// another signal mask if one is given. `look` returns as the kernel does: 0 for nothing ready. `takes`: it takes what it
/// finds from the epoll descriptor that is waited for.
fn wait(
    waited: &mut [libc::pollfd],
    takes: bool,
    limit: Limit,
    mask: Option<u64>,
    site: u64,
    mut look: impl FnMut() -> i64,
) -> i64 {
    let poll = Poll::of(waited);
    let poll_wait = poll.wait();
    let signals = finds_signals(waited);
    // A look at what timers and signals change is a step in any case.
    let sees = signals || access::is_in_company();
    let words = if sees { words(waited) } else { WordSet::NONE };
    let taken = if takes && sees { own_words(waited) } else { WordSet::NONE };
    let awaited = Awaited::look(words, signals).taking(taken.iter().next().unwrap_or(0));
    access_points::look_at_files(awaited, poll_wait.address(), site);
    let finds = |found: i64| {
        if found > 0 {
            access_points::compare(taken, true, site);
        }
        stall::makes_progress();
        found
    };
    let found = look();
    if found != 0 {
        return finds(found);
    }
    if stall::is_active(&root().stalls.borrow())
        && let Some(one) = waited.iter().find(|one| one.fd >= 0 && !is_private(one.fd as u64))
    {
        stall::looks_outside(one.fd as u64, one.events);
    }
    let task = world().task();
    let before = task.mask.get();
    if let Some(mask) = mask {
        task.mask.set(mask);
        task.masked_outside.set(before);
        if signal_delivery::mask_changed() != Interrupted::Never {
            // A pending signal that `mask` does not block, but the task's own mask did: the call returns
            // before it waits.
            task.mask.set(before);
            task.masked_outside.set(0);
            return -i64::from(libc::EINTR);
        }
    }
    let restore_mask = || {
        task.mask.set(before);
        if mask.is_some() {
            task.masked_outside.set(0);
            signal_delivery::mask_changed();
        }
    };
    if matches!(limit, Limit::For(0)) {
        restore_mask();
        // A loop that asks again and again yields to the task that it waits for. The descriptors are not
        // polled again after that: the step that yields acts on no object.
        point(Operation::Yield, 0, site, Gate::Open);
        return found;
    }
    let until = match limit {
        Limit::Endless => None,
        Limit::For(nanoseconds) => Some(clock::now().saturating_add(nanoseconds)),
    };
    let object = waited.first().map_or(0, |first| first.fd as u64 + 1);
    let answer = loop {
        task.interrupts.set(Interrupted::Always);
        let (gate, operation) = match until {
            Some(_) if waited.is_empty() => (Gate::Open, Operation::Sleep),
            Some(_) => (Gate::Open, Operation::Ready),
            None if waited.is_empty() => (Gate::NEVER, Operation::SignalWait),
            None => (Gate::Ready(poll_wait.address()), Operation::Ready),
        };
        let object = if operation == Operation::Ready { object } else { 0 };
        if let Some(until) = until {
            clock::limit_monotonic(until);
        }
        task.limited_wait.set(if waited.is_empty() { 0 } else { poll_wait.address() });
        task.open_files.set(Some(awaited));
        external::wait(|| point(operation, object, site, gate));
        task.open_files.set(None);
        task.interrupts.set(Interrupted::Never);
        if cancellation::is_at_point(task) {
            task.mask.set(before);
            cancel::act_if_due();
        }
        if task.interrupted.replace(false) {
            break -i64::from(libc::EINTR);
        }
        let found = look();
        if found == -i64::from(libc::EBADF)
            || waited.iter().any(|one| one.revents & libc::POLLNVAL != 0)
        {
            // The kernel would wait on for the file, which is open as long as a task waits for it.
            closed_meanwhile(site);
        }
        match until {
            _ if found != 0 => break finds(found),
            Some(until) => {
                clock::reach_monotonic(until);
                record::value(libc::ETIMEDOUT as u64);
                break 0;
            }
            None => {}
        }
    };
    restore_mask();
    answer
}

/// The signal mask at an address, unless that is 0.
fn mask_at(address: u64) -> Option<u64> {
    // SAFETY: the caller of the system call passes a valid signal set or null.
    (address != 0).then(|| unsafe { *(address as *const u64) })
}

fn poll_for(descriptors: u64, count: u64, limit: Limit, mask: Option<u64>, site: u64) -> i64 {
    let look = || ask(descriptors, count);
    let found = look();
    if found < 0 {
        return found;
    }
    let waited = match count {
        0 => &mut [][..],
        // SAFETY: the kernel just polled these `count` elements without `EFAULT`, so the array is
        // mapped; it belongs to the calling task.
        _ => unsafe {
            std::slice::from_raw_parts_mut(descriptors as *mut libc::pollfd, count as usize)
        },
    };
    wait(waited, false, limit, mask, site, look)
}

/// The system call `poll`.
pub(crate) fn poll(args: [u64; 6], site: u64) -> i64 {
    poll_for(args[0], args[1], Limit::milliseconds(args[2]), None, site)
}

/// The system call `ppoll`.
pub(crate) fn ppoll(args: [u64; 6], site: u64) -> i64 {
    match Limit::timespec(args[2]) {
        Ok(limit) => poll_for(args[0], args[1], limit, mask_at(args[3]), site),
        Err(error) => error,
    }
}

/// The words of a set for `select` that covers all possible descriptors.
const WORDS: usize = 16;
type Set = [u64; WORDS];

/// The system calls `select` (whose limit is a `timeval`) and `pselect6`.
pub(crate) fn select(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [count, sets @ .., limit, more] = args;
    let timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let given;
    let (limit, mask) = match number {
        libc::SYS_select if limit != 0 => {
            // SAFETY: the caller of `select` passes a valid `timeval` or null.
            let time = unsafe { *(limit as *const libc::timeval) };
            given = libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 };
            (&raw const given as u64, None)
        }
        libc::SYS_select => (0, None),
        // SAFETY: the sixth argument of `pselect6` is null or points to a pair of a pointer to a
        // mask and its size.
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
            // SAFETY: the caller of `select` passes sets of at least `count` bits.
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
    wait(&mut waited[..len], false, limit, mask, site, || {
        for (set, &address) in asked.iter().zip(&sets) {
            if address != 0 {
                // SAFETY: as above; the sets belong to the calling task.
                let to = unsafe { std::slice::from_raw_parts_mut(address as *mut u64, words) };
                to.copy_from_slice(&set[..words]);
            }
        }
        signal_descriptor::update(world().current.get());
        // SAFETY: the kernel checks the program's sets, and only reads the local `timespec`.
        let found = unsafe {
            raw::call!(libc::SYS_pselect6, count, sets[0], sets[1], sets[2], &raw const timespec, 0)
        };
        let writable = sets[1];
        if found <= 0 || writable == 0 || !are_any_never_writable() {
            return found;
        }
        // SAFETY: as above.
        let writable = unsafe { std::slice::from_raw_parts_mut(writable as *mut u64, words) };
        let mut left = found;
        for descriptor in (0..count).filter(|&one| is_never_writable(one)) {
            let (word, bit) = (descriptor as usize / 64, 1 << (descriptor % 64));
            left -= i64::from(writable[word] & bit != 0);
            writable[word] &= !bit;
        }
        left
    })
}

/// The system calls `epoll_wait`, `epoll_pwait` and `epoll_pwait2`. The epoll descriptor itself
/// becomes ready when one of its descriptors is, so no event is consumed before the task is chosen.
pub(crate) fn epoll_wait(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [epoll, events, most, limit, mask, _] = args;
    let limit = match number {
        libc::SYS_epoll_pwait2 => match Limit::timespec(limit) {
            Ok(limit) => limit,
            Err(error) => return error,
        },
        _ => Limit::milliseconds(limit),
    };
    // Without time, the kernel looks for no signal either (unlike `ppoll` and `pselect`).
    let looks_for_signals = number != libc::SYS_epoll_wait && !matches!(limit, Limit::For(0));
    let mask = if looks_for_signals { mask_at(mask) } else { None };
    let mut one = [libc::pollfd { fd: epoll as i32, events: libc::POLLIN, revents: 0 }];
    let look = || {
        signal_descriptor::update(world().current.get());
        // SAFETY: the kernel checks the program's array of events.
        unsafe { raw::call!(libc::SYS_epoll_wait, epoll, events, most, 0) }
    };
    wait(&mut one, true, limit, mask, site, look)
}
