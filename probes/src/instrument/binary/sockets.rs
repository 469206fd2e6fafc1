//! Which sockets are the two ends of one connection: what is written to one is read from the other, so both
//! have one state.

use crate::sys::raw;
use std::cell::Cell;

/// The number of all datagram sockets that `socketpair` did not make: each may send to any other. No inode
/// has it.
const DATAGRAMS: u64 = u64::MAX;
/// Marks a number that is a hash of an address.
const NAMED: u64 = 1 << 63;
/// The size of the longest address (`struct sockaddr_un`).
const LONGEST: usize = 110;
/// How many pairs are remembered.
const PAIRS: usize = 256;

/// The inodes of sockets that `socketpair` made.
struct Pairs {
    all: [Cell<(u64, u64)>; PAIRS],
    next: Cell<usize>,
}

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Pairs {}

static MADE: Pairs = Pairs { all: [const { Cell::new((0, 0)) }; PAIRS], next: Cell::new(0) };

/// How many connections are remembered.
const CONNECTIONS: usize = 64;

/// The sockets of the current execution that were an end of a connection with a name: the inode, and the number of the
/// connection. A socket whose peer has gone has no name of it any more.
struct Connections {
    all: [Cell<(u64, u64)>; CONNECTIONS],
    next: Cell<usize>,
}

// SAFETY: as for `Pairs`.
unsafe impl Sync for Connections {}

static CONNECTED: Connections =
    Connections { all: [const { Cell::new((0, 0)) }; CONNECTIONS], next: Cell::new(0) };

/// An execution begins.
pub(super) fn begin() {
    CONNECTED.next.set(0);
}

/// The number of the connection of which a socket was an end before, if it was one.
fn earlier(inode: u64) -> Option<u64> {
    let filled = &CONNECTED.all[..CONNECTED.next.get().min(CONNECTIONS)];
    filled.iter().map(Cell::get).find(|(known, _)| *known == inode).map(|(_, number)| number)
}

/// A socket is an end of this connection: the number.
fn remember(inode: u64, number: u64) -> u64 {
    if earlier(inode).is_none() {
        let next = CONNECTED.next.get();
        CONNECTED.all[next % CONNECTIONS].set((inode, number));
        CONNECTED.next.set(next + 1);
    }
    number
}

/// The program made a pair of sockets with these inodes.
pub(super) fn made(pair: (u64, u64)) {
    let next = MADE.next.get();
    MADE.all[next % PAIRS].set(pair);
    MADE.next.set(next + 1);
}

/// A number that both ends of a connection have.
pub(super) fn connection(descriptor: i32, inode: u64) -> u64 {
    let is_end = |pair: &(u64, u64)| pair.0 == inode || pair.1 == inode;
    let filled = &MADE.all[..MADE.next.get().min(PAIRS)];
    // Numbers of inodes are used again: the last pair counts.
    let latest = (0..filled.len()).map(|back| (MADE.next.get() - 1 - back) % PAIRS);
    if let Some(pair) = latest.map(|at| filled[at].get()).find(is_end) {
        return pair.0.min(pair.1);
    }
    if kind(descriptor) == libc::SOCK_DGRAM {
        return DATAGRAMS;
    }
    let names = [libc::SYS_getsockname, libc::SYS_getpeername].map(|which| name(which, descriptor));
    match names {
        // Of two ends that have a name each, both have the two. One of them may be that of many connections.
        [Some(own), Some(peer)] => remember(inode, own.wrapping_add(peer) | NAMED),
        // A connection to a name, of a socket without one: the other end has that name as its own.
        [None, Some(peer)] => remember(inode, peer | NAMED),
        [Some(own), None] if is_connected(descriptor) => remember(inode, own | NAMED),
        _ => earlier(inode).unwrap_or(inode),
    }
}

/// The type of a socket.
fn kind(descriptor: i32) -> i32 {
    let (mut kind, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes only to the two locals.
    unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_TYPE);
        raw::call!(libc::SYS_getsockopt, descriptor, level, option, &raw mut kind, &raw mut len);
    }
    kind
}

/// Whether the socket has a peer, which may have no name.
fn is_connected(descriptor: i32) -> bool {
    let mut address = [0u8; LONGEST];
    let mut len = LONGEST as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    unsafe {
        let (to, len) = (&raw mut address, &raw mut len);
        raw::call!(libc::SYS_getpeername, descriptor, to, len) == 0
    }
}

/// A hash of the socket's own address or its peer's; none if it has none.
fn name(which: i64, descriptor: i32) -> Option<u64> {
    /// Of an address without a name: the family only.
    const EMPTY: u32 = 2;
    let mut address = [0u8; LONGEST];
    let mut len = LONGEST as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe { raw::call!(which, descriptor, &raw mut address, &raw mut len) };
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    (answer == 0 && len > EMPTY)
        .then(|| address[..LONGEST.min(len as usize)].iter().fold(0xcbf2_9ce4_8422_2325, hash) >> 1)
}
