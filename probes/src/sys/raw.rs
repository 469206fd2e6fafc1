//! System calls made from the runtime's own code, which dispatch does not intercept.
//!
//! libc's wrappers cannot be used: while a fiber runs, a system call in libc's code is intercepted.

use std::arch::asm;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// How many system calls this process has made that may change what a descriptor is ready for.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// A number that grows with each system call of this process after which a descriptor may be ready that was not before.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Relaxed)
}

/// Notes that a descriptor may be ready that was not before.
pub(crate) fn note_change() {
    // One kernel thread runs the program; a lost update of another one's call would only be a change less, and that
    // thread makes no descriptor ready.
    CHANGES.store(changes().wrapping_add(1), Relaxed);
}

/// Makes system calls that only inspect: those of `inspect` count as no change.
pub(crate) fn inspecting<T>(inspect: impl FnOnce() -> T) -> T {
    let changes = changes();
    let found = inspect();
    CHANGES.store(changes, Relaxed);
    found
}

/// Whether a system call leaves all descriptors as ready as they are. Most calls that the runtime makes at each step are
/// of this kind; every other call counts as a change.
fn leaves_readiness(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_poll
            | libc::SYS_fstat
            | libc::SYS_newfstatat
            | libc::SYS_readlink
            | libc::SYS_getsockopt
            | libc::SYS_getsockname
            | libc::SYS_getpeername
            | libc::SYS_getpid
            | libc::SYS_gettid
            | libc::SYS_clock_gettime
            | libc::SYS_futex
    )
}

/// A system call with up to six arguments; returns the kernel's result unchanged (`-errno` on
/// failure).
///
/// # Safety
/// The arguments satisfy the contract of that system call: pointers are valid for what the kernel
/// reads or writes there, and its effect does not invalidate memory that is in use.
pub(crate) unsafe fn syscall(number: i64, args: [u64; 6]) -> i64 {
    if !leaves_readiness(number) {
        note_change();
    }
    let result: i64;
    // SAFETY: the instruction clobbers rcx, r11 and rax, and memory as the call specifies; the
    // caller guarantees the rest.
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
        $crate::sys::raw::syscall($number as i64, args)
    }};
}
pub(crate) use call;

/// Waits on a word shared with the controller, for at most `milliseconds`.
pub(crate) fn futex_wait(word: &std::sync::atomic::AtomicU32, value: u32, milliseconds: i64) {
    let timeout =
        libc::timespec { tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000 };
    // SAFETY: the word and the timeout outlive the call; the kernel only reads them.
    unsafe {
        call!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout);
    }
}

/// Wakes all processes that wait on a word shared with the controller.
pub(crate) fn futex_wake(word: &std::sync::atomic::AtomicU32) {
    // SAFETY: the word is in the shared mapping, which is never unmapped.
    unsafe {
        call!(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}

/// Ends the process without any handlers.
pub(crate) fn exit_process(status: i32) -> ! {
    loop {
        // SAFETY: passes no pointers.
        unsafe {
            call!(libc::SYS_exit_group, status);
        }
    }
}

/// Arranges for this process to be killed when its parent, which has this number, ends.
pub(crate) fn die_with_parent(parent: i64) {
    // SAFETY: the calls pass no pointers.
    unsafe {
        call!(libc::SYS_prctl, libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // If the parent ended before `prctl`, this process has a new parent and will get no signal.
        if call!(libc::SYS_getppid) != parent {
            exit_process(0);
        }
    }
}

/// Address space for the runtime's own mappings. They differ from process to process: a search maps
/// more than a replay. The kernel would place the program's mappings next to them, and these must have
/// the same addresses in each process.
const OWN: usize = 0x1400_0000_0000;
const OWN_LEN: usize = 0x200_0000_0000;
/// The size and alignment of huge pages, which large mappings can have.
const HUGE: usize = 2 << 20;
static NEXT: AtomicUsize = AtomicUsize::new(OWN);

/// Maps anonymous private memory of the runtime at this address, or at one apart from the program's
/// mappings if it is 0; none if the system refuses.
pub(crate) fn map(address: usize, len: usize, prot: i32, flags: i32) -> Option<usize> {
    if address != 0 {
        return map_at(address, len, prot, flags);
    }
    let alignment = if len >= HUGE { HUGE } else { 4096 };
    let at = NEXT.load(Relaxed).next_multiple_of(alignment);
    // A page stays free behind each mapping.
    let end = at.saturating_add(len.next_multiple_of(4096)).saturating_add(4096);
    let there = (end <= OWN + OWN_LEN)
        .then(|| map_at(at, len, prot, flags | libc::MAP_FIXED_NOREPLACE))
        .flatten();
    match there {
        Some(_) => NEXT.store(end, Relaxed),
        None => return map_anywhere(len, prot, flags),
    }
    there
}

/// Maps anonymous private memory where the kernel chooses.
pub(crate) fn map_anywhere(len: usize, prot: i32, flags: i32) -> Option<usize> {
    map_at(0, len, prot, flags)
}

fn map_at(address: usize, len: usize, prot: i32, flags: i32) -> Option<usize> {
    // SAFETY: makes a new mapping that replaces none: `flags` never contains MAP_FIXED without
    // NOREPLACE.
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

/// Reads memory that may not be mapped; false if it is not.
pub(crate) fn read(address: u64, bytes: &mut [u8]) -> bool {
    let to = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let from = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    // SAFETY: the kernel writes only to `bytes`, and checks the other address itself.
    unsafe {
        let pid = call!(libc::SYS_getpid);
        let (to, from) = (&raw const to, &raw const from);
        call!(libc::SYS_process_vm_readv, pid, to, 1, from, 1, 0) == bytes.len() as i64
    }
}
