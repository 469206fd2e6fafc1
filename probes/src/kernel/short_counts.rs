//! Transfers over network connections that are shorter than they could be (`--short-counts`).
//!
//! The kernel may deliver the bytes of a connection in pieces of any size, and may take fewer of them than it
//! has room for, where the caller does not wait for the rest. A connection on one machine rarely shows
//! that. So such a transfer is a data choice: all of it, one byte, or all but one.
//!
//! Only where Linux does so: TCP, and writes that do not wait. A pipe and a socket of the local kind deliver
//! all that is there.

use crate::kernel::descriptor_kind::{Kind, kind, option};
use crate::kernel::park::Blocking;
use crate::kernel::polling::room;
use crate::schedule::scheduler::choose_data;
use crate::state::root::root;
use crate::state::task::ExternalWait;
use crate::state::world::world;
use crate::sys::raw;

/// The index of the length among the arguments of these calls.
const LENGTH: usize = 2;

/// The arguments of a call that receives from a descriptor that is ready, perhaps with a smaller length.
/// `is_step`: the running step is this call.
pub(crate) fn received(number: i64, args: [u64; 6], is_step: bool, site: u64) -> [u64; 6] {
    const WHOLE: i32 = libc::MSG_WAITALL | libc::MSG_PEEK | libc::MSG_OOB;
    let may_be_short = match number {
        libc::SYS_read => true,
        libc::SYS_recvfrom => args[3] as i32 & WHOLE == 0,
        _ => false,
    };
    if !may_be_short || !is_possible(args) {
        return args;
    }
    if !is_step {
        begin_step(args[0], libc::POLLIN, site);
    }
    let mut there = 0i32;
    // SAFETY: the kernel writes only to the local.
    let answer = unsafe { raw::call!(libc::SYS_ioctl, args[0], libc::FIONREAD, &raw mut there) };
    let most = if answer == 0 { (there.max(0) as u64).min(args[LENGTH]) } else { 0 };
    let mut shorter = args;
    shorter[LENGTH] = shortened(most).unwrap_or(args[LENGTH]);
    shorter
}

/// The length of a call that sends without waiting, perhaps a smaller one.
pub(crate) fn sent(number: i64, args: [u64; 6], site: u64) -> u64 {
    if !matches!(number, libc::SYS_write | libc::SYS_sendto) || !is_possible(args) {
        return args[LENGTH];
    }
    begin_step(args[0], libc::POLLOUT, site);
    let most = if room(args[0]) == libc::POLLOUT { args[LENGTH] } else { 0 };
    shortened(most).unwrap_or(args[LENGTH])
}

/// Makes the call a step, to which the choice belongs. A handler that runs before it does not end the call,
/// which does not wait.
fn begin_step(descriptor: u64, events: i16, site: u64) {
    let over = ExternalWait::new(|_| true, 0).private_if(|_| true);
    let _ = Blocking::new(descriptor, events, site).in_one_step().wait_for(&over);
}

/// Whether the running task may have another short transfer, and the descriptor is a TCP connection.
fn is_possible(args: [u64; 6]) -> bool {
    args[LENGTH] > 1
        && world().task().short_counts.get() < root().short_counts
        && kind(args[0]) == Kind::Stream
        && matches!(option(args[0], libc::SO_DOMAIN), libc::AF_INET | libc::AF_INET6)
}

/// The chosen length of a transfer of at most so many bytes, if it is to be short.
fn shortened(most: u64) -> Option<u64> {
    let taken = match most {
        0 | 1 => 0,
        2 => choose_data(2),
        _ => choose_data(3),
    };
    if taken == 0 {
        return None;
    }
    let used = &world().task().short_counts;
    used.set(used.get() + 1);
    Some(if taken == 1 { 1 } else { most - 1 })
}
