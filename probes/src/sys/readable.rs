//! Asks the kernel whether a call that reads would wait.

use crate::sys::raw;

/// Whether a read or an accept would not wait.
pub(crate) fn is_readable(descriptor: u64) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLIN, revents: 0 };
    // SAFETY: the kernel writes only to `one`.
    unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 0) != 0 }
}

/// From how many bytes on a socket is readable; none for anything else. A receive that does not wait finds fewer, too.
pub(crate) fn least_readable(descriptor: u64) -> Option<i32> {
    let (mut least, mut size) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe {
        raw::call!(
            libc::SYS_getsockopt,
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            &raw mut least,
            &raw mut size
        )
    };
    (answer == 0).then_some(least)
}
