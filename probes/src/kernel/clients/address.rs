//! Addresses of sockets, as the kernel has them.

use crate::sys::raw;

/// An address of a socket, as the kernel has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) all: [u8; Address::LONGEST],
    pub(super) len: usize,
}

impl Address {
    /// The size of the longest address (`struct sockaddr_un`).
    pub(super) const LONGEST: usize = 110;
    pub(super) const NONE: Address = Address { all: [0; Address::LONGEST], len: 0 };

    /// The address that the program passes to a call.
    pub(super) fn of(at: u64, len: u64) -> Option<Address> {
        let mut address = Address { len: len as usize, ..Address::NONE };
        let is_valid = (2..=Address::LONGEST as u64).contains(&len)
            && raw::read(at, &mut address.all[..len as usize]);
        is_valid.then_some(address)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.all[..self.len]
    }

    pub(super) fn family(&self) -> i32 {
        i32::from(u16::from_ne_bytes([self.all[0], self.all[1]]))
    }

    pub(super) fn is_of_network(&self) -> bool {
        matches!(self.family(), libc::AF_INET | libc::AF_INET6)
    }

    /// The port; 0 if it has none.
    pub(super) fn port(&self) -> u16 {
        if self.is_of_network() { u16::from_be_bytes([self.all[2], self.all[3]]) } else { 0 }
    }

    pub(super) fn set_port(&mut self, port: u16) {
        self.all[2..4].copy_from_slice(&port.to_be_bytes());
    }

    /// An address of this machine with any free port, or any free name. All of 127.0.0.0/8 are addresses of this
    /// machine: `host` is the rest of one. A port stays in use for a minute after a connection, but only with its
    /// address. `only_own`: the socket is for no other family of addresses than its own.
    pub(super) fn replacement(&self, host: u32, only_own: bool) -> Address {
        let mut new = Address { len: self.len, ..Address::NONE };
        new.all[..2].copy_from_slice(&self.all[..2]);
        let [_, a, b, c] = host.to_be_bytes();
        let host = [127, a, b, c.clamp(1, 254)];
        match self.family() {
            libc::AF_INET => new.all[4..8].copy_from_slice(&host),
            libc::AF_INET6 if only_own => new.all[23] = 1,
            libc::AF_INET6 => {
                new.all[18..20].fill(0xff);
                new.all[20..24].copy_from_slice(&host);
            }
            _ => new.len = 2,
        }
        new
    }

    /// Whether both are the same place of this machine.
    pub(super) fn is_at(&self, other: &Address) -> bool {
        match self.is_of_network() {
            true => {
                self.family() == other.family()
                    && self.port() == other.port()
                    && self.host() == other.host()
            }
            false => self.bytes() == other.bytes(),
        }
    }

    /// Whether a connection to `to` leads to a socket with this address.
    pub(super) fn is_meant_by(&self, to: &Address) -> bool {
        let is_any = self.is_of_network() && self.is_any();
        self.is_at(to) || is_any && self.family() == to.family() && self.port() == to.port()
    }

    fn host(&self) -> &[u8] {
        if self.family() == libc::AF_INET { &self.all[4..8] } else { &self.all[8..24] }
    }

    /// Whether it means all addresses of the machine.
    fn is_any(&self) -> bool {
        self.host().iter().all(|byte| *byte == 0)
    }
}

/// The address of a socket, or of its peer.
pub(super) fn read_address(which: i64, descriptor: u64) -> Option<Address> {
    let mut address = Address::NONE;
    let mut len = Address::LONGEST as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe { raw::call!(which, descriptor, address.all.as_mut_ptr(), &raw mut len) };
    address.len = Address::LONGEST.min(len as usize);
    (answer == 0).then_some(address)
}

/// The port of a socket or of its peer; 0 if there is none.
pub(super) fn port_of(which: i64, descriptor: u64) -> u16 {
    read_address(which, descriptor).map_or(0, |address| address.port())
}

/// An actual address as the program asked for it. An end of a connection has the address of a host.
pub(super) fn as_asked(mut actual: Address, asked: Address, is_connected: bool) -> Address {
    if is_connected && actual.is_of_network() && asked.is_any() {
        actual.set_port(asked.port());
        match actual.family() {
            libc::AF_INET => actual.all[4..8].copy_from_slice(&[127, 0, 0, 1]),
            _ if actual.all[18] == 0xff => actual.all[20..24].copy_from_slice(&[127, 0, 0, 1]),
            _ => {}
        }
        return actual;
    }
    asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inet(host: [u8; 4], port: u16) -> Address {
        let mut address = Address { len: 16, ..Address::NONE };
        address.all[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        address.set_port(port);
        address.all[4..8].copy_from_slice(&host);
        address
    }

    #[test]
    fn a_socket_gets_a_loopback_address_and_any_port() {
        let new = inet([0, 0, 0, 0], 6379).replacement(0x12_0304, false);
        assert_eq!(new, inet([127, 0x12, 3, 4], 0));
        assert_eq!(inet([0; 4], 1).replacement(0, false), inet([127, 0, 0, 1], 0));
    }

    #[test]
    fn a_connection_shows_the_port_that_the_program_asked_for() {
        let asked = inet([0, 0, 0, 0], 6379);
        let actual = inet([127, 9, 8, 7], 40123);
        assert_eq!(as_asked(actual, asked, true), inet([127, 0, 0, 1], 6379));
        assert_eq!(as_asked(actual, asked, false), asked);
        let one = inet([127, 0, 0, 1], 6379);
        assert_eq!(as_asked(actual, one, true), one);
    }

    #[test]
    fn a_socket_for_all_hosts_is_meant_by_each_of_them() {
        let any = inet([0, 0, 0, 0], 80);
        assert!(any.is_meant_by(&inet([127, 0, 0, 1], 80)));
        assert!(!any.is_meant_by(&inet([127, 0, 0, 1], 81)));
        assert!(!inet([10, 0, 0, 1], 80).is_meant_by(&inet([127, 0, 0, 1], 80)));
    }
}
