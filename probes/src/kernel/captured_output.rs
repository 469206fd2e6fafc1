//! The descriptors that are the output that the controller gave. To the program they look like a
//! pipe, as in `program | cat`, although they are the null device: programs that find the null
//! device do less than they would (`grep` stops at the first match).

use crate::state::world::world;
use crate::sys::raw;
use std::cell::Cell;

/// What the standard streams referred to when the process began; none if the descriptor was closed.
struct Given([Cell<Option<Identity>>; 3]);

/// Device and inode of a file, and the device that it is.
type Identity = (u64, u64, u64);

// SAFETY: the fields are `Cell`s, which hand out no references, and the controlled process has one kernel
// thread.
unsafe impl Sync for Given {}

static GIVEN: Given = Given([const { Cell::new(None) }; 3]);

/// The process begins: no code of the program has run.
pub(crate) fn note_given() {
    for (descriptor, given) in GIVEN.0.iter().enumerate() {
        given.set(identity(descriptor as u64));
    }
}

/// Executions begin: marks the standard streams that the program's constructors have redirected or closed.
pub(crate) fn prepare() {
    for (descriptor, given) in GIVEN.0.iter().enumerate() {
        if identity(descriptor as u64) != given.get() {
            set(descriptor as u64, false);
        }
    }
}

fn identity(descriptor: u64) -> Option<Identity> {
    // SAFETY: `stat` is plain data, and the kernel writes it.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_fstat, descriptor, &raw mut stat);
        (answer == 0).then_some((stat.st_dev, stat.st_ino, stat.st_rdev))
    }
}

/// The number of descriptors that are tracked, one bit each.
const TRACKED: u64 = u64::BITS as u64;

/// Marks a descriptor as captured output, or as something else.
fn set(descriptor: u64, captured: bool) {
    let all = &world().captured;
    if descriptor < TRACKED {
        all.set(all.get() & !(1 << descriptor) | u64::from(captured) << descriptor);
    }
    if descriptor == 0 {
        world().input.set(false);
    }
}

/// Whether a descriptor is still the standard input that the controller gave.
pub(crate) fn is_input(descriptor: u64) -> bool {
    descriptor == 0 && world().input.get()
}

/// A system call that opens, duplicates or closes descriptors returned.
pub(crate) fn note(number: i64, args: [u64; 6], answer: i64) {
    if answer < 0 {
        return;
    }
    match number {
        libc::SYS_close => set(args[0], false),
        libc::SYS_close_range => (args[0]..=args[1].min(TRACKED)).for_each(|one| set(one, false)),
        libc::SYS_dup | libc::SYS_dup2 | libc::SYS_dup3 | libc::SYS_fcntl => {
            set(answer as u64, world().is_captured(args[0]));
        }
        libc::SYS_open => set(
            answer as u64,
            named(args[0]).is_some_and(|descriptor| world().is_captured(descriptor)),
        ),
        libc::SYS_openat => set(
            answer as u64,
            named(args[1]).is_some_and(|descriptor| world().is_captured(descriptor)),
        ),
        _ => {}
    }
}

/// The descriptor that a path names, if it is one of standard output or error.
fn named(path: u64) -> Option<u64> {
    const NAMES: [(&[u8], u64); 6] = [
        (b"/dev/stdout\0", 1),
        (b"/dev/fd/1\0", 1),
        (b"/proc/self/fd/1\0", 1),
        (b"/dev/stderr\0", 2),
        (b"/dev/fd/2\0", 2),
        (b"/proc/self/fd/2\0", 2),
    ];
    let is = |name: &[u8]| {
        // SAFETY: the kernel read the path without `EFAULT`, so it is a C string; the comparison
        // stops at its zero byte.
        name.iter().enumerate().all(|(at, byte)| unsafe { *(path as *const u8).add(at) } == *byte)
    };
    NAMES.iter().find(|(name, _)| is(name)).map(|&(_, descriptor)| descriptor)
}

/// The result of a call that pipes answer differently from the null device.
pub(crate) fn as_a_pipe(number: i64, args: [u64; 6]) -> Option<i64> {
    let (to, error) = match number {
        libc::SYS_lseek
        | libc::SYS_pread64
        | libc::SYS_preadv
        | libc::SYS_pwrite64
        | libc::SYS_pwritev => (args[0], libc::ESPIPE),
        // A program that gets this error writes instead, and the output is captured.
        libc::SYS_sendfile | libc::SYS_vmsplice => (args[0], libc::EINVAL),
        libc::SYS_splice | libc::SYS_copy_file_range => (args[2], libc::EINVAL),
        libc::SYS_tee => (args[1], libc::EINVAL),
        _ => return None,
    };
    world().is_captured(to).then_some(-i64::from(error))
}

/// Whether a call is a kind of `stat` whose result [`describe`] corrects.
pub(crate) fn asks(number: i64, args: [u64; 6]) -> bool {
    let flags = match number {
        libc::SYS_fstat => return world().is_captured(args[0]),
        libc::SYS_newfstatat => args[3],
        libc::SYS_statx => args[2],
        _ => return false,
    };
    // SAFETY: the kernel has returned from the call, so the path is a C string, or null was checked
    // before.
    let itself = || args[1] == 0 || unsafe { *(args[1] as *const u8) } == 0;
    flags & libc::AT_EMPTY_PATH as u64 != 0 && world().is_captured(args[0]) && itself()
}

/// The device of the pipe file system: no regular file is on a device of this number.
const DEVICE: (u32, u32) = (0, 13);
/// Both streams are one pipe, as with `2>&1`.
const NUMBER: u64 = 1;
const MODE: u32 = libc::S_IFIFO | 0o600;

/// Rewrites what the kernel reported of the null device into what it would report of a pipe.
pub(crate) fn describe(number: i64, args: [u64; 6]) {
    // SAFETY: the kernel just wrote this structure there without an error, so it is mapped and
    // writable.
    unsafe {
        if number == libc::SYS_statx {
            let said = &mut *(args[4] as *mut libc::statx);
            said.stx_mode = MODE as u16;
            (said.stx_dev_major, said.stx_dev_minor) = DEVICE;
            (said.stx_rdev_major, said.stx_rdev_minor) = (0, 0);
            said.stx_ino = NUMBER;
            return;
        }
        let to = args[if number == libc::SYS_fstat { 1 } else { 2 }];
        let said = &mut *(to as *mut libc::stat);
        said.st_mode = MODE;
        said.st_dev = libc::makedev(DEVICE.0, DEVICE.1);
        said.st_rdev = 0;
        said.st_ino = NUMBER;
    }
}

/// The result of a poll of the standard streams only, as long as they are what the controller gave.
/// They are always ready, so the kernel need not be asked.
pub(crate) fn poll(all: &mut [libc::pollfd]) -> Option<i32> {
    let says = |descriptor: i32| match descriptor as u64 {
        one if is_input(one) => {
            Some(libc::POLLIN | libc::POLLOUT | libc::POLLRDNORM | libc::POLLWRNORM)
        }
        one if world().is_captured(one) => Some(libc::POLLOUT | libc::POLLWRNORM),
        _ => None,
    };
    if !all.iter().all(|one| says(one.fd).is_some()) {
        return None;
    }
    for one in all.iter_mut() {
        one.revents = one.events & says(one.fd).unwrap_or(0);
    }
    Some(all.iter().filter(|one| one.revents != 0).count() as i32)
}
