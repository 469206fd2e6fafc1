//! Which descriptors only this process can make ready: a task that waits for one of those when no other
//! task can run waits forever.

use crate::kernel::children;
use crate::kernel::descriptor_kind::{Kind, describe, inode, kind, option, target_of};
use crate::kernel::own_names;
use crate::state::clients;
use crate::state::start;
use crate::sys::raw;

/// Descriptors from this number on are not inspected.
const DESCRIPTORS: u64 = 256;

/// Whether no other process can make the descriptor ready. Pipes and connected sockets that this
/// process made itself are its own; what it inherited, files, devices and sockets that wait for
/// connections are not.
pub(crate) fn is_private(descriptor: u64) -> bool {
    let mut target = [0; 64];
    let target = target_of(descriptor, &mut target);
    if start::was_open(descriptor) || is_inherited(descriptor) || children::are_there() {
        return false;
    }
    match target {
        _ if inode(descriptor).is_some_and(|(_, inode)| clients::is_served(inode)) => true,
        _ if target.starts_with(b"pipe:") => true,
        _ if target.starts_with(b"socket:") => is_connected_here(descriptor),
        b"anon_inode:[eventfd]" | b"anon_inode:[timerfd]" => true,
        b"anon_inode:[eventpoll]" => watches_only(descriptor, is_private),
        _ => own_names::is_private(descriptor),
    }
}

/// Whether it is an epoll descriptor, which is ready when one of those that it watches is.
pub(crate) fn is_epoll(descriptor: u64) -> bool {
    target_of(descriptor, &mut [0; 64]) == b"anon_inode:[eventpoll]"
}

/// Whether it is a second name of what was open before executions began, or of the other end of it.
/// (Anonymous files without a type share one inode.)
fn is_inherited(descriptor: u64) -> bool {
    let own = inode(descriptor);
    let is_pipe = kind(descriptor) == Kind::Pipe;
    is_pipe
        && (0..DESCRIPTORS)
            .any(|other| (other < 3 || start::was_open(other)) && inode(other) == own)
}

/// Whether the socket's peer is in this process.
fn is_connected_here(descriptor: u64) -> bool {
    if option(descriptor, libc::SO_ACCEPTCONN) != 0 {
        return false;
    }
    if option(descriptor, libc::SO_DOMAIN) == libc::AF_UNIX {
        // SAFETY: passes no pointer.
        let own = unsafe { raw::call!(libc::SYS_getpid) };
        // The first field of `ucred` is the process.
        return i64::from(option_of(descriptor, libc::SO_PEERCRED)) == own;
    }
    let Some(peer) = name(libc::SYS_getpeername, descriptor) else { return false };
    (0..DESCRIPTORS)
        .any(|other| other != descriptor && name(libc::SYS_getsockname, other) == Some(peer))
}

/// The first word of an option of a socket; 0 if it has none.
fn option_of(descriptor: u64, option: i32) -> i32 {
    let mut words = [0i32; 3];
    let mut len = size_of_val(&words) as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    unsafe {
        raw::call!(
            libc::SYS_getsockopt,
            descriptor,
            libc::SOL_SOCKET,
            option,
            words.as_mut_ptr(),
            &raw mut len
        );
    }
    words[0]
}

/// A socket's own address, or its peer's.
fn name(which: i64, descriptor: u64) -> Option<[u8; 28]> {
    let mut address = [0; 28];
    let mut len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel writes only to the two locals.
    let answer = unsafe { raw::call!(which, descriptor, address.as_mut_ptr(), &raw mut len) };
    (answer == 0).then_some(address)
}

/// Whether a private descriptor becomes ready only within a system call of this process: the network stack
/// may hand over data later.
pub(crate) fn is_local(descriptor: u64) -> bool {
    let mut target = [0; 64];
    match target_of(descriptor, &mut target) {
        target if target.starts_with(b"socket:") => {
            option(descriptor, libc::SO_DOMAIN) == libc::AF_UNIX
        }
        b"anon_inode:[eventpoll]" => watches_only(descriptor, is_local),
        _ => true,
    }
}

/// Whether all descriptors that an epoll descriptor watches are of this kind.
fn watches_only(descriptor: u64, is_of_kind: fn(u64) -> bool) -> bool {
    let mut text = [0; 2048];
    let text = describe(descriptor, &mut text);
    if text.len() == 2048 {
        return false;
    }
    let lines = text.split(|&byte| byte == b'\n').filter_map(|line| line.strip_prefix(b"tfd:"));
    let number = |line: &[u8]| {
        let digits = line.iter().skip_while(|byte| **byte == b' ');
        let digits = digits.take_while(|byte| byte.is_ascii_digit());
        digits.fold(0u64, |number, digit| number * 10 + u64::from(digit - b'0'))
    };
    lines.map(number).all(|one| one != descriptor && is_of_kind(one))
}
