//! The clients' ends of their connections.

use super::{descriptors, listeners};
use crate::instrument::binary::open_files;
use crate::kernel::descriptor_kind::inode;
use crate::state::clients;
use crate::state::open_words::DESCRIPTORS;
use crate::state::outcome;
use crate::sys::raw;
use std::cell::Cell;
use traces::clients::Answer;

/// The most connections of an execution.
const MOST: usize = 512;
/// The program sees ports from this one on as those of its clients: which ones the kernel chooses differs from
/// execution to execution.
const FIRST_PORT: u16 = 49152;
/// How long the kernel may take to deliver what was sent, in attempts.
const ATTEMPTS: usize = 2000;

/// Why an execution is not supported.
pub(super) const TOO_MANY: &str = "more than 16 clients, or 512 connections of them";

/// Why an execution is not supported in which the kernel refuses what a client needs.
pub(super) fn refused(error: i64) -> String {
    format!("a client for which the kernel has no task, socket or port (error {error})")
}

/// One end of a connection.
pub(super) struct Connection {
    client: Cell<usize>,
    /// The client's number for it.
    number: Cell<u32>,
    pub(super) descriptor: Cell<i32>,
    /// The program's descriptor of the other end, -1 before it is accepted.
    accepted: Cell<i32>,
    /// The port that the kernel chose for the client's end, 0 if there is none.
    port: Cell<u16>,
    /// How much of the answer has arrived ([`Answer::len`]).
    pub(super) received: Cell<u64>,
    /// Whether the program no longer takes data.
    pub(super) is_broken: Cell<bool>,
}

struct Connections {
    all: [Connection; MOST],
    count: Cell<usize>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Connections {}
static CONNECTIONS: Connections = Connections {
    all: [const {
        Connection {
            client: Cell::new(0),
            number: Cell::new(0),
            descriptor: Cell::new(-1),
            accepted: Cell::new(-1),
            port: Cell::new(0),
            received: Cell::new(0),
            is_broken: Cell::new(false),
        }
    }; MOST],
    count: Cell::new(0),
};

/// An execution begins.
pub(super) fn begin() {
    CONNECTIONS.count.set(0);
}

fn all() -> &'static [Connection] {
    &CONNECTIONS.all[..CONNECTIONS.count.get()]
}

/// Whether a client has made a connection in this execution.
pub(crate) fn are_there() -> bool {
    CONNECTIONS.count.get() > 0
}

/// A connection of a client, by the client's number for it.
pub(super) fn find(client: usize, number: u32) -> Option<&'static Connection> {
    all().iter().find(|it| it.client.get() == client && it.number.get() == number)
}

/// The port that the program sees instead of this one, if it is that of a client.
pub(super) fn shown_port(port: u16) -> Option<u16> {
    let at = all().iter().position(|it| port != 0 && it.port.get() == port)?;
    Some(FIRST_PORT + at as u16)
}

/// The program has accepted the connection with this port of its client, as this descriptor.
pub(super) fn accepted(port: u16, descriptor: i32) {
    inode(descriptor as u64).into_iter().for_each(|(_, inode)| clients::serve_at(inode));
    if let Some(it) = all().iter().find(|it| port != 0 && it.port.get() == port) {
        it.accepted.set(descriptor);
    }
}

/// Connects a client to the program's socket; false if its queue is full.
pub(super) fn open(client: usize, listener: i32) -> bool {
    let Some(slot) = CONNECTIONS.all.get(CONNECTIONS.count.get()) else {
        outcome::unsupported(TOO_MANY, 0);
    };
    let Some((address, len)) = listeners::actual_address(listener) else { return false };
    let family = i32::from(u16::from_ne_bytes([address[0], address[1]]));
    let before = waiting(listener);
    // With this, the end of the process leaves no port in use.
    let at_once = [1i32, 0];
    // SAFETY: the calls pass addresses of locals with their lengths.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let new = raw::call!(libc::SYS_socket, family, kind, 0);
        if new < 0 {
            outcome::unsupported(&refused(-new), 0);
        }
        let descriptor = descriptors::moved(new, descriptors::CLIENTS);
        raw::call!(
            libc::SYS_setsockopt,
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            at_once.as_ptr(),
            size_of_val(&at_once)
        );
        let answer = raw::call!(libc::SYS_connect, descriptor, address.as_ptr(), len);
        let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLOUT, revents: 0 };
        let may_retry = [0, libc::EINPROGRESS, libc::EAGAIN, libc::ECONNREFUSED];
        if !may_retry.iter().any(|&error| answer == -i64::from(error)) {
            outcome::unsupported(&refused(-answer), 0);
        }
        let is_made = answer == 0
            || answer == -i64::from(libc::EINPROGRESS) && {
                raw::call!(libc::SYS_poll, &raw mut one, 1, 50);
                one.revents & (libc::POLLOUT | libc::POLLERR | libc::POLLHUP) == libc::POLLOUT
            };
        if !is_made {
            raw::call!(libc::SYS_close, descriptor);
            return false;
        }
        // Else a further connection could overtake this one.
        for _ in 0..ATTEMPTS {
            if before.is_none() || waiting(listener) > before {
                break;
            }
            yield_processor();
        }
        slot.client.set(client);
        slot.number.set(all().iter().filter(|it| it.client.get() == client).count() as u32);
        slot.descriptor.set(descriptor as i32);
        slot.accepted.set(-1);
        slot.port.set(super::address::port_of(libc::SYS_getsockname, descriptor as u64));
        slot.received.set(0);
        slot.is_broken.set(false);
    }
    CONNECTIONS.count.set(CONNECTIONS.count.get() + 1);
    // All connections to one path count as one file.
    let (of, number) = if slot.port.get() == 0 { (0, 0) } else { (client, slot.number.get()) };
    open_files::know_as(slot.descriptor.get(), known_as(of, number));
    true
}

/// The descriptor as whose file a connection counts: one that programs seldom use. If connections share one, or the
/// program uses it, more steps depend on each other than do.
fn known_as(client: usize, number: u32) -> i32 {
    const WORDS: usize = 24;
    // The last one stands for all further descriptors.
    const HIGHEST: usize = DESCRIPTORS - 2;
    (HIGHEST - (5 * client + number as usize) % WORDS) as i32
}

impl Connection {
    /// Sends as much of this as the connection takes; none if it takes nothing now.
    pub(super) fn send(&self, bytes: &[u8]) -> Option<usize> {
        let before = self.to_read();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the kernel reads the bytes, which are borrowed.
        let answer = unsafe {
            let (from, len) = (bytes.as_ptr(), bytes.len());
            raw::call!(libc::SYS_sendto, self.descriptor.get(), from, len, flags, 0, 0)
        };
        if answer == -i64::from(libc::EAGAIN) {
            return None;
        }
        self.is_broken.set(answer < 0);
        let sent = answer.max(0) as usize;
        // The kernel delivers it within the call, unless it is busy: then a little later.
        for _ in 0..ATTEMPTS {
            let is_there = match self.is_accepted() {
                true => self.to_read() >= before + sent as i32,
                false => self.unsent(self.descriptor.get()) == 0,
            };
            if is_there || self.is_broken.get() {
                break;
            }
            yield_processor();
        }
        Some(sent)
    }

    /// Ends the client's side.
    pub(super) fn end(&self) {
        // SAFETY: passes no pointer.
        unsafe { raw::call!(libc::SYS_shutdown, self.descriptor.get(), libc::SHUT_WR) };
        if !self.is_accepted() {
            return;
        }
        let mut one = libc::pollfd { fd: self.accepted.get(), events: libc::POLLRDHUP, revents: 0 };
        for _ in 0..ATTEMPTS {
            // SAFETY: the kernel writes only to the local.
            unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 0) };
            if one.revents != 0 {
                return;
            }
            yield_processor();
        }
    }

    /// Takes what has arrived, up to so much, and compares it with the recording: false if it differs.
    pub(super) fn receive(&self, expected: &Answer, needed: u64) -> bool {
        let mut bytes = [0u8; 4096];
        let mut attempts = 0;
        while self.received.get() < needed {
            let is_all_here = self.is_all_here();
            let Some(count) = self.take(&mut bytes) else {
                if is_all_here || attempts == ATTEMPTS {
                    return true;
                }
                attempts += 1;
                yield_processor();
                continue;
            };
            let at = self.received.get() as usize;
            let is_same = match count {
                0 => expected.ended && at == expected.bytes.len(),
                count => expected.bytes.get(at..at + count) == Some(&bytes[..count]),
            };
            if !is_same {
                return false;
            }
            self.received.set(self.received.get() + (count as u64).max(1));
        }
        true
    }

    /// Takes bytes that have arrived: how many, 0 at the end; none if there are none now.
    pub(super) fn take(&self, to: &mut [u8]) -> Option<usize> {
        let fast = 1i32;
        // SAFETY: the kernel writes to the buffer, and reads a local.
        let answer = unsafe {
            let (from, flags) = (self.descriptor.get(), libc::MSG_DONTWAIT);
            let answer =
                raw::call!(libc::SYS_recvfrom, from, to.as_mut_ptr(), to.len(), flags, 0, 0);
            // Else the kernel may acknowledge the bytes to the program's end only later.
            if self.port.get() != 0 {
                let (level, option) = (libc::IPPROTO_TCP, libc::TCP_QUICKACK);
                raw::call!(libc::SYS_setsockopt, from, level, option, &raw const fast, 4);
            }
            answer
        };
        match answer {
            again if again == -i64::from(libc::EAGAIN) => None,
            // A connection that was reset has ended.
            answer => Some(answer.max(0) as usize),
        }
    }

    /// Whether nothing that the program has sent is on its way. The end of a connection that it has closed comes soon.
    fn is_all_here(&self) -> bool {
        match self.accepted.get() {
            ..0 => true,
            accepted => self.is_accepted() && self.unsent(accepted) == 0,
        }
    }

    /// Whether the program has accepted the connection, and its descriptor still leads to it.
    fn is_accepted(&self) -> bool {
        let (accepted, port) = (self.accepted.get(), self.port.get());
        accepted >= 0
            && port != 0
            && super::address::port_of(libc::SYS_getpeername, accepted as u64) == port
    }

    /// How many bytes the program could read now.
    fn to_read(&self) -> i32 {
        if self.is_accepted() { count(self.accepted.get(), libc::FIONREAD) } else { 0 }
    }

    /// How many bytes of a descriptor have not arrived at the other end.
    fn unsent(&self, descriptor: i32) -> i32 {
        if self.port.get() == 0 { 0 } else { count(descriptor, libc::TIOCOUTQ) }
    }
}

/// The answer to a question about a descriptor that is a number; 0 if there is none.
fn count(descriptor: i32, question: libc::c_ulong) -> i32 {
    let mut answer = 0i32;
    // SAFETY: the kernel writes only to the local.
    unsafe { raw::call!(libc::SYS_ioctl, descriptor, question, &raw mut answer) };
    answer
}

/// How many connections wait for the program to accept them; none if the kernel does not say.
fn waiting(listener: i32) -> Option<u32> {
    // `tcp_info` of a listening socket has the number in `tcpi_unacked`, behind eight bytes and four words.
    let mut info = [0u32; 7];
    let mut len = size_of_val(&info) as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe {
        let (level, option) = (libc::IPPROTO_TCP, libc::TCP_INFO);
        raw::call!(libc::SYS_getsockopt, listener, level, option, info.as_mut_ptr(), &raw mut len)
    };
    (answer == 0 && len as usize == size_of_val(&info)).then_some(info[6])
}

/// Lets the kernel do its work.
fn yield_processor() {
    // SAFETY: passes no pointer.
    unsafe { raw::call!(libc::SYS_sched_yield) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_a_socket_is_named() {
        let expected = "a client for which the kernel has no task, socket or port (error 24)";
        assert_eq!(refused(24), expected);
    }
}
