//! Mounts a directory in the place of another, for one process and its children.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// A directory that replaces another in a separate namespace.
#[derive(Debug, Clone)]
pub(in crate::launch) struct Mount {
    from: CString,
    over: CString,
    /// The lines that map the user and the group to themselves, if the namespace of mounts needs one of
    /// users.
    user: CString,
    group: CString,
}

impl Mount {
    pub(super) fn new(from: impl AsRef<Path>, over: &Path) -> Result<Mount, String> {
        let text = |path: &Path| {
            CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())
        };
        let same =
            |id: u32| CString::new(format!("{id} {id} 1")).map_err(|error| error.to_string());
        Ok(Mount {
            from: text(from.as_ref())?,
            over: text(over)?,
            user: same(nix::unistd::geteuid().as_raw())?,
            group: same(nix::unistd::getegid().as_raw())?,
        })
    }

    /// Moves the calling process to a namespace with this mount, and to the mounted directory.
    ///
    /// # Safety
    /// The process has one thread. It makes bare calls only, and allocates nothing, so that it may be a
    /// child that was forked from a process with several threads.
    ///
    /// # Errors
    /// What the kernel refused.
    pub(in crate::launch) unsafe fn enter(&self) -> std::io::Result<()> {
        const NOTHING: *const libc::c_char = std::ptr::null();
        let check = |result: libc::c_int| match result {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        };
        // SAFETY: the strings are owned by `self` and end with zero; the calls change this process only.
        unsafe {
            if libc::unshare(libc::CLONE_NEWNS) != 0 {
                // Without privileges, a process may mount only in a new namespace of users.
                check(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS))?;
                write(c"/proc/self/setgroups", c"deny")?;
                write(c"/proc/self/uid_map", &self.user)?;
                write(c"/proc/self/gid_map", &self.group)?;
            }
            let private = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(NOTHING, c"/".as_ptr(), NOTHING, private, std::ptr::null()))?;
            let bind = libc::MS_BIND;
            check(libc::mount(
                self.from.as_ptr(),
                self.over.as_ptr(),
                NOTHING,
                bind,
                std::ptr::null(),
            ))?;
            check(libc::chdir(self.over.as_ptr()))
        }
    }
}

/// Writes a text to a file of the kernel, by bare calls.
unsafe fn write(path: &std::ffi::CStr, text: &std::ffi::CStr) -> std::io::Result<()> {
    // SAFETY: the strings end with zero, and the descriptor is closed here.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let bytes = text.to_bytes();
        let written = libc::write(file, bytes.as_ptr().cast(), bytes.len());
        let error = std::io::Error::last_os_error();
        libc::close(file);
        if written == bytes.len() as isize { Ok(()) } else { Err(error) }
    }
}

/// Whether this machine lets a process mount a directory for itself, and if not, why.
pub(super) fn check() -> Result<(), String> {
    let here = std::env::temp_dir();
    if !here.is_dir() {
        return Err(format!(
            "there is no directory {}: set TMPDIR to a directory that you can write",
            here.display()
        ));
    }
    let mount = Mount::new(&here, &here)?;
    let mut command = Command::new("/proc/self/exe");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and the end of the process only bare calls are made; see `Mount::enter`.
    unsafe {
        command.pre_exec(move || {
            let result = mount.enter();
            libc::_exit(result.map_or_else(|error| error.raw_os_error().unwrap_or(1), |()| 0));
        });
    }
    let status = command.status().map_err(|error| error.to_string())?;
    permitted(status.code(), status.signal())
}

/// Whether mounts are permitted, from the end of the process that made one: its exit status is the error
/// number. The reason if they are not.
fn permitted(code: Option<i32>, signal: Option<i32>) -> Result<(), String> {
    match code {
        Some(0) => Ok(()),
        Some(number) => {
            let error = std::io::Error::from_raw_os_error(number);
            Err(format!(
                "mounts are not permitted ({error}): allow namespaces of users \
                 (kernel.unprivileged_userns_clone=1), or in a container --cap-add SYS_ADMIN"
            ))
        }
        None => {
            let signal = signal.unwrap_or_default();
            Err(format!("the check for mounts was killed by signal {signal}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_mounts_says_what_to_allow() {
        assert_eq!(permitted(Some(0), None), Ok(()));
        assert_eq!(
            permitted(Some(libc::EPERM), None),
            Err("mounts are not permitted (Operation not permitted (os error 1)): allow namespaces of \
                 users (kernel.unprivileged_userns_clone=1), or in a container --cap-add SYS_ADMIN"
                .to_owned())
        );
        let killed = "the check for mounts was killed by signal 9".to_owned();
        assert_eq!(permitted(None, Some(9)), Err(killed));
    }
}
