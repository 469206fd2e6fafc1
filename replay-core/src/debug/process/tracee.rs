//! One process under ptrace. All system calls on the process are made here.
//!
//! It must be used by the thread that started the process.

use crate::Error;
use crate::symbols::Memory;
use crate::xstate;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The size of `siginfo_t`.
pub(crate) const SIGINFO: usize = 128;

/// The signal that stops an untraced process: the runtime's watchdog signal, which Linux never
/// sends.
pub(crate) const INTERRUPT: i32 = libc::SIGSTKFLT;

/// Why a process stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitStatus {
    /// A signal is about to be delivered.
    Signal(i32),
    /// It created a process, with this id.
    Forked(i32),
    /// It exited with this status.
    Exited(i32),
    /// It was killed by this signal.
    Killed(i32),
}

/// A traced process, stopped except during [`Tracee::run`] and [`Tracee::step`].
#[derive(Debug)]
pub(crate) struct Tracee {
    pid: i32,
    memory: File,
    handle: Arc<OwnedFd>,
    gone: bool,
}

fn ptrace(request: libc::c_uint, pid: i32, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: requests whose data is an address are made below, with memory that fits them.
    let answer = unsafe { libc::ptrace(request, pid, address, data) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

impl Tracee {
    /// A process that this thread started and that asked to be traced.
    pub(crate) fn started(pid: i32) -> Result<Tracee, Error> {
        let tracee = Tracee::of(pid)?;
        match tracee.wait()? {
            WaitStatus::Signal(_) => {}
            other => return Err(Error::Runtime(format!("the program did not start: {other:?}"))),
        }
        tracee.set_options()?;
        Ok(tracee)
    }

    pub(super) fn set_options(&self) -> Result<(), Error> {
        let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACEFORK;
        ptrace(libc::PTRACE_SETOPTIONS, self.pid, 0, options as usize)
            .map_err(Error::system("the program cannot be traced"))?;
        Ok(())
    }

    /// Makes the process die with this one while it is not traced.
    pub(super) fn die_with_us(&self, instruction: u64) -> Result<(), Error> {
        let end = [libc::PR_SET_PDEATHSIG as u64, libc::SIGKILL as u64, 0, 0, 0, 0];
        self.call(instruction, libc::SYS_prctl, end).map(drop)
    }

    /// Detaches from the process until it asks to be traced again.
    pub(super) fn detach(&self, signal: i32) -> Result<WaitStatus, Error> {
        // Cancels a pending stop signal.
        stop(&self.handle, libc::SIGCONT);
        self.go(libc::PTRACE_DETACH, signal)
    }

    fn of(pid: i32) -> Result<Tracee, Error> {
        let memory = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))
            .map_err(Error::system("the program's memory cannot be opened"))?;
        // SAFETY: a plain call that makes a descriptor.
        let handle = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
        if handle < 0 {
            return Err(Error::system("cannot open a handle of the program")(
                io::Error::last_os_error(),
            ));
        }
        // SAFETY: the descriptor was just created and has no other owner.
        let handle = Arc::new(unsafe { OwnedFd::from_raw_fd(handle) });
        Ok(Tracee { pid, memory, handle, gone: false })
    }

    /// The process id.
    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// The handle by which another thread can stop the process.
    pub(crate) fn handle(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.handle)
    }

    /// Continues the process, with a signal if it is not 0, until the next event.
    pub(crate) fn run(&self, signal: i32) -> Result<WaitStatus, Error> {
        self.go(libc::PTRACE_CONT, signal)
    }

    /// Executes one instruction.
    pub(crate) fn step(&self, signal: i32) -> Result<WaitStatus, Error> {
        self.go(libc::PTRACE_SINGLESTEP, signal)
    }

    fn go(&self, how: libc::c_uint, signal: i32) -> Result<WaitStatus, Error> {
        match ptrace(how, self.pid, 0, signal as usize) {
            Ok(_) => self.wait(),
            // The process was killed from outside while it was stopped.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => self.wait(),
            Err(error) => Err(Error::system("the program cannot continue")(error)),
        }
    }

    fn wait(&self) -> Result<WaitStatus, Error> {
        let mut status = 0;
        loop {
            // SAFETY: `status` is a local variable, which the call writes.
            let answer = unsafe { libc::waitpid(self.pid, &raw mut status, libc::__WALL) };
            if answer == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Error::system("cannot wait for the program")(error));
            }
        }
        Ok(if libc::WIFSTOPPED(status) {
            if status >> 8 == libc::SIGTRAP | libc::PTRACE_EVENT_FORK << 8 {
                let mut child = 0u64;
                ptrace(libc::PTRACE_GETEVENTMSG, self.pid, 0, &raw mut child as usize)
                    .map_err(Error::system("cannot read the id of the new process"))?;
                WaitStatus::Forked(child as i32)
            } else {
                WaitStatus::Signal(libc::WSTOPSIG(status))
            }
        } else if libc::WIFEXITED(status) {
            WaitStatus::Exited(libc::WEXITSTATUS(status))
        } else {
            WaitStatus::Killed(libc::WTERMSIG(status))
        })
    }

    /// The general registers.
    pub(crate) fn registers(&self) -> Result<libc::user_regs_struct, Error> {
        // SAFETY: integers.
        let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        ptrace(libc::PTRACE_GETREGS, self.pid, 0, &raw mut registers as usize)
            .map_err(Error::system("cannot access the program's registers"))?;
        Ok(registers)
    }

    /// Sets the general registers.
    pub(crate) fn set_registers(&self, registers: &libc::user_regs_struct) -> Result<(), Error> {
        ptrace(libc::PTRACE_SETREGS, self.pid, 0, std::ptr::from_ref(registers) as usize)
            .map_err(Error::system("cannot access the program's registers"))?;
        Ok(())
    }

    /// The vector and floating-point registers, as `xsave` lays them out.
    pub(crate) fn vector(&self) -> Result<Vec<u8>, Error> {
        xstate::read(self.pid).map_err(Error::system("cannot read the program's vector registers"))
    }

    /// Writes what [`Tracee::vector`] returned.
    pub(crate) fn set_vector(&self, bytes: &mut [u8]) -> Result<(), Error> {
        xstate::write(self.pid, bytes)
            .map_err(Error::system("cannot write the program's vector registers"))
    }

    /// The `siginfo_t` of the signal at which it stopped.
    pub(crate) fn siginfo(&self) -> Result<[u8; SIGINFO], Error> {
        let mut bytes = [0u8; SIGINFO];
        ptrace(libc::PTRACE_GETSIGINFO, self.pid, 0, bytes.as_mut_ptr() as usize)
            .map_err(Error::system("cannot access the signal's information"))?;
        Ok(bytes)
    }

    /// Sets the `siginfo_t` of the signal that will be delivered.
    pub(crate) fn set_siginfo(&self, info: &[u8; SIGINFO]) -> Result<(), Error> {
        ptrace(libc::PTRACE_SETSIGINFO, self.pid, 0, info.as_ptr() as usize)
            .map_err(Error::system("cannot access the signal's information"))?;
        Ok(())
    }

    /// Reads a debug register.
    pub(crate) fn debug_register(&self, number: usize) -> Result<u64, Error> {
        // The C library's wrapper would give the word itself, and -1 for an error alike.
        // SAFETY: gives a word back.
        unsafe {
            *libc::__errno_location() = 0;
            let word = libc::ptrace(libc::PTRACE_PEEKUSER, self.pid, offset(number), 0);
            if word == -1 && *libc::__errno_location() != 0 {
                return Err(Error::system("cannot read a debug register")(
                    io::Error::last_os_error(),
                ));
            }
            Ok(word as u64)
        }
    }

    /// Sets a debug register.
    pub(crate) fn set_debug_register(&self, number: usize, value: u64) -> Result<(), Error> {
        ptrace(libc::PTRACE_POKEUSER, self.pid, offset(number), value as usize)
            .map_err(Error::system("cannot set a debug register"))?;
        Ok(())
    }

    /// Writes memory, regardless of its protection.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        self.memory.write_all_at(bytes, address)
    }

    /// Reads a word of memory.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        (self.read(address, &mut bytes) == 8).then(|| u64::from_le_bytes(bytes))
    }

    /// Executes a system call in the process with the instruction at `instruction`, and restores
    /// its registers.
    pub(crate) fn call(
        &self,
        instruction: u64,
        number: i64,
        args: [u64; 6],
    ) -> Result<(i64, Option<i32>), Error> {
        let before = self.registers()?;
        let mut registers = before;
        registers.rip = instruction;
        registers.rax = number as u64;
        // No system call is to be restarted.
        registers.orig_rax = u64::MAX;
        [registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9] =
            args;
        self.set_registers(&registers)?;
        let mut child = None;
        loop {
            match self.step(0)? {
                WaitStatus::Forked(made) => child = Some(made),
                // Ignore a trap that came from outside.
                WaitStatus::Signal(libc::SIGTRAP) if self.registers()?.rip != instruction => break,
                // A stop request: the process is stopped already.
                WaitStatus::Signal(libc::SIGTRAP | libc::SIGSTOP | INTERRUPT) => {}
                other => {
                    return Err(Error::Runtime(format!("the program has ended: {other:?}")));
                }
            }
        }
        let answer = self.registers()?.rax as i64;
        self.set_registers(&before)?;
        Ok((answer, child))
    }

    /// Maps readable, writable and executable memory in the process. Returns whether it succeeded.
    pub(super) fn map(&self, instruction: u64, place: Range<u64>) -> Result<bool, Error> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let rights = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let len = place.end - place.start;
        let args = [place.start, len, rights as u64, flags as u64, u64::MAX, 0];
        let (answer, _) = self.call(instruction, libc::SYS_mmap, args)?;
        Ok(answer as u64 == place.start)
    }

    /// A copy of the process in the same state. It is a child of this process, not of the original,
    /// so that no zombie remains when it ends.
    pub(crate) fn fork(&self, instruction: u64) -> Result<Tracee, Error> {
        let flags = (libc::CLONE_PARENT | libc::SIGCHLD) as u64;
        let (answer, child) = self.call(instruction, libc::SYS_clone, [flags, 0, 0, 0, 0, 0])?;
        let Some(child) = child.filter(|_| answer > 0) else {
            return Err(Error::Runtime(format!(
                "the process cannot be copied (error {})",
                -answer
            )));
        };
        let copy = Tracee::of(child)?;
        match copy.wait()? {
            WaitStatus::Signal(libc::SIGSTOP | libc::SIGTRAP) => {}
            other => return Err(Error::Runtime(format!("a copy did not start: {other:?}"))),
        }
        copy.set_registers(&self.registers()?)?;
        Ok(copy)
    }
}

impl Memory for Tracee {
    fn read(&self, address: u64, buf: &mut [u8]) -> usize {
        self.memory.read_at(buf, address).unwrap_or(0)
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        if self.gone {
            return;
        }
        stop(&self.handle, libc::SIGKILL);
        while matches!(self.wait(), Ok(WaitStatus::Signal(_) | WaitStatus::Forked(_))) {}
    }
}

/// Sends a signal to a process.
pub(crate) fn stop(handle: &OwnedFd, signal: i32) {
    // SAFETY: a plain call on an open descriptor.
    unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), signal, 0, 0);
    }
}

fn offset(register: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + 8 * register
}
