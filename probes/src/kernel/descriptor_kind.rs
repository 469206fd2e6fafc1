//! What a descriptor refers to, as far as the kernel says.

use crate::sys::raw;

/// What a descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pipe,
    /// A socket without message boundaries.
    Stream,
    /// A socket that transfers messages as a whole.
    Messages,
    Other,
}

/// What the descriptor refers to.
pub(crate) fn kind(descriptor: u64) -> Kind {
    // SAFETY: `stat` is plain data, and the kernel writes only to it.
    let mode = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        raw::call!(libc::SYS_fstat, descriptor, &raw mut stat);
        stat.st_mode & libc::S_IFMT
    };
    match mode {
        libc::S_IFIFO => Kind::Pipe,
        libc::S_IFSOCK if option(descriptor, libc::SO_TYPE) == libc::SOCK_STREAM => Kind::Stream,
        libc::S_IFSOCK => Kind::Messages,
        _ => Kind::Other,
    }
}

/// An option of a socket; 0 if it has none.
pub(crate) fn option(descriptor: u64, option: i32) -> i32 {
    let (mut value, mut len) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes only to the two locals.
    unsafe {
        raw::call!(
            libc::SYS_getsockopt,
            descriptor,
            libc::SOL_SOCKET,
            option,
            &raw mut value,
            &raw mut len
        );
    }
    value
}

/// The kernel's description of a descriptor (`/proc/self/fdinfo`).
pub(crate) fn describe(descriptor: u64, to: &mut [u8]) -> &[u8] {
    let path = own_path(b"/proc/self/fdinfo/", descriptor);
    // SAFETY: the path ends with a zero byte, and the kernel writes only to `to`.
    let len = unsafe {
        let file = raw::call!(libc::SYS_open, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC, 0);
        let len = raw::call!(libc::SYS_read, file, to.as_mut_ptr(), to.len());
        raw::call!(libc::SYS_close, file);
        len
    };
    &to[..len.max(0) as usize]
}

/// What the kernel names as the descriptor's target.
pub(crate) fn target_of(descriptor: u64, to: &mut [u8; 64]) -> &[u8] {
    let path = own_path(b"/proc/self/fd/", descriptor);
    // SAFETY: the path ends with a zero byte, and the kernel writes only to `to`.
    let len = unsafe { raw::call!(libc::SYS_readlink, path.as_ptr(), to.as_mut_ptr(), to.len()) };
    &to[..len.max(0) as usize]
}

/// The path of a descriptor's file in this directory of `/proc`, with a zero byte behind it. (Code on a
/// fiber does not allocate.)
pub(crate) fn own_path(directory: &[u8], descriptor: u64) -> [u8; 48] {
    let mut path = [0; 48];
    path[..directory.len()].copy_from_slice(directory);
    let digits = descriptor.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut left = descriptor;
    for at in (0..digits).rev() {
        path[directory.len() + at] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    path
}

/// The file that a descriptor refers to.
pub(crate) fn inode(descriptor: u64) -> Option<(u64, u64)> {
    // SAFETY: `stat` is plain data, and the kernel writes only to it.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let answer = raw::call!(libc::SYS_fstat, descriptor, &raw mut stat);
        (answer == 0).then_some((stat.st_dev, stat.st_ino))
    }
}
