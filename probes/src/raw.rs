//! System calls made from the runtime's own text, which the net lets through.
//!
//! libc's wrappers will not do: while a fiber runs, a system call from libc's text is dispatched.

use std::arch::asm;

/// A system call with up to six arguments; the kernel's answer as it is (`-errno` on failure).
///
/// # Safety
/// That of the call.
pub(crate) unsafe fn syscall(number: i64, args: [u64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the kernel clobbers rcx, r11 and rax, and memory as the call says; the caller vouches
    // for the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// A system call with any number of arguments up to six.
macro_rules! call {
    ($number:expr $(, $arg:expr)* $(,)?) => {{
        let given = [$($arg as u64),*];
        let mut args = [0u64; 6];
        args[..given.len()].copy_from_slice(&given);
        $crate::raw::syscall($number as i64, args)
    }};
}
pub(crate) use call;

/// Waits on a word shared with the controller, for at most `milliseconds`.
pub(crate) fn futex_wait(word: &std::sync::atomic::AtomicU32, value: u32, milliseconds: i64) {
    let timeout =
        libc::timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
    // SAFETY: the word and the timeout live through the call.
    unsafe {
        call!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout);
    }
}

/// Wakes everybody who waits on a word shared with the controller.
pub(crate) fn futex_wake(word: &std::sync::atomic::AtomicU32) {
    // SAFETY: the word lives in the shared mapping.
    unsafe {
        call!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}

/// Ends the process, and nothing else.
pub(crate) fn exit_process(status: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe {
            call!(libc::SYS_exit_group, status);
        }
    }
}

/// Anonymous private memory; none if the system refuses.
pub(crate) fn map(address: usize, len: usize, prot: i32, flags: i32) -> Option<usize> {
    // SAFETY: a new mapping; `flags` never holds MAP_FIXED without NOREPLACE.
    let at = unsafe {
        call!(
            libc::SYS_mmap,
            address,
            len,
            prot,
            flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1i64,
            0
        )
    };
    (at > 0).then_some(at as usize)
}

/// Reads memory that may not be there.
pub(crate) fn read(address: u64, bytes: &mut [u8]) -> bool {
    let to = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let from = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    // SAFETY: writes to what `to` says; the kernel looks whether it may read there.
    unsafe {
        let pid = call!(libc::SYS_getpid);
        let (to, from) = (&raw const to, &raw const from);
        call!(libc::SYS_process_vm_readv, pid, to, 1, from, 1, 0) == bytes.len() as i64
    }
}
