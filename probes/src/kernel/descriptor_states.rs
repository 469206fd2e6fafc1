//! The state of the open files of a process, as far as its copies share it with the kernel: positions, counters, what
//! is in pipes and sockets, what epoll descriptors watch. Each execution of a search that begins in the middle of an
//! execution (`--begin-at`) is a copy of one process, and has to find these as the first one did.

use crate::kernel::descriptor_kind::{Kind, describe, inode, kind, option};
use crate::sys::raw;

/// Descriptors from this number on are the runtime's.
const OWN: u64 = 600;

/// The state of a descriptor's open file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OpenFile {
    descriptor: u64,
    file: (u64, u64),
    /// What the kernel says about it.
    text: Vec<u8>,
    /// How many bytes it has to read.
    to_read: i32,
    /// Whether it is a socket that waits for connections, and how many there are at least: 0 or 1.
    connections: Option<i16>,
    /// For a pipe or a socket: whether its other end is open, and whether there is room.
    ends: i16,
}

/// The state of all descriptors of the program.
pub(crate) struct DescriptorStates(Vec<OpenFile>);

impl DescriptorStates {
    /// The present state.
    pub(crate) fn save() -> DescriptorStates {
        DescriptorStates((0..OWN).filter_map(OpenFile::of).collect())
    }

    /// Makes the state what it was; false if that is impossible.
    pub(crate) fn restore(&self) -> bool {
        self.0.iter().all(OpenFile::restore)
    }
}

impl OpenFile {
    fn of(descriptor: u64) -> Option<OpenFile> {
        let file = inode(descriptor)?;
        let mut text = [0; 4096];
        let text = describe(descriptor, &mut text).to_vec();
        let listens = option(descriptor, libc::SO_ACCEPTCONN) == 1;
        let mut to_read = 0i32;
        // SAFETY: the kernel writes only to the local. A file that does not know the question refuses it.
        unsafe { raw::call!(libc::SYS_ioctl, descriptor, libc::FIONREAD, &raw mut to_read) };
        // Of a file, this is what is behind its position.
        if !text.starts_with(b"pos:\t0\n") {
            to_read = 0;
        }
        Some(OpenFile {
            descriptor,
            file,
            text,
            to_read: if listens { 0 } else { to_read },
            connections: listens.then(|| i16::from(is_readable(descriptor))),
            ends: if kind(descriptor) == Kind::Other { 0 } else { ends(descriptor) },
        })
    }

    fn restore(&self) -> bool {
        let Some(now) = OpenFile::of(self.descriptor) else { return false };
        if now == *self {
            return true;
        }
        if now.file != self.file {
            return false;
        }
        if self.connections == Some(0) {
            refuse_all(self.descriptor);
        } else if let (Some(before), Some(count)) =
            (number(&self.text, b"eventfd-count:", 16), number(&now.text, b"eventfd-count:", 16))
        {
            set_counter(self.descriptor, count, before);
        } else if self.text.windows(4).any(|part| part == b"tfd:")
            || now.text.windows(4).any(|part| part == b"tfd:")
        {
            watch(self.descriptor, &self.text, &now.text);
        } else if self.to_read == 0 && now.to_read > 0 {
            take_all(self.descriptor, now.to_read);
        } else if let Some(position) = number(&self.text, b"pos:", 10) {
            // SAFETY: passes no pointer.
            unsafe { raw::call!(libc::SYS_lseek, self.descriptor, position, libc::SEEK_SET) };
        }
        OpenFile::of(self.descriptor).as_ref() == Some(self)
    }
}

/// Whether the other end is closed, and whether this one can be written to.
fn ends(descriptor: u64) -> i16 {
    let events = libc::POLLOUT | libc::POLLRDHUP;
    let mut one = libc::pollfd { fd: descriptor as i32, events, revents: 0 };
    // SAFETY: the kernel writes only to the local.
    unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 0) };
    one.revents
}

fn is_readable(descriptor: u64) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLIN, revents: 0 };
    // SAFETY: the kernel writes only to the local.
    unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 0) > 0 }
}

/// The number behind a name in the kernel's description.
fn number(text: &[u8], name: &[u8], radix: u32) -> Option<u64> {
    let at = text.windows(name.len()).position(|part| part == name)? + name.len();
    let rest = std::str::from_utf8(&text[at..]).ok()?.lines().next()?;
    u64::from_str_radix(rest.trim(), radix).ok()
}

/// Takes all connections that wait, and closes them.
fn refuse_all(descriptor: u64) {
    while is_readable(descriptor) {
        // SAFETY: passes no pointer; the new descriptor is this function's own.
        unsafe {
            let taken = raw::call!(libc::SYS_accept4, descriptor, 0, 0, libc::SOCK_CLOEXEC);
            if taken < 0 {
                return;
            }
            raw::call!(libc::SYS_close, taken);
        }
    }
}

/// Sets the counter of an eventfd.
fn set_counter(descriptor: u64, now: u64, to: u64) {
    let mut taken = 0u64;
    // SAFETY: the kernel reads and writes locals.
    unsafe {
        // One that counts down by one needs as many reads.
        for _ in 0..now.min(1 << 16) {
            if !is_readable(descriptor) {
                break;
            }
            raw::call!(libc::SYS_read, descriptor, &raw mut taken, 8);
        }
        if to > 0 {
            raw::call!(libc::SYS_write, descriptor, &raw const to, 8);
        }
    }
}

/// Takes bytes out of a pipe or a socket.
fn take_all(descriptor: u64, count: i32) {
    let mut bytes = [0u8; 4096];
    let mut left = count as usize;
    while left > 0 && is_readable(descriptor) {
        // SAFETY: the kernel writes to the local.
        let taken = unsafe {
            raw::call!(libc::SYS_read, descriptor, bytes.as_mut_ptr(), left.min(bytes.len()))
        };
        if taken <= 0 {
            return;
        }
        left -= (taken as usize).min(left);
    }
}

/// One descriptor that an epoll descriptor watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Watched {
    descriptor: u64,
    events: u64,
    data: u64,
}

/// What an epoll descriptor watches, by the kernel's description.
fn watched(text: &[u8]) -> Vec<Watched> {
    let text = String::from_utf8_lossy(text);
    let entries = text.lines().filter_map(|line| {
        let mut words = line.strip_prefix("tfd:")?.split_whitespace();
        let descriptor = words.next()?.parse().ok()?;
        let mut after = |name: &str| {
            let words = words.by_ref();
            words.find(|word| *word == name)?;
            u64::from_str_radix(words.next()?, 16).ok()
        };
        let (events, data) = (after("events:")?, after("data:")?);
        Some(Watched { descriptor, events, data })
    });
    entries.collect()
}

/// Lets an epoll descriptor watch what it watched before.
fn watch(descriptor: u64, before: &[u8], now: &[u8]) {
    let (before, now) = (watched(before), watched(now));
    let control = |operation: i32, one: &Watched| {
        let event = libc::epoll_event { events: one.events as u32, u64: one.data };
        // SAFETY: the kernel reads the local.
        unsafe {
            raw::call!(libc::SYS_epoll_ctl, descriptor, operation, one.descriptor, &raw const event)
        }
    };
    for one in now.iter().filter(|one| before.iter().all(|it| it.descriptor != one.descriptor)) {
        control(libc::EPOLL_CTL_DEL, one);
    }
    for one in before.iter().filter(|one| !now.contains(one)) {
        let is_there = now.iter().any(|it| it.descriptor == one.descriptor);
        control(if is_there { libc::EPOLL_CTL_MOD } else { libc::EPOLL_CTL_ADD }, one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_description_is_read() {
        let text = b"pos:\t0\nflags:\t02\ntfd:        5 events:       19 data:  7f0000000005  pos:0 ino:23b sdev:e\n";
        assert_eq!(
            watched(text),
            [Watched { descriptor: 5, events: 0x19, data: 0x7f00_0000_0005 }]
        );
        assert_eq!(number(b"pos:\t12\nflags:\t02\n", b"pos:", 10), Some(12));
        assert_eq!(number(b"eventfd-count:               1f\n", b"eventfd-count:", 16), Some(31));
        assert_eq!(number(b"pos:\t0\n", b"eventfd-count:", 16), None);
    }

    #[test]
    fn changed_descriptors_get_their_state_back() {
        let mut pipe = [0i32; 2];
        // SAFETY: the calls pass addresses of locals; the descriptors are the test's own.
        unsafe {
            let counter = libc::eventfd(3, libc::EFD_NONBLOCK);
            let epoll = libc::epoll_create1(0);
            assert_eq!(libc::pipe2(pipe.as_mut_ptr(), libc::O_NONBLOCK), 0);
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 7 };
            libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, pipe[0], &raw mut event);
            let own = [counter, epoll, pipe[0], pipe[1]];
            let states: Vec<_> = own.iter().filter_map(|&one| OpenFile::of(one as u64)).collect();
            libc::write(counter, (&raw const COUNT).cast(), 8);
            libc::write(pipe[1], (&raw const COUNT).cast(), 8);
            libc::epoll_ctl(epoll, libc::EPOLL_CTL_DEL, pipe[0], &raw mut event);
            libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, counter, &raw mut event);
            assert!(states.iter().all(OpenFile::restore));
            assert_eq!(OpenFile::of(counter as u64).unwrap(), states[0]);
            // What was taken out does not come back.
            libc::write(pipe[1], (&raw const COUNT).cast(), 8);
            let full = OpenFile::of(pipe[0] as u64).unwrap();
            let mut taken = 0u64;
            libc::read(pipe[0], (&raw mut taken).cast(), 8);
            assert!(!full.restore());
            own.iter().for_each(|&one| assert_eq!(libc::close(one), 0));
        }
    }

    static COUNT: u64 = 4;
}
