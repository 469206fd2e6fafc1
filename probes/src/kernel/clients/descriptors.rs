//! Where the descriptors of the runtime are, and those of the clients: out of the program's way.

use crate::sys::raw;

/// The runtime's are from this number on.
pub(super) const RUNTIME: i32 = 680;
/// The clients' are from this number on.
pub(super) const CLIENTS: i32 = 700;

/// A new descriptor at a number from this one on; the same one if the limit on descriptors is lower, or if it is an error.
pub(super) fn moved(descriptor: i64, from: i32) -> i64 {
    // SAFETY: the calls pass no pointer, and the caller owns the descriptor.
    unsafe {
        let high = raw::call!(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, from);
        if high < 0 {
            return descriptor;
        }
        raw::call!(libc::SYS_close, descriptor);
        high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_moved_if_that_is_possible() {
        let new = || {
            // SAFETY: passes no pointer.
            unsafe { raw::call!(libc::SYS_epoll_create1, libc::EPOLL_CLOEXEC) }
        };
        let high = moved(new(), RUNTIME);
        assert!(high >= i64::from(RUNTIME));
        let low = new();
        assert_eq!(moved(low, i32::MAX), low);
        let error = -i64::from(libc::EMFILE);
        assert_eq!(moved(error, RUNTIME), error);
        // SAFETY: the calls pass no pointer, and both descriptors are this test's.
        unsafe {
            raw::call!(libc::SYS_close, high);
            raw::call!(libc::SYS_close, low);
        }
    }
}
