//! Checks of kernel features. Each feature is tried.

use super::check::Check;
use super::child::{self, Child, End, described, errno};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};
use traces::wire::{ARENA_ADDRESS, CHANNEL_ADDRESS};

/// The minimum that a search needs.
const CHANNEL_SIZE: usize = 64 << 20;
const ARENA_SIZE: usize = 1 << 30;

/// Memory shared between Heddle and the program, at its fixed address.
pub(super) fn shared_memory() -> Check {
    let end = child::run(|| {
        // SAFETY: system calls in a child; the mapping replaces nothing, and no other code accesses it
        // but the one write within it.
        unsafe {
            let fd = libc::memfd_create(c"heddle-doctor".as_ptr(), libc::MFD_CLOEXEC);
            if fd < 0 || libc::ftruncate(fd, CHANNEL_SIZE as libc::off_t) != 0 {
                return errno();
            }
            map(CHANNEL_ADDRESS, CHANNEL_SIZE, libc::MAP_SHARED, fd)
        }
    });
    of_shared_memory(end)
}

/// The check of shared memory, from the end of a child that used some.
pub(super) fn of_shared_memory(end: io::Result<End>) -> Check {
    const NAME: &str = "shared memory";
    match end {
        Ok(End::Exited(0)) => {
            Check::good(NAME, format!("memfd_create, mapped at {CHANNEL_ADDRESS:#x}"))
        }
        other => Check::bad(
            NAME,
            described(other),
            "Heddle and the program communicate through it: allow memfd_create and mmap, and check \
             the address space limit",
        ),
    }
}

/// The address of the program's heap.
pub(super) fn heap() -> Check {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: as above.
    of_heap(child::run(|| unsafe { map(ARENA_ADDRESS, ARENA_SIZE, kind, -1) }))
}

/// The check of the heap's address, from the end of a child that mapped it.
pub(super) fn of_heap(end: io::Result<End>) -> Check {
    const NAME: &str = "heap's place";
    match end {
        Ok(End::Exited(0)) => Check::good(NAME, format!("free at {ARENA_ADDRESS:#x}")),
        other => Check::bad(
            NAME,
            described(other),
            "the program's heap needs a fixed address: check the address space limit",
        ),
    }
}

/// Maps memory at a fixed address without replacing a mapping, and writes to its last byte. Returns
/// 0 or the error number.
///
/// # Safety
/// Only for child processes that exit afterwards.
unsafe fn map(address: usize, len: usize, kind: i32, fd: i32) -> i32 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the mapping replaces nothing; the write goes to its last byte.
    unsafe {
        let flags = kind | libc::MAP_FIXED_NOREPLACE;
        let at = libc::mmap(address as *mut libc::c_void, len, access, flags, fd, 0);
        if at == libc::MAP_FAILED {
            return errno();
        }
        // Kernels before 4.17 treat the address as a hint.
        if at as usize != address {
            return libc::EEXIST;
        }
        at.cast::<u8>().add(len - 1).write_volatile(1);
        0
    }
}

/// The selector byte of Syscall User Dispatch. It is set only in the child.
static SELECTOR: AtomicU8 = AtomicU8::new(0);

/// Syscall User Dispatch, which catches system calls that interposition misses.
pub(super) fn dispatch() -> Check {
    const PR_SET_SYSCALL_USER_DISPATCH: i32 = 59;
    const ON: usize = 1;
    let end = child::run(|| {
        // SAFETY: system calls in a child. The one that is caught ends it: not dumpable, so that
        // no core is left.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            if libc::prctl(PR_SET_SYSCALL_USER_DISPATCH, ON, 0usize, 0usize, SELECTOR.as_ptr()) != 0
            {
                return errno();
            }
            SELECTOR.store(1, SeqCst);
            libc::syscall(libc::SYS_getppid);
            SELECTOR.store(0, SeqCst);
        }
        0
    });
    of_dispatch(end)
}

/// The check of Syscall User Dispatch, from the end of a child that made a call to be caught.
pub(super) fn of_dispatch(end: io::Result<End>) -> Check {
    const NAME: &str = "system call dispatch";
    match end {
        Ok(End::Killed(libc::SIGSYS)) => Check::good(NAME, "works"),
        other => Check::warning(
            NAME,
            described(other),
            "system calls made inside the C library are not intercepted, and every execution needs \
             a new process (--reset fork): use Linux 5.11 or newer; some containers and emulators \
             do not support it",
        ),
    }
}

/// Disabling address randomisation.
pub(super) fn randomisation() -> Check {
    const ASK: libc::c_ulong = 0xffff_ffff;
    let end = child::run(|| {
        // SAFETY: system calls that concern the child's own later exec at most.
        unsafe {
            let now = libc::personality(ASK);
            let wanted = now | libc::ADDR_NO_RANDOMIZE;
            if now < 0 || libc::personality(wanted as libc::c_ulong) < 0 {
                return errno();
            }
            if libc::personality(ASK) & libc::ADDR_NO_RANDOMIZE == 0 { libc::ENOSYS } else { 0 }
        }
    });
    of_randomisation(end)
}

/// The check of address randomisation, from the end of a child that disabled it.
pub(super) fn of_randomisation(end: io::Result<End>) -> Check {
    const NAME: &str = "address randomisation";
    match end {
        Ok(End::Exited(0)) => Check::good(NAME, "can be switched off"),
        other => Check::warning(
            NAME,
            described(other),
            "addresses differ from run to run: programs that depend on them (order in hash tables of pointers) may not replay; in a container, allow personality(ADDR_NO_RANDOMIZE), as --security-opt seccomp=unconfined does",
        ),
    }
}

/// Set by a child and read by its parent.
static MARK: AtomicU64 = AtomicU64::new(0);
pub(super) const SET: u64 = 0x6865_6464_6c65;

/// Reading the memory of the program.
pub(super) fn read_memory() -> Check {
    of_read_memory(read_of_child())
}

/// The check of reading memory, from what was read of a child.
pub(super) fn of_read_memory(read: io::Result<u64>) -> Check {
    const NAME: &str = "reading the program's memory";
    let advice = "stacks at a failure cannot be shown: allow process_vm_readv (in a container, --cap-add SYS_PTRACE)";
    match read {
        Ok(SET) => Check::good(NAME, "works"),
        Ok(_) => Check::warning(NAME, "wrong content", advice),
        Err(error) => Check::warning(NAME, format!("refused: {error}"), advice),
    }
}

fn read_of_child() -> io::Result<u64> {
    let mut child = Child::start(|| {
        MARK.store(SET, SeqCst);
        // SAFETY: two system calls; the parent ends the child while it is stopped.
        unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
        0
    })?;
    child.wait()?;
    let mut value = 0u64;
    let local =
        libc::iovec { iov_base: (&raw mut value).cast(), iov_len: std::mem::size_of::<u64>() };
    let remote =
        libc::iovec { iov_base: MARK.as_ptr().cast(), iov_len: std::mem::size_of::<u64>() };
    // SAFETY: `local` names eight bytes of ours; what is read from is another process's business.
    let read =
        unsafe { libc::process_vm_readv(child.pid, &raw const local, 1, &raw const remote, 1, 0) };
    if read < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// Tracing the program, which debuggers need.
pub(super) fn trace() -> Check {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
    let scope = scope.as_deref().map_or("none", str::trim);
    let tried = Child::start(|| {
        // SAFETY: system calls of the child on itself.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) != 0 {
                return errno();
            }
            libc::kill(libc::getpid(), libc::SIGSTOP);
        }
        0
    })
    .and_then(|mut child| child.wait());
    of_trace(tried, scope)
}

/// The check of tracing, from the end of a child that wants to be traced, and the scope that the security module
/// allows.
pub(super) fn of_trace(tried: io::Result<End>, scope: &str) -> Check {
    const NAME: &str = "tracing (ptrace)";
    match tried {
        Ok(End::Stopped) => Check::good(NAME, format!("works (yama ptrace_scope: {scope})")),
        other => Check::warning(
            NAME,
            format!("{} (yama ptrace_scope: {scope})", described(other)),
            "heddle gdb and breakpoints do not work: set kernel.yama.ptrace_scope to 0 or 1, or in a container allow ptrace (--cap-add SYS_PTRACE)",
        ),
    }
}

/// Finding changed pages, which makes memory reset fast.
pub(super) fn write_tracking() -> Check {
    of_write_tracking(userfaultfd(), pagemap_scan)
}

/// The check of write tracking, from trying its two parts.
pub(super) fn of_write_tracking(
    userfaultfd: io::Result<()>,
    pagemap_scan: impl FnOnce() -> io::Result<()>,
) -> Check {
    const NAME: &str = "write tracking";
    let advice = "memory reset finds changed pages by faults, which is slower: use Linux 6.7 or \
                  newer, which has PAGEMAP_SCAN and asynchronous userfaultfd write protection";
    if let Err(error) = userfaultfd {
        return Check::warning(NAME, format!("no userfaultfd: {error}"), advice);
    }
    match pagemap_scan() {
        Ok(()) => Check::good(NAME, "PAGEMAP_SCAN and userfaultfd work"),
        Err(error) => Check::warning(NAME, format!("no PAGEMAP_SCAN: {error}"), advice),
    }
}

/// Opens a userfaultfd that tracks writes without stopping at them.
fn userfaultfd() -> io::Result<()> {
    const USER_MODE_ONLY: i32 = 1;
    const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
    const UFFD_API: u64 = 0xaa;
    const WP_ASYNC: u64 = 1 << 15;
    // SAFETY: a system call that makes a descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new and has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let mut api = [UFFD_API, WP_ASYNC, 0];
    // SAFETY: the call reads and writes a struct of three 64-bit numbers.
    match unsafe { libc::ioctl(fd.as_raw_fd(), UFFDIO_API, api.as_mut_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Scans one page of this process.
fn pagemap_scan() -> io::Result<()> {
    const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
    const PRESENT: u64 = 1 << 3;
    let pagemap = File::open("/proc/self/pagemap")?;
    let mut region = [0u64; 3];
    let start = (&raw const MARK as u64) & !4095;
    // struct pm_scan_arg: size, flags, start, end, walk_end, vec, vec_len, max_pages, and the masks
    // category_inverted, category_mask, category_anyof_mask, return_mask.
    let mut arg = [
        12 * 8,
        0,
        start,
        start + 4096,
        0,
        region.as_mut_ptr() as u64,
        1,
        0,
        0,
        0,
        PRESENT,
        PRESENT,
    ];
    // SAFETY: the call reads and writes the struct of twelve numbers, and writes the one region.
    match unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, arg.as_mut_ptr()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
