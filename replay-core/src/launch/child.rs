//! A child process that is started without a copy of this process's page tables.
//!
//! `fork` copies the page tables of the whole process while its memory is locked, which takes milliseconds
//! with a long trace in memory (25 ms for 800 MB), and each page that is written afterwards is copied once more. Other threads,
//! such as the one that draws the explorer's screen, wait for both.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// The bytes of the stack on which a child runs until it executes its program.
const STACK: usize = 64 << 10;

/// The numbers of signals end below this one.
const SIGNALS: i32 = 65;

/// A process that this one started and waits for.
pub(crate) struct Child {
    pid: i32,
    /// How it ended, once it has been waited for: its number may belong to another process from then on.
    status: Option<ExitStatus>,
}

/// What a new child does, and what the kernel refused if its program could not be executed.
struct Beginning<'a> {
    body: &'a mut dyn FnMut() -> io::Error,
    refused: i32,
}

impl Child {
    /// Starts a process in which `body` runs, with default handlers and all signals blocked. The calling
    /// thread waits until `body` has executed a program.
    ///
    /// # Safety
    /// `body` runs in the memory of this process, beside its other threads. It makes bare system calls only:
    /// it allocates nothing, takes no lock, does not unwind, and changes no memory that another thread uses.
    /// It returns only if it could not execute a program.
    ///
    /// # Errors
    /// No process could be made, or the error that `body` returned.
    pub(super) unsafe fn start(body: &mut dyn FnMut() -> io::Error) -> io::Result<Child> {
        let mut beginning = Beginning { body, refused: 0 };
        let mut stack = vec![0u128; STACK / size_of::<u128>()];
        // SAFETY: the masks are locals. The stack is aligned and lives until `clone` returns here, which is
        // after the child has executed a program or ended (CLONE_VFORK), as is what the argument points to.
        let pid = unsafe {
            let mut all = std::mem::zeroed::<libc::sigset_t>();
            let mut before = std::mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&raw mut all);
            // No handler of this process runs in the child, where it would change the shared memory.
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let top = stack.as_mut_ptr_range().end.cast();
            let pid = libc::clone(begin, top, flags, (&raw mut beginning).cast());
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
            if pid < 0 {
                return Err(error);
            }
            pid
        };
        let mut child = Child { pid, status: None };
        match beginning.refused {
            0 => Ok(child),
            number => {
                child.wait()?;
                Err(io::Error::from_raw_os_error(number))
            }
        }
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> i32 {
        self.pid
    }

    /// How the process ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_with(libc::WNOHANG)
    }

    /// Waits until the process has ended.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.wait_with(0).map(drop)
    }

    fn wait_with(&mut self, options: i32) -> io::Result<Option<ExitStatus>> {
        while self.status.is_none() {
            let mut status = 0;
            // SAFETY: the call writes a local. The process is a child that was not waited for before.
            match unsafe { libc::waitpid(self.pid, &raw mut status, options) } {
                0 => break,
                -1 => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
                _ => self.status = Some(ExitStatus::from_raw(status)),
            }
        }
        Ok(self.status)
    }

    /// Kills the process if it has not ended.
    pub(crate) fn kill(&mut self) {
        if self.status.is_none() {
            // SAFETY: the number is that of a child that was not waited for.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
        }
    }
}

/// The child's first function.
extern "C" fn begin(beginning: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `Child::start` passes a pointer to its local, and waits.
    let beginning = unsafe { &mut *beginning.cast::<Beginning>() };
    // SAFETY: the calls write locals, and change the handlers of this process, which has its own.
    unsafe {
        for signal in 1..SIGNALS {
            let mut action = std::mem::zeroed::<libc::sigaction>();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0 {
                continue;
            }
            let is_handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
            // Rust's programs ignore SIGPIPE, which those that they start should not.
            if is_handled || signal == libc::SIGPIPE {
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
    let error = (beginning.body)();
    beginning.refused = error.raw_os_error().unwrap_or(libc::EIO);
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a command of the shell in a new child.
    fn shell(command: &std::ffi::CStr) -> io::Result<Child> {
        let words = [c"sh".as_ptr(), c"-c".as_ptr(), command.as_ptr(), std::ptr::null()];
        // SAFETY: the closure makes one bare call; the strings end with zero and live until it is done.
        unsafe {
            Child::start(&mut || {
                libc::execv(c"/bin/sh".as_ptr(), words.as_ptr());
                io::Error::last_os_error()
            })
        }
    }

    #[test]
    fn the_status_of_a_child_is_kept() {
        let mut child = shell(c"exit 7").expect("it starts");
        child.wait().expect("it ends");
        for _ in 0..2 {
            let status = child.try_wait().expect("known").expect("it has ended");
            assert_eq!(status.code(), Some(7));
        }
        let mut child = shell(c"sleep 100").expect("it starts");
        assert_eq!(child.try_wait().expect("it can be asked"), None);
        child.kill();
        child.wait().expect("it ends");
        let status = child.try_wait().expect("known").expect("it has ended");
        assert_eq!(status.signal(), Some(libc::SIGKILL));
    }

    #[test]
    fn a_program_that_cannot_be_executed_is_an_error_with_the_reason() {
        // SAFETY: the closure makes one bare call with constants.
        let refused = unsafe {
            Child::start(&mut || {
                libc::execv(c"/nowhere".as_ptr(), [std::ptr::null()].as_ptr());
                io::Error::last_os_error()
            })
        };
        let error = refused.err().expect("it does not exist");
        assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    }

    #[test]
    fn a_child_has_the_default_action_of_signals_and_its_parent_keeps_its_mask() {
        let mask = || {
            // SAFETY: the call writes a local.
            unsafe {
                let mut mask = std::mem::zeroed::<libc::sigset_t>();
                libc::pthread_sigmask(libc::SIG_SETMASK, std::ptr::null(), &raw mut mask);
                (1..SIGNALS)
                    .filter(|signal| libc::sigismember(&raw const mask, *signal) == 1)
                    .count()
            }
        };
        let before = mask();
        // The bit of SIGPIPE, which Rust's programs ignore, is not among the ignored ones.
        let mut child = shell(
            c"grep -q 'SigIgn:.*[0-9a-f]*[02468ace][0-9a-f][0-9a-f][0-9a-f]$' /proc/self/status",
        )
        .expect("it starts");
        child.wait().expect("it ends");
        let status = child.try_wait().expect("known").expect("it has ended");
        assert_eq!(status.code(), Some(0));
        assert_eq!(mask(), before);
    }
}
