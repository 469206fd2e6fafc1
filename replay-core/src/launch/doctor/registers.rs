//! What the debugger does to the registers of a stopped process, tried on a child.

use super::Check;
use super::child::{Child, End, errno};
use crate::xstate;
use std::io;
use std::ptr::null_mut;

/// The size of the extended state, or the operation that failed and its error.
pub(super) type Tried = Result<usize, (&'static str, io::Error)>;

/// Reading and writing the registers of a traced process, its debug registers, and single steps.
pub(super) fn access() -> Check {
    of_access(try_on_child())
}

pub(super) fn of_access(tried: Tried) -> Check {
    const NAME: &str = "registers of a process";
    match tried {
        Ok(size) => Check::good(
            NAME,
            format!(
                "read and written (vector registers: {size} bytes), hardware watchpoints and \
                 single steps work"
            ),
        ),
        Err((what, error)) => Check::warning(
            NAME,
            format!("{what}: {error}"),
            "heddle gdb, stacks and watched expressions do not work: use a kernel or container \
             that allows it (--cap-add SYS_PTRACE); under an emulator (gVisor, qemu-user) run \
             heddle on the host",
        ),
    }
}

fn try_on_child() -> Tried {
    let not_started = |error| ("starting a traced child", error);
    let mut child = Child::start(|| {
        // SAFETY: system calls of the child on itself.
        unsafe {
            if libc::ptrace(libc::PTRACE_TRACEME, 0, null_mut::<u8>(), null_mut::<u8>()) != 0 {
                return errno();
            }
            libc::kill(libc::getpid(), libc::SIGSTOP);
        }
        0
    })
    .map_err(not_started)?;
    match child.wait().map_err(not_started)? {
        End::Stopped => {}
        End::Exited(error) => return Err(not_started(io::Error::from_raw_os_error(error))),
        End::Killed(_) => return Err(not_started(io::Error::from_raw_os_error(libc::ESRCH))),
    }
    let pid = child.pid;
    // SAFETY: plain integers, for which zero is a value.
    let mut general: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    let address = &raw mut general as usize;
    request(libc::PTRACE_GETREGS, pid, 0, address)
        .map_err(|error| ("reading the general registers (PTRACE_GETREGS)", error))?;
    request(libc::PTRACE_SETREGS, pid, 0, address)
        .map_err(|error| ("writing the general registers (PTRACE_SETREGS)", error))?;
    let mut vector = xstate::read(pid)
        .map_err(|error| ("reading the vector registers (PTRACE_GETREGSET)", error))?;
    xstate::write(pid, &mut vector)
        .map_err(|error| ("writing the vector registers (PTRACE_SETREGSET)", error))?;
    // The first debug register: any address of the child will do, it is not enabled.
    let offset = std::mem::offset_of!(libc::user, u_debugreg);
    request(libc::PTRACE_POKEUSER, pid, offset, general.rsp as usize)
        .map_err(|error| ("setting a debug register (PTRACE_POKEUSER)", error))?;
    request(libc::PTRACE_SINGLESTEP, pid, 0, 0)
        .map_err(|error| ("single-stepping (PTRACE_SINGLESTEP)", error))?;
    match child.wait() {
        Ok(End::Stopped) => Ok(vector.len()),
        Ok(_) => Err(("single-stepping", io::Error::from_raw_os_error(libc::ESRCH))),
        Err(error) => Err(("waiting for a single step", error)),
    }
}

fn request(request: libc::c_uint, pid: i32, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: where `data` is an address, it is that of the caller's `user_regs_struct`, which these
    // requests read or write as a whole; the others take numbers.
    match unsafe { libc::ptrace(request, pid, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
