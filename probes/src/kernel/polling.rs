//! Asks the kernel which descriptors are ready, without waiting.

use crate::kernel::own_names;
use crate::kernel::private;
use crate::kernel::signal_descriptor;
use crate::kernel::timer::descriptor;
use crate::state::clients;
use crate::state::task::ExternalWait;
use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;

/// The arguments of a parked task's poll, on its stack.
pub(crate) struct Poll {
    /// The address of an array of `pollfd`.
    descriptors: u64,
    count: u64,
    /// The task that waits.
    task: u16,
    last: Cell<Last>,
}

/// What the answers so far say about the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// No descriptor was ready at this many polls in a row, after this many changes ([`raw::changes`]).
    Idle { changes: u64, polls: u32 },
    /// None was ready after this many changes, and only a further call of this process can make one ready.
    IdleUntilCall { changes: u64 },
    /// Others may make one ready.
    Open,
}

/// After this many polls in a row it is worth the calls to determine whether another process may change the answer: about
/// as many as these calls take.
const WORTH: u32 = 24;

impl Poll {
    /// A poll of these descriptors, which outlive it.
    pub(crate) fn of(descriptors: &mut [libc::pollfd]) -> Poll {
        let (descriptors, count) = (descriptors.as_mut_ptr() as u64, descriptors.len() as u64);
        let task = world().current.get();
        let last = Cell::new(Last::Idle { changes: 0, polls: 0 });
        Poll { descriptors, count, task, last }
    }

    /// Whether the poll would return at once.
    ///
    /// The scheduler asks at each step for each parked task. Where no other process can make a descriptor ready, the answer
    /// stays no until this process makes a call that may do so.
    pub(crate) fn is_ready(&self) -> bool {
        let changes = raw::changes();
        if self.last.get() == (Last::IdleUntilCall { changes }) && signal_descriptor::is_clear() {
            return false;
        }
        let is_ready = ask_for(self.task, self.descriptors, self.count) != 0;
        // Descriptors for signals may have been changed.
        let changes = raw::changes();
        let polls = match self.last.get() {
            Last::Open => return is_ready,
            Last::Idle { changes: then, polls } if then == changes && !is_ready => polls + 1,
            _ => 0,
        };
        let is_quiet = polls >= WORTH
            && raw::inspecting(|| {
                self.all().iter().all(|one| one.fd < 0 || changes_with_calls(one.fd as u64))
            });
        self.last.set(match polls >= WORTH {
            true if is_quiet => Last::IdleUntilCall { changes },
            true => Last::Open,
            false => Last::Idle { changes, polls },
        });
        is_ready
    }

    /// The descriptors.
    fn all(&self) -> &[libc::pollfd] {
        // SAFETY: the array outlives the poll (`Poll::of`), and only the kernel writes to it, in `ask_for`.
        unsafe { std::slice::from_raw_parts(self.descriptors as *const _, self.count as usize) }
    }

    /// The wait until it is ready.
    pub(crate) fn wait(&self) -> ExternalWait {
        ExternalWait::new(ready, std::ptr::from_ref(self) as u64)
            .private_if(is_private)
            .own_if(is_own)
    }
}

/// Whether a descriptor is never ready for writing, although the kernel reports its eventfd as
/// writable.
pub(crate) fn is_never_writable(descriptor: u64) -> bool {
    descriptor::is_one(descriptor) || signal_descriptor::is_one(descriptor)
}

/// Whether there may be any such descriptor.
pub(crate) fn are_any_never_writable() -> bool {
    descriptor::are_any() || !signal_descriptor::is_clear()
}

/// The result of a poll by the running task that does not wait.
pub(crate) fn ask(descriptors: u64, count: u64) -> i64 {
    ask_for(world().current.get(), descriptors, count)
}

/// The result of a poll by this task that does not wait. The array is the waiter's own, and exists while
/// it is parked.
fn ask_for(task: u16, descriptors: u64, count: u64) -> i64 {
    signal_descriptor::update(task);
    // SAFETY: the kernel checks the array and returns `EFAULT` if it is not accessible.
    let found = unsafe { raw::call!(libc::SYS_poll, descriptors, count, 0) };
    if found <= 0 || !are_any_never_writable() {
        return found;
    }
    // SAFETY: the kernel just wrote to `count` elements there, so the array is mapped and writable,
    // and it belongs to the waiting task, which does not run.
    let all =
        unsafe { std::slice::from_raw_parts_mut(descriptors as *mut libc::pollfd, count as usize) };
    correct(all, found)
}

/// Whether a task would find this descriptor ready for these events.
pub(crate) fn is_ready(task: u16, (descriptor, events): (u32, i16)) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events, revents: 0 };
    ask_for(task, &raw mut one as u64, 1) != 0
}

/// Events that such a descriptor never reports.
const WRITABLE: i16 = libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND;

/// Removes from a poll's result what does not hold for descriptors that are never writable; returns the
/// corrected number of descriptors.
fn correct(all: &mut [libc::pollfd], found: i64) -> i64 {
    let mut left = found;
    for one in all.iter_mut().filter(|one| one.revents & WRITABLE != 0) {
        if is_never_writable(one.fd as u64) {
            one.revents &= !WRITABLE;
            left -= i64::from(one.revents == 0);
        }
    }
    left
}

/// The event of an `epoll_ctl` call for such a descriptor, without the events for writing.
pub(crate) fn without_writing(event: u64) -> libc::epoll_event {
    // SAFETY: the caller of `epoll_ctl` passes a valid event, which need not be aligned.
    let mut event = unsafe { (event as *const libc::epoll_event).read_unaligned() };
    event.events &= !(WRITABLE as u32);
    event
}

/// Whether the poll at this address would return at once. The scheduler calls this for each parked
/// waiter.
fn ready(poll: u64) -> bool {
    // SAFETY: the address is from `Poll::wait`: that of a `Poll` on the stack of a task that is
    // parked in that poll.
    unsafe { (*(poll as *const Poll)).is_ready() }
}

/// What a poll finds at a descriptor to which a task writes.
pub(crate) fn room(descriptor: u64) -> i16 {
    let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the kernel writes only to `one`.
    unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 0) };
    one.revents
}

/// Whether only a system call of this process can make a descriptor ready.
fn changes_with_calls(descriptor: u64) -> bool {
    // Live clients are other processes.
    !clients::are_live() && private::is_private(descriptor) && private::is_local(descriptor)
}

/// The descriptors of the poll at this address.
fn polled<'p>(poll: u64) -> &'p [libc::pollfd] {
    // SAFETY: as in `ready`.
    unsafe { (*(poll as *const Poll)).all() }
}

/// Whether only this process can make the descriptors of the poll at this address ready.
fn is_private(poll: u64) -> bool {
    polled(poll).iter().all(|one| one.fd < 0 || private::is_private(one.fd as u64))
}

/// Whether only this process uses them, though another one could open them by name.
fn is_own(poll: u64) -> bool {
    let is_own = |descriptor| private::is_private(descriptor) || own_names::is_unshared(descriptor);
    polled(poll).iter().all(|one| one.fd < 0 || is_own(one.fd as u64))
}
