//! The real paths of files, as the kernel knows them.
//!
//! The C library's `realpath` allocates its results in the program's heap, where they would move the program's
//! blocks.

use crate::sys::raw;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest path in Linux.
const LONGEST: usize = 4096;

/// The path of a file without links; none if there is no such file.
pub(super) fn real(path: &Path) -> Option<PathBuf> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    // SAFETY: the name is a C string.
    let descriptor =
        unsafe { raw::call!(libc::SYS_openat, libc::AT_FDCWD, name.as_ptr(), flags, 0) };
    let descriptor = i32::try_from(descriptor).ok().filter(|&descriptor| descriptor >= 0)?;
    let mut buffer = [0; LONGEST];
    let real = of_descriptor(descriptor, &mut buffer);
    // SAFETY: the descriptor was opened above, and nothing else uses it.
    unsafe { raw::call!(libc::SYS_close, descriptor) };
    (!real.is_empty()).then(|| PathBuf::from(std::ffi::OsStr::from_bytes(real)))
}

/// The path of an open file, without an allocation; empty if it is not known, or longer than the buffer.
pub(super) fn of_descriptor(descriptor: i32, buffer: &mut [u8]) -> &[u8] {
    let mut name = *b"/proc/self/fd/..........\0";
    let mut digits = descriptor.max(0) as u32;
    for digit in name[14..24].iter_mut().rev() {
        *digit = b'0' + (digits % 10) as u8;
        digits /= 10;
    }
    // The name has no leading zeros.
    let zeros = name[14..23].iter().take_while(|&&digit| digit == b'0').count();
    name.copy_within(14 + zeros.., 14);
    // SAFETY: the name ends in a zero byte, and the buffer has the given length.
    let len =
        unsafe { raw::call!(libc::SYS_readlink, name.as_ptr(), buffer.as_mut_ptr(), buffer.len()) };
    match usize::try_from(len) {
        Ok(len) if len < buffer.len() => &buffer[..len],
        _ => &[],
    }
}
