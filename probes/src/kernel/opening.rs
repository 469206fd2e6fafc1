//! Calls that wait for the other side: opening a pipe with a name, and `connect`.

use crate::kernel::descriptor_kind::{Kind, kind, option, own_path};
use crate::kernel::own_names;
use crate::kernel::park::{Blocking, Held, NO_DESCRIPTOR};
use crate::kernel::pass::{pass, pass_as};
use crate::kernel::socket_limits::may_wait_for;
use crate::schedule::external;
use crate::state::open_words::{self, WordSet};
use crate::state::task::ExternalWait;
use crate::sys::raw;
use std::cell::Cell;

/// A call that opens a pipe, with the flag that lets it return at once; none for other files and flags.
fn opens_pipe(number: i64, args: [u64; 6]) -> Option<[u64; 6]> {
    const WITHOUT_WAIT: i32 = libc::O_NONBLOCK | libc::O_PATH | libc::O_DIRECTORY;
    let (directory, path, flags) = match number {
        libc::SYS_open => (libc::AT_FDCWD as u64, args[0], 1),
        _ => (args[0], args[1], 2),
    };
    let given = args[flags] as i32;
    if given & WITHOUT_WAIT != 0 || given & libc::O_ACCMODE == libc::O_RDWR {
        return None;
    }
    // SAFETY: `stat` is plain data, which the kernel writes; it checks the program's path.
    let is_pipe = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        raw::call!(libc::SYS_newfstatat, directory, path, &raw mut stat, 0) == 0
            && stat.st_mode & libc::S_IFMT == libc::S_IFIFO
    };
    let mut now = args;
    now[flags] |= libc::O_NONBLOCK as u64;
    is_pipe.then_some(now)
}

/// `open` and `openat`.
pub(crate) fn open(number: i64, args: [u64; 6], site: u64) -> i64 {
    let Some(now) = opens_pipe(number, args) else { return pass(number, args) };
    let flags = args[if number == libc::SYS_open { 1 } else { 2 }] as i32;
    let descriptor = match flags & libc::O_ACCMODE {
        libc::O_RDONLY => open_to_read(number, args, now, site),
        _ => open_to_write(number, args, now, site),
    };
    if descriptor >= 0 {
        // The open file is this call's own. It is as the program asked for.
        let flags = flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_CLOEXEC);
        // SAFETY: passes no pointer.
        unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_SETFL, flags) };
    }
    descriptor
}

/// What a call that opens an end of a pipe waits for: that a task opens the other one.
fn opened() -> WordSet {
    WordSet::of(open_words::OPEN_FILES)
}

/// Opens the reading end, which writers see from now on, and waits for one.
fn open_to_read(number: i64, args: [u64; 6], now: [u64; 6], site: u64) -> i64 {
    // SAFETY: the program's own call, in the form that does not wait.
    let descriptor = pass_as(number, args, || unsafe { raw::syscall(number, now) });
    if descriptor < 0 {
        return descriptor;
    }
    // A task that waits to open the other end has it from now on, so that this one does not wait for it.
    external::look_for_all();
    let call =
        Blocking::new(descriptor as u64, libc::POLLIN, site).changing(opened()).in_one_step();
    while !has_writer(descriptor as u64) {
        let wait = ExternalWait::new(has_writer, descriptor as u64)
            .private_if(own_names::is_private)
            .own_if(own_names::is_unshared);
        if let Err(result) = call.wait_for(&wait) {
            pass(libc::SYS_close, [descriptor as u64, 0, 0, 0, 0, 0]);
            return result;
        }
    }
    descriptor
}

/// Whether the pipe with this reading end has a writer, or had one since it was opened.
fn has_writer(descriptor: u64) -> bool {
    let mut one = libc::pollfd { fd: descriptor as i32, events: libc::POLLIN, revents: 0 };
    let mut other = [0i32; 2];
    // SAFETY: the kernel writes only to the two locals. Copying data between pipes takes none out, and
    // the other pipe is closed again.
    unsafe {
        raw::call!(libc::SYS_poll, &raw mut one, 1, 0);
        if one.revents != 0 {
            return true;
        }
        if raw::call!(libc::SYS_pipe2, other.as_mut_ptr(), libc::O_CLOEXEC) < 0 {
            return false;
        }
        // An empty pipe would make a reader wait only if it has a writer.
        let flags = libc::SPLICE_F_NONBLOCK;
        let answer = raw::call!(libc::SYS_tee, descriptor, other[1], 1, flags);
        raw::call!(libc::SYS_close, other[0]);
        raw::call!(libc::SYS_close, other[1]);
        answer == -i64::from(libc::EAGAIN)
    }
}

/// A writing end that a task waits to open, on its stack.
struct Opening {
    /// The pipe, by a descriptor that the program does not know: the wait continues if the name is removed.
    pipe: Held,
    /// The flags of the program's call, and the one that lets it return at once.
    flags: i32,
    /// The kernel's last answer.
    answer: Cell<i64>,
}

const NO_READER: i64 = -(libc::ENXIO as i64);

impl Opening {
    /// Opens the pipe if it has a reader. As in the kernel, the writer then counts at once, even if its
    /// task runs only later.
    fn attempt(&self) -> bool {
        if self.answer.get() == NO_READER {
            let path = own_path(b"/proc/self/fd/", self.pipe.descriptor() as u64);
            // SAFETY: the path ends with a zero byte.
            let open = || unsafe { raw::call!(libc::SYS_open, path.as_ptr(), self.flags, 0) };
            self.answer.set(open());
        }
        self.answer.get() != NO_READER
    }
}

/// The opening at this address, of a task that is parked in `open_to_write`, on whose stack it is.
fn opening<'o>(address: u64) -> &'o Opening {
    // SAFETY: the scheduler passes the address of a parked task's opening.
    unsafe { &*(address as *const Opening) }
}

/// A descriptor of the pipe that an [`Opening`] is for.
fn pipe_of(address: u64) -> u64 {
    opening(address).pipe.descriptor() as u64
}

fn open_to_write(number: i64, args: [u64; 6], now: [u64; 6], site: u64) -> i64 {
    // SAFETY: the program's own call, in the form that does not wait.
    let open = |how: [u64; 6]| unsafe { raw::syscall(number, how) };
    let first = pass_as(number, args, || open(now));
    if first != NO_READER {
        return first;
    }
    let (mut only, flags) = (now, if number == libc::SYS_open { 1 } else { 2 });
    only[flags] = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    let found = open(only);
    if found < 0 {
        return found;
    }
    let pipe = Held::new(found as u64);
    // SAFETY: passes no pointer; the program does not know the descriptor.
    unsafe { raw::call!(libc::SYS_close, found) };
    // The name was followed, and found something.
    let flags = now[flags] as i32 & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW);
    let opening = Opening { pipe, flags, answer: Cell::new(NO_READER) };
    let call = Blocking::new(NO_DESCRIPTOR, libc::POLLOUT, site).changing(opened()).in_one_step();
    while !opening.attempt() {
        let wait = ExternalWait::new(
            |address| self::opening(address).attempt(),
            &raw const opening as u64,
        )
        .private_if(|address| own_names::is_private(pipe_of(address)))
        .own_if(|address| own_names::is_unshared(pipe_of(address)));
        if let Err(result) = call.wait_for(&wait) {
            if let descriptor @ 0.. = opening.answer.get() {
                // SAFETY: passes no pointer; the program does not know the descriptor.
                unsafe { raw::call!(libc::SYS_close, descriptor) };
            }
            return result;
        }
    }
    pass_as(number, args, || opening.answer.get())
}

/// `connect`. A socket has no call that does not wait, but a time limit, which is its own option.
pub(crate) fn connect(args: [u64; 6], site: u64) -> i64 {
    let descriptor = args[0];
    let waits = may_wait_for(descriptor, libc::SO_SNDTIMEO)
        && (kind(descriptor) == Kind::Stream
            || option(descriptor, libc::SO_TYPE) == libc::SOCK_SEQPACKET);
    if !waits {
        return pass(libc::SYS_connect, args);
    }
    let call = Blocking::new(descriptor, libc::POLLOUT, site)
        .limited_by(libc::SO_SNDTIMEO)
        .changing(WordSet::files());
    loop {
        // SAFETY: the program's own call.
        let connect = || unsafe { raw::syscall(libc::SYS_connect, args) };
        let answer = pass_as(libc::SYS_connect, args, || at_once(descriptor, connect));
        match -answer as i32 {
            libc::EAGAIN => {
                // The listener's queue is full. The kernel does not say when that changes.
                if let Err(result) = call.wait_for_step() {
                    return result;
                }
            }
            libc::EINPROGRESS => {
                return match call.wait() {
                    Err(result) => result,
                    Ok(()) => -i64::from(option(descriptor, libc::SO_ERROR)),
                };
            }
            _ => return answer,
        }
    }
}

/// Makes a call with the shortest time limit for sending that the socket can have.
fn at_once(descriptor: u64, call: impl FnOnce() -> i64) -> i64 {
    let mut before = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let short = libc::timeval { tv_sec: 0, tv_usec: 1 };
    let mut len = size_of::<libc::timeval>() as libc::socklen_t;
    let limit = |get: bool, value: *const libc::timeval, len: u64| {
        let number = if get { libc::SYS_getsockopt } else { libc::SYS_setsockopt };
        // SAFETY: the kernel reads or writes only the local that is passed.
        unsafe {
            raw::call!(number, descriptor, libc::SOL_SOCKET, libc::SO_SNDTIMEO, value, len);
        }
    };
    limit(true, &raw mut before, &raw mut len as u64);
    limit(false, &raw const short, u64::from(len));
    let answer = call();
    limit(false, &raw const before, u64::from(len));
    answer
}
