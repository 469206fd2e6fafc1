//! `sendfile`, `splice`, `tee` and `vmsplice`: transfers within the kernel, which must not block the one
//! kernel thread.

use crate::kernel::descriptor_kind::{Kind, kind};
use crate::kernel::park::{Blocking, words_of};
use crate::kernel::pass::{pass, pass_as};
use crate::kernel::polling::Poll;
use crate::state::task::ExternalWait;
use crate::sys::open_flags::{OpenFlags, may_wait_to_write};
use crate::sys::raw;

/// How much a descriptor that is ready for writing takes without blocking.
const PAGE: u64 = 4096;
const AGAIN: i64 = -(libc::EAGAIN as i64);

/// Whether one descriptor is open for reading and the other for writing. Else a transfer fails at once.
fn allows(from: u64, to: u64) -> bool {
    OpenFlags::of(from).is_some_and(OpenFlags::reads)
        && OpenFlags::of(to).is_some_and(OpenFlags::writes)
}

/// Whether a descriptor may block and is not ready.
fn blocks(descriptor: u64, events: i16) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events, revents: 0 };
    OpenFlags::of(descriptor).is_some_and(OpenFlags::waits)
        && kind(descriptor) != Kind::Other
        && !Poll::of(std::slice::from_mut(&mut one)).is_ready()
}

/// Whether the call whose descriptors are described here can make progress. The scheduler calls this.
fn is_possible(both: u64) -> bool {
    // SAFETY: the address is that of the two descriptors on the stack of a task that is parked in
    // `wait`.
    let [from, to] = unsafe { *(both as *const [u64; 2]) };
    !blocks(from, libc::POLLIN) && !blocks(to, libc::POLLOUT)
}

/// Waits until data can go from one descriptor to another; the call's result if it ends with the wait.
fn wait(call: &Blocking, from: u64, to: u64) -> Result<(), i64> {
    let both = [from, to];
    while !is_possible(&raw const both as u64) {
        call.wait_for(&ExternalWait::new(is_possible, &raw const both as u64))?;
    }
    Ok(())
}

/// `sendfile`: as many calls as the receiver needs, each of which it takes at once.
pub(crate) fn sendfile(args: [u64; 6], site: u64) -> i64 {
    let [to, from, offset, len, ..] = args;
    if !allows(from, to) || !may_wait_to_write(to) || kind(to) == Kind::Other {
        return pass(libc::SYS_sendfile, args);
    }
    let mut call = Blocking::new(to, libc::POLLOUT, site)
        .limited_by(libc::SO_SNDTIMEO)
        .changing(words_of(from));
    loop {
        if let Err(result) = wait(&call, from, to) {
            return result;
        }
        let part = (len - call.done as u64).min(PAGE);
        // SAFETY: the program's own call, for a part of what it asked for.
        let answer = pass_as(libc::SYS_sendfile, args, || unsafe {
            raw::call!(libc::SYS_sendfile, to, from, offset, part)
        });
        call.done += answer.max(0) as usize;
        if answer <= 0 || call.done as u64 == len {
            return call.result(answer.min(0));
        }
    }
}

/// `splice`, `tee` and `vmsplice`: the kernel itself stops after the first part where it would have to
/// wait for more, except where it writes to a socket.
pub(crate) fn splice(number: i64, args: [u64; 6], site: u64) -> i64 {
    const NOW: u64 = libc::SPLICE_F_NONBLOCK as u64;
    let (from, to, flags) = match number {
        libc::SYS_splice => (args[0], args[2], 5),
        libc::SYS_tee => (args[0], args[1], 3),
        _ => (args[0], args[0], 3),
    };
    if args[flags] & NOW != 0 || number != libc::SYS_vmsplice && !allows(from, to) {
        return pass(number, args);
    }
    let mut now = args;
    now[flags] |= NOW;
    let to_socket = matches!(kind(to), Kind::Stream | Kind::Messages);
    let len = if number == libc::SYS_splice { 4 } else { 2 };
    let mut call = Blocking::new(from, libc::POLLIN, site);
    loop {
        let waited = match number {
            libc::SYS_vmsplice if !OpenFlags::of(to).is_some_and(OpenFlags::writes) => {
                wait_one(&call, from, libc::POLLIN)
            }
            libc::SYS_vmsplice => wait_one(&call, to, libc::POLLOUT),
            // What was moved before is the result when there is no more.
            _ if call.done > 0 && blocks(from, libc::POLLIN) => return call.done as i64,
            _ => wait(&call, from, to),
        };
        if let Err(result) = waited {
            return result;
        }
        if to_socket && may_wait_to_write(to) && number == libc::SYS_splice {
            now[len] = (args[len] - call.done as u64).min(PAGE);
        }
        // SAFETY: the program's own call, in the form that does not wait, for a part of it.
        let answer = pass_as(number, args, || unsafe { raw::syscall(number, now) });
        if answer == AGAIN && call.done == 0 {
            // A descriptor of which the poll says too much.
            if let Err(result) = call.wait() {
                return result;
            }
            continue;
        }
        call.done += answer.max(0) as usize;
        if answer <= 0 || now[len] == args[len] || call.done as u64 == args[len] {
            return call.result(answer.min(0));
        }
    }
}

fn wait_one(call: &Blocking, descriptor: u64, events: i16) -> Result<(), i64> {
    let mut one = libc::pollfd { fd: descriptor as i32, events, revents: 0 };
    let poll = Poll::of(std::slice::from_mut(&mut one));
    while !poll.is_ready() {
        call.wait_for(&poll.wait())?;
    }
    Ok(())
}
