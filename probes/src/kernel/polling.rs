//! Asks the kernel which descriptors are ready, without waiting.

use crate::kernel::private;
use crate::kernel::timer::descriptor;
use crate::state::task::ExternalWait;
use crate::sys::raw;

/// The arguments of a parked task's poll, on its stack.
pub(crate) struct Poll {
    /// The address of an array of `pollfd`.
    descriptors: u64,
    count: u64,
}

impl Poll {
    /// A poll of these descriptors, which outlive it.
    pub(crate) fn of(descriptors: &mut [libc::pollfd]) -> Poll {
        Poll { descriptors: descriptors.as_mut_ptr() as u64, count: descriptors.len() as u64 }
    }

    /// Whether the poll would return at once.
    pub(crate) fn is_ready(&self) -> bool {
        ask(self.descriptors, self.count) != 0
    }

    /// The wait until it is ready.
    pub(crate) fn wait(&self) -> ExternalWait {
        ExternalWait::new(ready, std::ptr::from_ref(self) as u64).private_if(is_private)
    }
}

/// The result of a poll that does not wait. The array is the waiter's own, and exists while it is
/// parked.
pub(crate) fn ask(descriptors: u64, count: u64) -> i64 {
    // SAFETY: the kernel checks the array and returns `EFAULT` if it is not accessible.
    let found = unsafe { raw::call!(libc::SYS_poll, descriptors, count, 0) };
    if found <= 0 || !descriptor::are_any() {
        return found;
    }
    // SAFETY: the kernel just wrote to `count` elements there, so the array is mapped and writable,
    // and it belongs to the waiting task, which does not run.
    let all =
        unsafe { std::slice::from_raw_parts_mut(descriptors as *mut libc::pollfd, count as usize) };
    descriptor::correct(all, found)
}

/// Whether the poll at this address would return at once. The scheduler calls this for each parked
/// waiter.
fn ready(poll: u64) -> bool {
    // SAFETY: the address is from `Poll::wait`: that of a `Poll` on the stack of a task that is
    // parked in that poll.
    unsafe { (*(poll as *const Poll)).is_ready() }
}

/// Whether only this process can make the descriptors of the poll at this address ready.
fn is_private(poll: u64) -> bool {
    // SAFETY: as in `ready`; the poll read the array.
    let polled = unsafe {
        let poll = &*(poll as *const Poll);
        std::slice::from_raw_parts(poll.descriptors as *const libc::pollfd, poll.count as usize)
    };
    polled.iter().all(|one| one.fd < 0 || private::is_private(one.fd as u64))
}
