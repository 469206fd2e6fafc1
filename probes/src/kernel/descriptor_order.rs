//! What reads and writes of pipes, sockets and the like order: who reads what another task wrote comes after
//! what that task did before.

use crate::detect::access::{self, POINTS};
use crate::instrument::binary::open_files;
use crate::sys::raw;

/// All sockets: which two are connected is not known.
const SOCKETS: u64 = 1 << 61;
/// Pipes, by their inode, and other descriptors (`eventfd`, `timerfd`), by the lowest number of the open
/// file.
const PIPES: u64 = SOCKETS | 1 << 60;
const OTHERS: u64 = SOCKETS | 1 << 59;

/// The order that a call makes if it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Nothing,
    Releases(u64),
    Acquires(u64),
}

/// The order that a system call makes, which is about to be served.
pub(crate) fn of(number: i64, args: [u64; 6]) -> Order {
    let releases = matches!(
        number,
        libc::SYS_write
            | libc::SYS_writev
            | libc::SYS_sendto
            | libc::SYS_sendmsg
            | libc::SYS_sendmmsg
            | libc::SYS_close
            | libc::SYS_shutdown
    );
    let acquires = matches!(
        number,
        libc::SYS_read
            | libc::SYS_readv
            | libc::SYS_recvfrom
            | libc::SYS_recvmsg
            | libc::SYS_recvmmsg
            | libc::SYS_accept
            | libc::SYS_accept4
    );
    // Conflicts of probed code are no races; they must be seen in whichever order the calls came.
    let orders = access::is_in_company() && POINTS.certain.get();
    if !releases && !acquires || !orders {
        return Order::Nothing;
    }
    match channel(args[0]) {
        None => Order::Nothing,
        Some(channel) if releases => Order::Releases(channel),
        Some(channel) => Order::Acquires(channel),
    }
}

/// The call returned this.
pub(crate) fn apply(order: Order, answer: i64) {
    match order {
        Order::Releases(channel) if answer >= 0 => access::release(channel),
        Order::Acquires(channel) if answer >= 0 => access::acquire(channel),
        _ => {}
    }
}

/// The number of everything that goes through a descriptor; none for files, where a read may return what
/// was there before.
fn channel(descriptor: u64) -> Option<u64> {
    // SAFETY: `stat` is plain data, and the kernel writes it.
    let (answer, stat) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (raw::call!(libc::SYS_fstat, descriptor, &raw mut stat), stat)
    };
    match stat.st_mode & libc::S_IFMT {
        _ if answer != 0 => None,
        libc::S_IFIFO => Some(PIPES | stat.st_ino & ((1 << 59) - 1)),
        libc::S_IFSOCK => Some(SOCKETS),
        // Anonymous inodes have no type.
        0 => Some(OTHERS | open_files::lowest(descriptor as u32 as i32) as u32 as u64),
        _ => None,
    }
}
