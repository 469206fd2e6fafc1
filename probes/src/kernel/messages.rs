//! `sendmmsg` and `recvmmsg`: several messages, each sent or received as by a separate call.

use crate::kernel::transfer;
use crate::state::clock;

const SIZE: u64 = size_of::<libc::mmsghdr>() as u64;

/// The call for each message in turn, until one fails: the number of those before it, or the error of
/// the first.
fn each(args: [u64; 6], mut one: impl FnMut(u64, u64) -> i64) -> i64 {
    let [_, messages, count, ..] = args;
    // The kernel's limit (`UIO_MAXIOV`).
    for index in 0..count.min(1024) {
        let message = messages + index * SIZE;
        let answer = one(index, message);
        if answer < 0 {
            return if index == 0 { answer } else { index as i64 };
        }
        // SAFETY: the kernel has read the message, which is the first field of the program's element.
        unsafe { (*(message as *mut libc::mmsghdr)).msg_len = answer as u32 };
    }
    count.min(1024) as i64
}

/// `sendmmsg`.
pub(crate) fn send(args: [u64; 6], site: u64) -> i64 {
    each(args, |_, message| {
        transfer::send(libc::SYS_sendmsg, [args[0], message, args[3], 0, 0, 0], site)
    })
}

/// `recvmmsg`. The kernel checks its time limit only after a message, so the call waits for the first one
/// without limit.
pub(crate) fn receive(args: [u64; 6], site: u64) -> i64 {
    let [descriptor, .., flags, limit, _] = args;
    if limit != 0 && !clock::is_span(limit) {
        return -i64::from(libc::EINVAL);
    }
    let until = (limit != 0).then(|| clock::now().saturating_add(clock::nanoseconds(limit)));
    let mut over = false;
    let answer = each(args, |index, message| {
        if index > 0 && over {
            return -i64::from(libc::EAGAIN);
        }
        let mut flags = flags & !(libc::MSG_WAITFORONE as u64);
        if index > 0 && args[3] & libc::MSG_WAITFORONE as u64 != 0 {
            flags |= libc::MSG_DONTWAIT as u64;
        }
        let answer =
            transfer::receive(libc::SYS_recvmsg, [descriptor, message, flags, 0, 0, 0], site);
        over = until.is_some_and(|until| clock::now() >= until);
        answer
    });
    if let Some(until) = until {
        let left = until.saturating_sub(clock::now());
        // SAFETY: the program passed a valid `timespec`, which the kernel updates, too.
        unsafe {
            *(limit as *mut libc::timespec) = libc::timespec {
                tv_sec: (left / 1_000_000_000) as i64,
                tv_nsec: (left % 1_000_000_000) as i64,
            };
        }
    }
    answer
}
