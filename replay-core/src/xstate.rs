//! The extended processor state (`xsave` area) of a traced process, of whatever size.
//!
//! The size depends on the processor: 832 bytes with AVX, about 2,700 with AVX-512, 11,008 with AMX
//! (Intel SDM 1, 13.4.2). `PTRACE_GETREGSET` truncates its result to the buffer without an error, but
//! `PTRACE_SETREGSET` takes nothing but the whole area and fails with `EFAULT` otherwise. The kernel
//! alone knows the size of the area (it leaves out supervisor states that CPUID counts), so the
//! buffer grows until the kernel leaves some of it unused.

use std::arch::x86_64::__cpuid_count;
use std::io;

/// `NT_X86_XSTATE`: the register set of `xsave`.
const NT_X86_XSTATE: usize = 0x202;
/// The CPUID leaf of the extended state.
const STATE_LEAF: u32 = 0xd;
/// The legacy area and the header, which every `xsave` area has.
const LEAST: usize = 576;
/// The kernel refuses buffers whose length is no multiple of this with `EINVAL`.
const UNIT: usize = 8;
/// No area is nearly as large; a kernel that always fills the buffer must not exhaust memory.
const MOST: usize = 1 << 20;

/// The size of the area with every state that the processor supports, by CPUID.
fn size_by_cpuid() -> usize {
    __cpuid_count(STATE_LEAF, 0).ecx as usize
}

fn regset(request: libc::c_uint, pid: i32, bytes: &mut [u8]) -> io::Result<usize> {
    let mut slot = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: the kernel accesses at most `iov_len` bytes at `iov_base`, which are `bytes`.
    let answer = unsafe { libc::ptrace(request, pid, NT_X86_XSTATE, &raw mut slot) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(slot.iov_len) }
}

/// Calls `get` with larger and larger buffers until it leaves some of the buffer unused.
fn read_whole(
    first_size: usize,
    mut get: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> io::Result<Vec<u8>> {
    let mut size = first_size.max(LEAST);
    loop {
        let mut bytes = vec![0; (size + 1).next_multiple_of(UNIT)];
        let used = get(&mut bytes)?;
        if used < bytes.len() || size >= MOST {
            bytes.truncate(used);
            return Ok(bytes);
        }
        size *= 2;
    }
}

/// The extended state of a process that this thread traces and that is stopped.
pub(crate) fn read(pid: i32) -> io::Result<Vec<u8>> {
    read_whole(size_by_cpuid(), |bytes| regset(libc::PTRACE_GETREGSET, pid, bytes))
}

/// Writes what [`read`] returned, with changed registers.
pub(crate) fn write(pid: i32, bytes: &mut [u8]) -> io::Result<()> {
    regset(libc::PTRACE_SETREGSET, pid, bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel whose area has `area` bytes: it truncates what it returns.
    fn kernel(area: usize) -> impl FnMut(&mut [u8]) -> io::Result<usize> {
        move |bytes| {
            assert_eq!(bytes.len() % UNIT, 0);
            let used = bytes.len().min(area);
            bytes[..used].fill(7);
            Ok(used)
        }
    }

    #[test]
    fn an_area_of_any_size_is_read_whole() {
        for area in [576, 832, 2_696, 4_096, 4_104, 11_008, 65_536] {
            for first in [0, 576, 832, 4_096, 11_008, area - 1, area, area + 1] {
                let bytes = read_whole(first, kernel(area)).expect("no error");
                assert_eq!(bytes, vec![7; area], "area {area}, first buffer {first}");
            }
        }
    }

    /// The largest and the smallest first buffer: a whole area is accepted back by the kernel, and a
    /// truncated one is not, which is why the size matters.
    #[test]
    fn the_area_of_a_stopped_process_is_read_whole_and_can_be_written_back() {
        // SAFETY: the child makes system calls only and never returns.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: system calls of the child on itself.
            unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
                libc::kill(libc::getpid(), libc::SIGSTOP);
                libc::_exit(0);
            }
        }
        let mut status = 0;
        // SAFETY: the child is ours, the status a local variable.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
        assert!(libc::WIFSTOPPED(status), "status {status:#x}");
        let get = |bytes: &mut [u8]| regset(libc::PTRACE_GETREGSET, pid, bytes);
        let mut small = read_whole(LEAST, get).expect("from the smallest buffer");
        let large = read_whole(1 << 16, get).expect("from a large buffer");
        assert_eq!(small, large);
        write(pid, &mut small).expect("the whole area");
        let mut cut = vec![0; LEAST];
        let used = get(&mut cut).expect("truncated without an error");
        let refused = regset(libc::PTRACE_SETREGSET, pid, &mut cut);
        assert_eq!(refused.is_err(), used < large.len(), "{refused:?}, {} bytes", large.len());
        // SAFETY: the child is ours and was not waited for since it stopped.
        unsafe {
            libc::kill(pid, libc::SIGKILL);
            libc::waitpid(pid, &raw mut status, 0);
        }
    }

    #[test]
    fn a_kernel_that_fills_every_buffer_ends_in_an_error_or_a_bounded_buffer() {
        let bytes = read_whole(0, |bytes| Ok(bytes.len())).expect("no error");
        assert!(bytes.len() <= 2 * MOST + UNIT);
    }
}
