//! The addresses that the program sees of its sockets for clients, and of their peers.

use super::address::{Address, as_asked, read_address};
use super::{connections, listeners};
use crate::state::clients;
use crate::sys::raw;

/// How much room the program has for the address that a call is to write.
pub(crate) fn room(number: i64, args: [u64; 6]) -> usize {
    let writes = matches!(
        number,
        libc::SYS_accept | libc::SYS_accept4 | libc::SYS_getpeername | libc::SYS_getsockname
    );
    let mut room = [0u8; 4];
    match writes && clients::are_there() && raw::read(args[2], &mut room) {
        true => u32::from_ne_bytes(room) as usize,
        false => 0,
    }
}

/// A call of the program has returned that may have to do with a connection. `room`: what the function of this name
/// returned before.
pub(super) fn returned(number: i64, args: [u64; 6], room: usize, answer: i64) {
    match number {
        libc::SYS_accept | libc::SYS_accept4 => {
            let peer = read_address(libc::SYS_getpeername, answer as u64);
            connections::accepted(peer.map_or(0, |peer| peer.port()), answer as i32);
            peer.into_iter().for_each(|peer| show(shown_peer(peer), args, room));
        }
        libc::SYS_getpeername => {
            let peer = read_address(number, args[0]);
            peer.into_iter().for_each(|peer| show(shown_peer(peer), args, room));
        }
        libc::SYS_getsockname => {
            let own = read_address(number, args[0]);
            own.into_iter().for_each(|own| show(shown_own(own, args[0]), args, room));
        }
        _ => {}
    }
}

/// The peer's address as the program is to see it, if it is a client's.
fn shown_peer(mut peer: Address) -> Option<Address> {
    // The program's own connection to one of its sockets.
    if let Some(asked) = listeners::asked_for(&peer) {
        return Some(as_asked(peer, asked, true));
    }
    peer.set_port(connections::shown_port(peer.port())?);
    Some(peer)
}

/// A socket's own address as the program is to see it, if it is one that got another address.
fn shown_own(own: Address, descriptor: u64) -> Option<Address> {
    let asked = listeners::asked_for(&own)?;
    let is_connected = read_address(libc::SYS_getpeername, descriptor).is_some();
    Some(as_asked(own, asked, is_connected))
}

/// Writes an address where the kernel has written one.
fn show(address: Option<Address>, args: [u64; 6], room: usize) {
    let (Some(address), [_, to, len, ..]) = (address, args) else { return };
    if to == 0 || len == 0 {
        return;
    }
    let count = address.len.min(room);
    // SAFETY: the kernel has written to both places for this call, and the program has this much room there.
    unsafe {
        std::ptr::copy_nonoverlapping(address.all.as_ptr(), to as *mut u8, count);
        (len as *mut u32).write_unaligned(address.len as u32);
    }
}
