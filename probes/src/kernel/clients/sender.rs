//! Which client has made a connection, where several run at the same time.
//!
//! The processes of a client are a session. The kernel says which process is at the other end of a Unix socket. For a
//! connection of the network, its table of connections has the inode of the client's socket, and a process of the
//! client has that open.

use super::address::{port_of, read_address};
use super::other_processes::{processes, session_of, text_of};
use crate::sys::raw;
use std::str::FromStr;

/// A process has its connections among its first descriptors, without larger gaps, or they are not found.
const DESCRIPTORS: u32 = 512;
const GAP: u32 = 16;

/// The session, out of these, that has the other end of a connection; none if it is not known, as when the socket is
/// closed already.
pub(super) fn session(socket: i32, sessions: &[i64]) -> Option<i64> {
    let own = read_address(libc::SYS_getsockname, socket as u64)?;
    if own.family() == libc::AF_UNIX {
        return session_of(peer_process(socket)?).filter(|it| sessions.contains(it));
    }
    let (server, client) = (own.port(), port_of(libc::SYS_getpeername, socket as u64));
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let inode = tables.iter().find_map(|table| inode_of(&text_of(table), client, server))?;
    let socket = format!("socket:[{inode}]");
    let has_it = |process: &i64| {
        let mut missing = 0;
        for descriptor in 0..DESCRIPTORS {
            match leads_to(&format!("/proc/{process}/fd/{descriptor}"), &socket) {
                Some(true) => return true,
                Some(false) => missing = 0,
                None if missing == GAP => return false,
                None => missing += 1,
            }
        }
        false
    };
    let of_clients = |&process: &i64| session_of(process).filter(|it| sessions.contains(it));
    let all = processes();
    all.iter().filter(|it| of_clients(it).is_some()).find(|it| has_it(it)).and_then(of_clients)
}

/// The inode of the connection with these ports, by the kernel's table of connections. A connection that its process has
/// closed has none.
fn inode_of(table: &str, own: u16, peer: u16) -> Option<u64> {
    let port = |address: &str| {
        address.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok())
    };
    // There may be thousands of ended connections.
    let written = format!(":{own:04X} ");
    // Number, own address, peer's address, state, queues, timer, retransmissions, user, time-out, inode.
    table.lines().skip(1).filter(|line| line.contains(&written)).find_map(|line| {
        let fields = line.split_ascii_whitespace().collect::<Vec<_>>();
        let is_it = port(fields.get(1)?)? == own && port(fields.get(2)?)? == peer;
        let inode = u64::from_str(fields.get(9)?).ok()?;
        (is_it && inode != 0).then_some(inode)
    })
}

/// The process at the other end of a Unix socket.
fn peer_process(socket: i32) -> Option<i64> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_PEERCRED);
        raw::call!(libc::SYS_getsockopt, socket, level, option, &raw mut peer, &raw mut len)
    };
    (answer == 0).then_some(i64::from(peer.pid))
}

/// Whether a symbolic link has this target; none if there is no such link.
fn leads_to(link: &str, target: &str) -> Option<bool> {
    let (link, mut buffer) = (format!("{link}\0"), [0u8; 64]);
    // SAFETY: the path ends with a zero byte, and the kernel writes at most the buffer's length to the buffer.
    let len = unsafe {
        let (to, len) = (buffer.as_mut_ptr(), buffer.len());
        raw::call!(libc::SYS_readlink, link.as_ptr(), to, len)
    };
    usize::try_from(len).ok().map(|len| &buffer[..len] == target.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_client_of_a_connection_is_found() {
        // SAFETY: passes no pointer.
        let own = session_of(unsafe { raw::call!(libc::SYS_getpid) }).expect("there is a session");
        let (one, _other) = UnixStream::pair().expect("there are sockets");
        assert_eq!(session(one.as_raw_fd(), &[own]), Some(own));
        assert_eq!(session(one.as_raw_fd(), &[own + 1]), None);
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let address = listener.local_addr().expect("it has an address");
        let client = TcpStream::connect(address).expect("it listens");
        let (accepted, _) = listener.accept().expect("there is a connection");
        assert_eq!(session(accepted.as_raw_fd(), &[own]), Some(own));
        assert_eq!(session(accepted.as_raw_fd(), &[own + 1]), None);
        drop(client);
        assert_eq!(session(accepted.as_raw_fd(), &[own]), None);
    }

    #[test]
    fn a_table_without_the_connection_has_no_inode() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n   \
                     0: 0100007F:1F90 0100007F:0050 01 00000000:00000000 00:00000000 00000000 0 0 77 1\n   \
                     1: 0100007F:1F91 0100007F:0050 06 00000000:00000000 00:00000000 00000000 0 0 0 1\n";
        assert_eq!(inode_of(table, 0x1f90, 80), Some(77));
        assert_eq!(inode_of(table, 80, 0x1f90), None);
        // The process has closed it.
        assert_eq!(inode_of(table, 0x1f91, 80), None);
        assert_eq!(inode_of("", 1, 2), None);
        assert_eq!(inode_of("a\nb c\n", 1, 2), None);
    }
}
