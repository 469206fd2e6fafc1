//! The sockets at which the program waits for clients.
//!
//! They get other addresses than the program asks for: several executions can then run at the same time, and an
//! address is not in use because an execution has just ended. The program, which asks the kernel for its address, gets
//! the one that it asked for ([`super::shown_addresses`]). While clients are recorded, the runtime itself listens at that
//! address, and passes on what it gets ([`super::live`]).

use super::address::{Address, read_address};
use super::descriptors;
use crate::kernel::descriptor_kind::{inode, option};
use crate::kernel::pass::{pass, pass_as};
use crate::state::clients;
use crate::sys::raw;
use std::cell::Cell;

/// The most sockets that a program may bind in an execution.
const MOST: usize = 32;

/// A socket that got another address.
pub(super) struct Bound {
    /// The program's descriptor.
    descriptor: Cell<i32>,
    /// What the program asked for.
    pub(super) asked: Cell<Address>,
    /// What it got.
    actual: Cell<Address>,
    /// The runtime's socket at the first address, or -1.
    pub(super) relay: Cell<i32>,
    /// Whether the program listens.
    pub(super) listens: Cell<bool>,
}

struct Listeners {
    all: [Bound; MOST],
    count: Cell<usize>,
}
// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one
// kernel thread.
unsafe impl Sync for Listeners {}
static LISTENERS: Listeners = Listeners {
    all: [const {
        Bound {
            descriptor: Cell::new(-1),
            asked: Cell::new(Address::NONE),
            actual: Cell::new(Address::NONE),
            relay: Cell::new(-1),
            listens: Cell::new(false),
        }
    }; MOST],
    count: Cell::new(0),
};

/// An execution begins.
pub(super) fn begin() {
    LISTENERS.count.set(0);
}

pub(super) fn all() -> &'static [Bound] {
    &LISTENERS.all[..LISTENERS.count.get()]
}

/// Whether the program listens at an address for clients.
pub(super) fn are_open() -> bool {
    all().iter().any(|it| it.listens.get())
}

/// The program's socket at an address, if it listens there.
pub(super) fn find(asked: &[u8]) -> Option<i32> {
    all()
        .iter()
        .find(|it| it.listens.get() && it.asked.get().bytes() == asked)
        .map(|it| it.descriptor.get())
}

/// The socket's actual address, as the kernel takes it.
pub(super) fn actual_address(descriptor: i32) -> Option<([u8; Address::LONGEST], usize)> {
    let found = all().iter().find(|it| it.descriptor.get() == descriptor)?.actual.get();
    Some((found.all, found.len))
}

/// What the program asked for, if this is an actual address of one of its sockets.
pub(super) fn asked_for(actual: &Address) -> Option<Address> {
    all().iter().find(|it| it.actual.get().is_at(actual)).map(|it| it.asked.get())
}

/// Whether a call may get another address: the socket is for connections, and clients can know the address.
fn is_moved(descriptor: u64, asked: &Address) -> bool {
    option(descriptor, libc::SO_TYPE) == libc::SOCK_STREAM
        && match asked.family() {
            libc::AF_INET | libc::AF_INET6 => asked.port() != 0,
            libc::AF_UNIX => asked.len > 2,
            _ => false,
        }
}

/// `bind`.
pub(crate) fn bind(args: [u64; 6]) -> i64 {
    let asked = Address::of(args[1], args[2]);
    let Some(asked) = asked.filter(|asked| clients::are_there() && is_moved(args[0], asked)) else {
        return pass(libc::SYS_bind, args);
    };
    let Some(slot) = LISTENERS.all.get(LISTENERS.count.get()) else {
        return -i64::from(libc::ENOBUFS);
    };
    let taken = all().iter().any(|it| it.asked.get() == asked && is_open(it));
    if taken {
        return -i64::from(libc::EADDRINUSE);
    }
    let only_own = v6_only(args[0]);
    let is_relayed = clients::are_live() || asked.family() == libc::AF_UNIX;
    let mut relay = -1;
    let new = asked.replacement(any_host(), only_own);
    let bind = || {
        // The name of a socket is a file, so this is made where the program's call would make it: after
        // the working directory was copied.
        if is_relayed && relay < 0 {
            relay = make_relay(&asked, only_own);
            if relay < 0 {
                return relay;
            }
        }
        // SAFETY: the kernel reads the local; the rest is the program's own call.
        unsafe { raw::call!(libc::SYS_bind, args[0], new.all.as_ptr(), new.len) }
    };
    let answer = pass_as(libc::SYS_bind, args, bind);
    let actual = read_address(libc::SYS_getsockname, args[0]);
    let (0, Some(actual)) = (answer, actual) else {
        // SAFETY: passes no pointer; the descriptor is the runtime's own.
        unsafe { raw::call!(libc::SYS_close, relay) };
        return answer;
    };
    slot.descriptor.set(args[0] as i32);
    slot.asked.set(asked);
    slot.actual.set(actual);
    slot.relay.set(relay as i32);
    slot.listens.set(false);
    inode(args[0]).into_iter().for_each(|(_, inode)| clients::serve_at(inode));
    LISTENERS.count.set(LISTENERS.count.get() + 1);
    0
}

/// Whether a socket is for addresses of version 6 of the protocol only.
fn v6_only(descriptor: u64) -> bool {
    let (mut only, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes only to the two locals.
    unsafe {
        let (level, option) = (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
        raw::call!(libc::SYS_getsockopt, descriptor, level, option, &raw mut only, &raw mut len);
    }
    only != 0
}

/// A number that executions seldom have in common. The program never sees it.
fn any_host() -> u32 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes only to the local.
    let process = unsafe {
        raw::call!(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time);
        raw::call!(libc::SYS_getpid)
    };
    let mixed = (time.tv_nsec as u64 ^ (process as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as u32
}

/// Whether the program's descriptor still leads to the socket.
fn is_open(it: &Bound) -> bool {
    let own = read_address(libc::SYS_getsockname, it.descriptor.get() as u64);
    own.is_some_and(|own| own.is_at(&it.actual.get()))
}

/// A socket of the runtime at this address, or an error.
fn make_relay(at: &Address, v6_only: bool) -> i64 {
    let yes = 1i32;
    // SAFETY: the calls pass addresses of locals with their lengths.
    unsafe {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let new = raw::call!(libc::SYS_socket, at.family(), kind, 0);
        if new < 0 {
            return new;
        }
        let socket = descriptors::moved(new, descriptors::RUNTIME);
        if at.family() != libc::AF_UNIX {
            let (level, option) = (libc::SOL_SOCKET, libc::SO_REUSEADDR);
            raw::call!(libc::SYS_setsockopt, socket, level, option, &raw const yes, 4);
            if v6_only {
                let (level, option) = (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY);
                raw::call!(libc::SYS_setsockopt, socket, level, option, &raw const yes, 4);
            }
        }
        let answer = raw::call!(libc::SYS_bind, socket, at.all.as_ptr(), at.len);
        if answer < 0 {
            raw::call!(libc::SYS_close, socket);
            return answer;
        }
        socket
    }
}

/// `listen` succeeded: whether the program listens at a further address.
pub(super) fn listens(descriptor: u64) -> bool {
    let Some(it) = all().iter().find(|it| it.descriptor.get() as u64 == descriptor && is_open(it))
    else {
        return false;
    };
    if it.listens.replace(true) {
        return false;
    }
    if clients::are_live() {
        // SAFETY: passes no pointer.
        unsafe { raw::call!(libc::SYS_listen, it.relay.get(), 128) };
    }
    true
}

/// `connect`: the program itself may be a client of one of its sockets.
pub(crate) fn connect(args: [u64; 6], site: u64) -> i64 {
    let to = Address::of(args[1], args[2]).filter(|_| clients::are_there());
    let found = to.and_then(|to| all().iter().find(|it| it.asked.get().is_meant_by(&to)));
    match found.map(|it| it.actual.get()) {
        Some(actual) => {
            let rest = [actual.all.as_ptr() as u64, actual.len as u64];
            crate::kernel::opening::connect([args[0], rest[0], rest[1], 0, 0, 0], site)
        }
        None => crate::kernel::opening::connect(args, site),
    }
}
