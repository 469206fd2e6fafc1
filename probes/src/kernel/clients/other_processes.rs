//! The other processes of this machine, as the kernel shows them in `/proc`. No call of the C library is made: the program's
//! are steps.

use crate::sys::raw;
use std::str::{FromStr, from_utf8};

/// The session of a process; 0 if the process that began it is in another container, as where a container's command was
/// started from outside.
pub(super) fn session_of(process: i64) -> Option<i64> {
    // SAFETY: passes no pointer.
    let session = unsafe { raw::call!(libc::SYS_getsid, process) };
    (session >= 0).then_some(session)
}

/// The contents of a file; empty if it cannot be read.
pub(super) fn text_of(path: &str) -> String {
    let (mut text, mut buffer) = (Vec::new(), [0u8; 4096]);
    let Some(file) = open(path, libc::O_RDONLY) else { return String::new() };
    // SAFETY: the kernel writes at most the buffer's length to the buffer; the descriptor is this function's own.
    unsafe {
        loop {
            let len = raw::call!(libc::SYS_read, file, buffer.as_mut_ptr(), buffer.len());
            if len <= 0 {
                break;
            }
            text.extend_from_slice(&buffer[..len as usize]);
        }
        raw::call!(libc::SYS_close, file);
    }
    String::from_utf8(text).unwrap_or_default()
}

/// The processes that this one can see.
pub(super) fn processes() -> Vec<i64> {
    numbers_in("/proc")
}

/// The threads of a process.
pub(super) fn threads(process: i64) -> Vec<i64> {
    numbers_in(&format!("/proc/{process}/task"))
}

/// The entries of a directory whose names are numbers.
fn numbers_in(directory: &str) -> Vec<i64> {
    let (mut all, mut buffer) = (Vec::new(), [0u8; 4096]);
    let Some(directory) = open(directory, libc::O_RDONLY | libc::O_DIRECTORY) else { return all };
    // SAFETY: the kernel writes at most the buffer's length to the buffer; the descriptor is this function's own.
    unsafe {
        loop {
            let (to, len) = (buffer.as_mut_ptr(), buffer.len());
            let len = raw::call!(libc::SYS_getdents64, directory, to, len);
            if len <= 0 {
                break;
            }
            all.extend(numbers(&buffer[..len as usize]));
        }
        raw::call!(libc::SYS_close, directory);
    }
    all
}

/// The names in a list of directory entries that are numbers.
fn numbers(mut entries: &[u8]) -> Vec<i64> {
    // The inode, an offset, the length of the entry, its type, and the name with a zero byte at the end.
    const LENGTH: usize = 16;
    const NAME: usize = 19;
    let mut found = Vec::new();
    while entries.len() > NAME {
        let len = usize::from(u16::from_ne_bytes([entries[LENGTH], entries[LENGTH + 1]]));
        if len <= NAME || len > entries.len() {
            break;
        }
        let name = entries[NAME..len].split(|byte| *byte == 0).next().unwrap_or_default();
        found.extend(from_utf8(name).ok().and_then(|name| i64::from_str(name).ok()));
        entries = &entries[len..];
    }
    found
}

/// Opens a file; returns its descriptor.
fn open(path: &str, flags: i32) -> Option<i64> {
    let path = format!("{path}\0");
    // SAFETY: the path ends with a zero byte.
    let file = unsafe { raw::call!(libc::SYS_open, path.as_ptr(), flags | libc::O_CLOEXEC) };
    (file >= 0).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_one_of_them() {
        // SAFETY: passes no pointer.
        let own = unsafe { raw::call!(libc::SYS_getpid) };
        assert!(processes().contains(&own));
        assert!(threads(own).contains(&own));
        assert_eq!(threads(-1), Vec::<i64>::new());
        assert!(session_of(own).is_some());
        assert!(text_of("/proc/self/status").contains("State:"));
        assert_eq!(text_of("/proc/no such file"), "");
    }

    #[test]
    fn a_broken_list_of_entries_ends() {
        assert_eq!(numbers(&[0; 64]), Vec::<i64>::new());
        assert_eq!(numbers(&[255; 64]), Vec::<i64>::new());
    }
}
