//! Calls that write to pipes and sockets, and calls that read from them, without blocking the one
//! kernel thread.
//!
//! A pipe or socket takes as much as there is room for; the rest waits, with its task. No flag of the
//! open file is changed, since other processes may use it: sockets take `MSG_DONTWAIT`, pipes
//! `RWF_NOWAIT`, and where a kernel does not know that for pipes, a page is written at a time, which
//! never blocks while the pipe is ready.

use crate::detect::access;
use crate::instrument::binary::open_files;
use crate::kernel::descriptor_kind::{Kind, describe, kind};
use crate::kernel::park::Blocking;
use crate::kernel::pass::{pass, pass_as};
use crate::kernel::polling::room;
use crate::kernel::readiness;
use crate::kernel::short_counts;
use crate::kernel::signal_delivery;
use crate::kernel::socket_limits::may_wait_for;
use crate::kernel::timer::descriptor;
use crate::schedule::scheduler::point;
use crate::state::pending_signals::Information;
use crate::state::task::Gate;
use crate::state::world::world;
use crate::sys::open_flags::{may_wait_to_read, may_wait_to_write};
use crate::sys::raw;
use crate::sys::readable::is_readable;
use traces::Operation;

const AGAIN: i64 = -(libc::EAGAIN as i64);
const BROKEN: i64 = -(libc::EPIPE as i64);
/// How much a pipe that is ready takes at least (`PIPE_BUF`).
const PAGE: usize = 4096;
/// The parts of the rest of a transfer that one call passes on.
const WINDOW: usize = 16;
const NO_PART: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// The parts of `all` that are left after `done` bytes, as many as there is room for, with at most
/// `most` bytes.
fn rest(
    all: &[libc::iovec],
    mut done: usize,
    most: usize,
    to: &mut [libc::iovec; WINDOW],
) -> usize {
    let (mut count, mut room) = (0, most);
    for part in all {
        let skipped = done.min(part.iov_len);
        done -= skipped;
        let len = (part.iov_len - skipped).min(room);
        if len > 0 && count < WINDOW {
            // SAFETY: `skipped` is at most the part's length.
            let iov_base = unsafe { part.iov_base.byte_add(skipped) };
            to[count] = libc::iovec { iov_base, iov_len: len };
            (count, room) = (count + 1, room - len);
        }
    }
    count
}

/// Where the data of a call is: an array of parts.
#[derive(Clone, Copy)]
struct Data {
    parts: u64,
    count: usize,
}

impl Data {
    /// # Safety
    /// The kernel has read the array, so it is valid, and it belongs to the calling task.
    unsafe fn all<'d>(self) -> &'d [libc::iovec] {
        match self.count {
            0 => &[],
            // SAFETY: the caller's promise.
            count => unsafe { std::slice::from_raw_parts(self.parts as *const libc::iovec, count) },
        }
    }
}

/// Sends `SIGPIPE` to the running task.
fn broken(site: u64) {
    let me = world().current.get();
    signal_delivery::arrive_at(me, libc::SIGPIPE, Information::BY_PROCESS, site);
}

/// `write`, `writev`, `sendto` and `sendmsg`.
pub(crate) fn send(number: i64, args: [u64; 6], site: u64) -> i64 {
    match kind(args[0]) {
        Kind::Pipe => to_pipe(number, args, site),
        Kind::Stream | Kind::Messages => to_socket(number, args, site),
        Kind::Other => {
            let call = Blocking::new(args[0], libc::POLLOUT, site);
            match may_wait_to_write(args[0]).then(|| before(&call, number, args)) {
                Some(Err(error)) => error,
                _ => pass(number, args),
            }
        }
    }
}

/// Waits until a call on something other than a pipe or a socket would not block.
fn before(call: &Blocking, number: i64, args: [u64; 6]) -> Result<(), i64> {
    let mut one = libc::pollfd { fd: args[0] as i32, events: libc::POLLOUT, revents: 0 };
    // SAFETY: the kernel writes only to `one`.
    let mut ready = || unsafe { raw::call!(libc::SYS_poll, &raw mut one, 1, 0) != 0 };
    while !ready() || number == libc::SYS_write && exceeds_counter(args) {
        call.wait()?;
    }
    Ok(())
}

/// Whether a write to an eventfd waits although smaller ones would not: the counter has no room.
fn exceeds_counter(args: [u64; 6]) -> bool {
    const MOST: u64 = u64::MAX - 1;
    let mut bytes = [0; 8];
    if args[2] != 8 || !raw::read(args[1], &mut bytes) {
        return false;
    }
    let added = u64::from_ne_bytes(bytes);
    added > 1 && added <= MOST && counter(args[0]).is_some_and(|count| count > MOST - added)
}

/// The counter of an eventfd; none for other descriptors.
fn counter(descriptor: u64) -> Option<u64> {
    let mut text = [0; 256];
    let text = std::str::from_utf8(describe(descriptor, &mut text)).ok()?;
    let count = text.split_once("eventfd-count:")?.1.lines().next()?;
    u64::from_str_radix(count.trim(), 16).ok()
}

/// `write` and `writev` to a pipe.
fn to_pipe(number: i64, args: [u64; 6], site: u64) -> i64 {
    let single = libc::iovec { iov_base: args[1] as *mut _, iov_len: args[2] as usize };
    let data = match number {
        libc::SYS_write => Data { parts: &raw const single as u64, count: 1 },
        libc::SYS_writev => Data { parts: args[1], count: args[2] as usize },
        _ => return pass(number, args),
    };
    if number == libc::SYS_write && args[2] == 0 {
        return pass(number, args);
    }
    let wrote = |answer| open_files::transferred(args[0], answer, false);
    let mut call = Blocking::new(args[0], libc::POLLOUT, site);
    let mut waited = false;
    loop {
        let mut found = room(args[0]);
        // At first as much is written as there is room for.
        let mut most = usize::MAX;
        if waited && found != 0 {
            if open_files::continues(args[0], site) {
                most = PAGE;
            }
            found = room(args[0]);
        }
        if found & libc::POLLERR != 0 {
            // The kernel would send the signal to the process, and not to the task.
            broken(site);
            return call.result(BROKEN);
        }
        let is_ready = found & libc::POLLOUT != 0;
        let is_small = number == libc::SYS_write && args[2] as usize <= PAGE;
        if call.done == 0 && !(is_small && is_ready) && !may_wait_to_write(args[0]) {
            let answer = wrote(pass(number, args));
            if answer == AGAIN {
                point(Operation::Yield, 0, site, Gate::Open);
            }
            return answer;
        }
        // Nothing has checked the parts of `writev` yet.
        let limit = if call.done == 0 && number != libc::SYS_write { usize::MAX } else { most };
        let answer = match call.done {
            0 if is_small => match is_ready {
                true => return wrote(pass(number, args)),
                false => AGAIN,
            },
            _ => {
                let part = || part_to_pipe(args[0], (data, call.done), limit, is_ready);
                wrote(pass_as(number, args, part))
            }
        };
        match answer {
            AGAIN => {
                open_files::waits_for_room(args[0], call.done);
                if let Err(result) = call.wait() {
                    return result;
                }
                waited = true;
            }
            ..=0 => return if call.done > 0 { call.result(0) } else { answer },
            _ => {
                call.done += answer as usize;
                // SAFETY: the kernel has read the array.
                let all = unsafe { data.all() }.iter().map(|part| part.iov_len).sum();
                if call.done >= all {
                    return call.done as i64;
                }
            }
        }
    }
}

/// Writes what the pipe takes now, from `done` on, and at most `most` bytes.
fn part_to_pipe(descriptor: u64, (data, done): (Data, usize), most: usize, is_ready: bool) -> i64 {
    const HERE: i64 = -1;
    let mut parts = [NO_PART; WINDOW];
    let (from, count) = match done {
        0 if most == usize::MAX => (data.parts, data.count),
        // SAFETY: something was written, so the kernel has read the array; or it is the caller's, of one part.
        _ => (parts.as_ptr() as u64, rest(unsafe { data.all() }, done, most, &mut parts)),
    };
    // SAFETY: the program's own data, which the kernel checks.
    let answer = unsafe {
        raw::call!(libc::SYS_pwritev2, descriptor, from, count, HERE, HERE, libc::RWF_NOWAIT)
    };
    // Kernels before 6.5 do not know this for pipes, and no kernel for those with a name.
    if ![libc::EOPNOTSUPP, libc::ENOSYS].iter().any(|&error| answer == -i64::from(error)) {
        return answer;
    }
    if !is_ready {
        return AGAIN;
    }
    // SAFETY: the kernel reads an array of no parts, or the local one; it checks the program's.
    unsafe {
        if done == 0 {
            // Checks the array, which nothing has read yet.
            let mut byte = [0u8; size_of::<libc::iovec>()];
            let valid =
                (0..count as u64).all(|part| raw::read(from + part * byte.len() as u64, &mut byte));
            if !valid {
                return -i64::from(libc::EFAULT);
            }
        }
        let count = rest(data.all(), done, PAGE, &mut parts);
        raw::call!(libc::SYS_writev, descriptor, parts.as_ptr(), count)
    }
}

/// The same for a socket.
fn to_socket(number: i64, args: [u64; 6], site: u64) -> i64 {
    const QUIETLY: u64 = (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as u64;
    let [descriptor, from, len, flags, name, name_len] = args;
    let single = libc::iovec { iov_base: from as *mut _, iov_len: len as usize };
    let flags = match number {
        libc::SYS_sendto => flags,
        libc::SYS_sendmsg => len,
        _ => 0,
    };
    let waits =
        flags as i32 & libc::MSG_DONTWAIT == 0 && may_wait_for(descriptor, libc::SO_SNDTIMEO);
    let is_stream = kind(descriptor) == Kind::Stream;
    let len = if waits { len } else { short_counts::sent(number, args, site) };
    let mut message = EMPTY;
    let first = match number {
        libc::SYS_sendmsg => [descriptor, from, flags | QUIETLY, 0, 0, 0],
        libc::SYS_writev => {
            (message.msg_iov, message.msg_iovlen) = (from as *mut _, len as usize);
            [descriptor, &raw const message as u64, QUIETLY, 0, 0, 0]
        }
        libc::SYS_write => [descriptor, from, len, QUIETLY, 0, 0],
        _ => [descriptor, from, len, flags | QUIETLY, name, name_len],
    };
    let with = match number {
        libc::SYS_sendmsg | libc::SYS_writev => libc::SYS_sendmsg,
        _ => libc::SYS_sendto,
    };
    let mut call = Blocking::new(descriptor, libc::POLLOUT, site).limited_by(libc::SO_SNDTIMEO);
    let data = |number: i64| match number {
        libc::SYS_write | libc::SYS_sendto => Data { parts: &raw const single as u64, count: 1 },
        libc::SYS_writev => Data { parts: from, count: len as usize },
        // SAFETY: the kernel has read the message: a part of it was sent.
        _ => unsafe { parts_of(from) },
    };
    loop {
        let answer = if call.done == 0 {
            // SAFETY: the program's own call, in the form that does not wait.
            pass_as(number, args, || unsafe { raw::syscall(with, first) })
        } else {
            let mut parts = [NO_PART; WINDOW];
            // SAFETY: something was sent, so the kernel has read the array.
            let count = rest(unsafe { data(number).all() }, call.done, usize::MAX, &mut parts);
            let mut message = EMPTY;
            (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), count);
            let flags = flags | QUIETLY;
            // SAFETY: the message and its parts are locals that describe the program's own data.
            pass_as(number, args, || unsafe {
                raw::call!(libc::SYS_sendmsg, descriptor, &raw const message, flags)
            })
        };
        match answer {
            AGAIN if waits => {
                if let Err(result) = call.wait() {
                    return result;
                }
            }
            ..=0 => {
                let quiet = flags as i32 & libc::MSG_NOSIGNAL != 0;
                if answer == BROKEN && is_stream && !quiet && call.done == 0 {
                    broken(site);
                }
                return call.result(answer);
            }
            _ if !is_stream || !waits => return answer,
            _ => {
                call.done += answer as usize;
                // SAFETY: the kernel has read the array.
                let all: usize =
                    unsafe { data(number).all() }.iter().map(|part| part.iov_len).sum();
                if call.done >= all {
                    return call.done as i64;
                }
            }
        }
    }
}

/// The parts of a message.
///
/// # Safety
/// The kernel has read the message at this address, so it is valid.
unsafe fn parts_of(message: u64) -> Data {
    // SAFETY: the caller's promise.
    let message = unsafe { *(message as *const libc::msghdr) };
    Data { parts: message.msg_iov as u64, count: message.msg_iovlen }
}

const EMPTY: libc::msghdr = libc::msghdr {
    msg_name: std::ptr::null_mut(),
    msg_namelen: 0,
    msg_iov: std::ptr::null_mut(),
    msg_iovlen: 0,
    msg_control: std::ptr::null_mut(),
    msg_controllen: 0,
    msg_flags: 0,
};

/// How many bytes these parts have; none if their array cannot be read.
fn size_of_parts(parts: u64, count: u64) -> Option<u64> {
    /// `UIO_MAXIOV`
    const MOST: u64 = 1024;
    let size = |at: u64| {
        let mut bytes = [0; 8];
        let address = parts.checked_add(at * size_of::<libc::iovec>() as u64 + 8)?;
        raw::read(address, &mut bytes).then_some(u64::from_ne_bytes(bytes))
    };
    if count > MOST {
        return None;
    }
    (0..count).try_fold(0, |sum: u64, at| sum.checked_add(size(at)?))
}

/// `read` and `readv`.
pub(crate) fn read(number: i64, args: [u64; 6], site: u64) -> i64 {
    let [descriptor, to, len, ..] = args;
    let len = match number {
        libc::SYS_readv => size_of_parts(to, len).unwrap_or(0),
        _ => len,
    };
    let waits = len > 0 && access::is_in_company() && may_wait_to_read(descriptor);
    let read = if waits { open_files::read_of_pipe(descriptor, len) } else { None };
    let Some((words, read)) = read else {
        return open_files::transferred(descriptor, receive(number, args, site), true);
    };
    if let Err(result) = Blocking::new(descriptor, libc::POLLIN, site).wait_to_read(words, read) {
        return result;
    }
    read.took(pass(number, args))
}

/// `read` and `readv` of anything but a pipe, `preadv2`, `recvfrom`, `recvmsg`, `accept` and `accept4`: waits until there is something,
/// and for as long as `MSG_WAITALL` demands.
pub(crate) fn receive(number: i64, args: [u64; 6], site: u64) -> i64 {
    let flags = match number {
        libc::SYS_recvfrom => args[3] as i32,
        libc::SYS_recvmsg => args[2] as i32,
        _ => 0,
    };
    let is_ready = is_readable(args[0]);
    let whole = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0;
    if descriptor::is_one(args[0]) {
        return match readiness::wait_ready(args[0], libc::POLLIN, site) {
            true => pass(number, args),
            false => -i64::from(libc::EINTR),
        };
    }
    if is_ready && !whole {
        return pass(number, short_counts::received(number, args, false, site));
    }
    if flags & libc::MSG_DONTWAIT != 0 || !may_wait_for(args[0], libc::SO_RCVTIMEO) {
        let answer = pass(number, args);
        // A loop that tries again and again yields to the task that it waits for. The call is not
        // repeated after that: the step that yields acts on no object.
        if answer == AGAIN {
            point(Operation::Yield, 0, site, Gate::Open);
        }
        return answer;
    }
    let whole = whole && kind(args[0]) == Kind::Stream;
    let call = Blocking::new(args[0], libc::POLLIN, site).limited_by(libc::SO_RCVTIMEO);
    // What the call returns is a matter of the order of the steps after which it continues.
    let mut call = call.in_one_step();
    loop {
        if !is_readable(args[0]) {
            if let Err(result) = call.wait() {
                return result;
            }
            continue;
        }
        let (at, len) = (args[1] + call.done as u64, args[2].wrapping_sub(call.done as u64));
        let flags = (flags & !libc::MSG_WAITALL | libc::MSG_DONTWAIT) as u64;
        let (mut parts, mut message) = ([NO_PART; WINDOW], EMPTY);
        let now = match number {
            libc::SYS_recvfrom => [args[0], at, len, flags, args[4], args[5]],
            libc::SYS_recvmsg if call.done == 0 => [args[0], args[1], flags, 0, 0, 0],
            libc::SYS_recvmsg => {
                // SAFETY: something was received, so the kernel has read the message and its array.
                let all = unsafe { parts_of(args[1]).all() };
                message.msg_iovlen = rest(all, call.done, usize::MAX, &mut parts);
                message.msg_iov = parts.as_mut_ptr();
                [args[0], &raw const message as u64, flags, 0, 0, 0]
            }
            _ => args,
        };
        let now = if whole { now } else { short_counts::received(number, now, true, site) };
        // SAFETY: the program's own call, in the form that does not wait.
        let answer = pass_as(number, args, || unsafe { raw::syscall(number, now) });
        match answer {
            AGAIN => {
                if let Err(result) = call.wait() {
                    return result;
                }
            }
            1.. if whole => {
                call.done += answer as usize;
                let wanted = match number {
                    libc::SYS_recvfrom => args[2] as usize,
                    // SAFETY: as above.
                    _ => unsafe { parts_of(args[1]).all() }.iter().map(|part| part.iov_len).sum(),
                };
                if call.done >= wanted {
                    return call.done as i64;
                }
            }
            _ => return call.result(answer),
        }
    }
}
