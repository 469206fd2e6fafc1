//! Runs a check in a child process, so that it cannot harm this process.

use std::io;

/// How a child ended, or that it stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It is stopped.
    Stopped,
}

/// A child process that is killed when this is dropped.
pub(super) struct Child {
    pub(super) pid: libc::pid_t,
    over: bool,
}

impl Child {
    /// Runs `body` in a forked child; its return value is the child's exit status.
    ///
    /// This process may have other threads, which do not exist in the child. So `body` may only
    /// make system calls; in particular it must not allocate.
    pub(super) fn start(body: impl FnOnce() -> i32) -> io::Result<Child> {
        // SAFETY: the child makes only system calls, as `body` promises, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: two system calls. The child must not outlive a parent that was killed.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::_exit(body())
                }
            }
            pid => Ok(Child { pid, over: false }),
        }
    }

    /// Waits until the child ends or stops.
    pub(super) fn wait(&mut self) -> io::Result<End> {
        let mut status = 0;
        // SAFETY: `status` is a place to write to; the process is our own child.
        while unsafe { libc::waitpid(self.pid, &raw mut status, libc::WUNTRACED) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                self.over = true;
                return Err(error);
            }
        }
        if libc::WIFSTOPPED(status) {
            return Ok(End::Stopped);
        }
        self.over = true;
        Ok(match libc::WIFSIGNALED(status) {
            true => End::Killed(libc::WTERMSIG(status)),
            false => End::Exited(libc::WEXITSTATUS(status)),
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.over {
            // SAFETY: the process is our own child, and not waited for yet, so the id is its own.
            unsafe { libc::kill(self.pid, libc::SIGKILL) };
            // The child is gone whether or not the wait succeeds.
            let _ = self.wait();
        }
    }
}

/// Runs `body` in a child to its end; see [`Child::start`].
pub(super) fn run(body: impl FnOnce() -> i32) -> io::Result<End> {
    Child::start(body)?.wait()
}

/// The error number of the last failed system call, as an exit status.
pub(super) fn errno() -> i32 {
    // SAFETY: the address is valid for the calling thread.
    unsafe { *libc::__errno_location() }
}

/// Describes a check in a child that did not succeed.
pub(super) fn described(end: io::Result<End>) -> String {
    match end {
        Ok(End::Exited(0)) => "no effect".to_owned(),
        Ok(End::Exited(error)) => format!("refused: {}", io::Error::from_raw_os_error(error)),
        Ok(End::Killed(signal)) => format!("ended by signal {signal}"),
        Ok(End::Stopped) => "stopped".to_owned(),
        Err(error) => format!("not tried: {error}"),
    }
}
