//! The flags of a descriptor's open file: whether its calls wait, and which calls it allows.

use crate::sys::raw;

/// The flags of an open file.
#[derive(Clone, Copy)]
pub(crate) struct OpenFlags(i32);

impl OpenFlags {
    /// The flags of the descriptor's open file; none if it is closed.
    pub(crate) fn of(descriptor: u64) -> Option<Self> {
        // SAFETY: `F_GETFL` takes no pointer.
        let flags = unsafe { raw::call!(libc::SYS_fcntl, descriptor, libc::F_GETFL) };
        i32::try_from(flags).ok().filter(|&flags| flags >= 0).map(Self)
    }

    /// Whether it is not in the mode in which calls do not wait.
    pub(crate) fn waits(self) -> bool {
        self.0 & libc::O_NONBLOCK == 0
    }

    /// Whether it allows reading. The end of a pipe that writes does not.
    pub(crate) fn reads(self) -> bool {
        self.0 & libc::O_PATH == 0 && [libc::O_RDONLY, libc::O_RDWR].contains(&self.mode())
    }

    /// Whether it allows writing.
    pub(crate) fn writes(self) -> bool {
        self.0 & libc::O_PATH == 0 && [libc::O_WRONLY, libc::O_RDWR].contains(&self.mode())
    }

    /// Whether each write goes to the file's end.
    pub(crate) fn appends(self) -> bool {
        self.0 & libc::O_APPEND != 0
    }

    fn mode(self) -> i32 {
        self.0 & libc::O_ACCMODE
    }
}

/// Whether a call that reads from the descriptor may wait. One that the open file does not allow fails at once.
pub(crate) fn may_wait_to_read(descriptor: u64) -> bool {
    OpenFlags::of(descriptor).is_some_and(|flags| flags.waits() && flags.reads())
}

/// Whether a call that writes to the descriptor may wait.
pub(crate) fn may_wait_to_write(descriptor: u64) -> bool {
    OpenFlags::of(descriptor).is_some_and(|flags| flags.waits() && flags.writes())
}
