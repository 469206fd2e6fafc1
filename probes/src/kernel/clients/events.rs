//! Whether anything happened at some descriptors, with one system call.

use super::descriptors;
use crate::sys::raw;

/// Descriptors at which data, connections or an end may arrive.
pub(super) struct Events(i64);

impl Events {
    /// Before `open`: it may have something.
    pub(super) const NONE: Events = Events(-1);

    /// Without descriptors.
    pub(super) fn open() -> Events {
        // SAFETY: passes no pointer.
        let new = unsafe { raw::call!(libc::SYS_epoll_create1, libc::EPOLL_CLOEXEC) };
        Events(descriptors::moved(new, descriptors::RUNTIME))
    }

    /// Watches a descriptor.
    pub(super) fn add(&self, descriptor: i32) {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        let add = libc::EPOLL_CTL_ADD;
        // SAFETY: the kernel reads the local.
        unsafe { raw::call!(libc::SYS_epoll_ctl, self.0, add, descriptor, &raw mut event) };
    }

    /// Watches a descriptor no more, at which nothing further will happen.
    pub(super) fn remove(&self, descriptor: i32) {
        // SAFETY: passes no pointer that the kernel reads.
        unsafe { raw::call!(libc::SYS_epoll_ctl, self.0, libc::EPOLL_CTL_DEL, descriptor, 0) };
    }

    /// Whether something is there now, or may be.
    pub(super) fn are_there(&self) -> bool {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: the kernel writes at most one event to the local.
        unsafe { raw::call!(libc::SYS_epoll_wait, self.0, &raw mut event, 1, 0) != 0 }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        // SAFETY: the descriptor is this value's own.
        unsafe { raw::call!(libc::SYS_close, self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn data_is_an_event_until_it_is_watched_no_more() {
        let (mut one, other) = UnixStream::pair().expect("there are sockets");
        let events = Events::open();
        events.add(other.as_raw_fd());
        assert!(!events.are_there());
        one.write_all(b"x").expect("it has room");
        assert!(events.are_there());
        events.remove(other.as_raw_fd());
        assert!(!events.are_there());
        // What cannot be watched may have something.
        assert!(Events::NONE.are_there());
    }
}
