//! Temporary directories that do not outlive their process, however it ends.
//!
//! A process that is killed cannot remove its directory. So every directory contains a locked file:
//! the lock ends with the process, and the next process removes directories without one.

use crate::error::remedy;
use crate::launch::runtime::private_directory;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = "scratch-";
const LOCK: &str = ".lock";

/// A private directory that is removed with this value, or by a later process.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Scratch {
    /// Creates a directory, and removes those of processes that were killed.
    ///
    /// # Errors
    /// If there is no private directory for temporary files.
    pub fn new() -> io::Result<Scratch> {
        let base = base();
        Scratch::in_directory(&base).map_err(|error| unusable(&base, error))
    }

    pub(crate) fn in_directory(base: &Path) -> io::Result<Scratch> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        private_directory(base)?;
        remove_stale(base);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
            // The directory is complete, with its lock, before it has a name that others look at.
            let fresh = base.join(format!(".{PREFIX}{}-{number}", std::process::id()));
            let _ = fs::remove_dir_all(&fresh);
            private_directory(&fresh)?;
            let lock = lock(&fresh.join(LOCK))?;
            match fs::rename(&fresh, &path) {
                Ok(()) => return Ok(Scratch { path, _lock: lock }),
                // A leftover of a killed process with the same process id.
                Err(_) if path.exists() => {
                    fs::remove_dir_all(&fresh)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The error with the directory, and what to do about it unless its own remedy says that.
fn unusable(base: &Path, error: io::Error) -> io::Error {
    match remedy(&error).is_empty() {
        true => io::Error::new(
            error.kind(),
            format!("{}: {error}: set TMPDIR to a directory that you can write", base.display()),
        ),
        false => error,
    }
}

/// The directory of this user's temporary directories.
#[must_use]
pub fn base() -> PathBuf {
    std::env::temp_dir().join(format!("heddle-{}", geteuid()))
}

/// Removes directories whose processes have ended.
fn remove_stale(base: &Path) {
    for path in stale(base) {
        let _ = fs::remove_dir_all(path);
    }
}

/// The directories whose processes have ended.
#[must_use]
pub fn stale(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Some(rest) = name.trim_start_matches('.').strip_prefix(PREFIX) else { return false };
        let unfinished = name.starts_with('.');
        let process = rest.split('-').next().and_then(|number| number.parse().ok());
        // One without a lock is being created, unless its process has ended.
        match (unfinished, process) {
            (true, Some(process)) => !is_alive(process),
            _ => lock(&entry.path().join(LOCK)).is_ok(),
        }
    });
    ours.map(|entry| entry.path()).collect()
}

/// Whether a process with this number exists.
pub(crate) fn is_alive(process: i32) -> bool {
    let process = nix::unistd::Pid::from_raw(process);
    nix::sys::signal::kill(process, None) != Err(nix::errno::Errno::ESRCH)
}

/// Locks a file, which is created if necessary, without waiting.
pub(crate) fn lock(path: &Path) -> io::Result<Flock<File>> {
    let mut options = OpenOptions::new();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = options.write(true).create(true).truncate(false).mode(0o600);
    let file = file.custom_flags(flags).open(path)?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_of_a_dead_process_is_removed_and_of_a_live_one_is_not() {
        let base = tempfile::tempdir().expect("a directory");
        let base = base.path().join("base");
        let alive = Scratch::in_directory(&base).expect("a directory");
        fs::write(alive.path().join("file"), "x").expect("writable");
        // As a killed process leaves them: without a locked file, and half made.
        let dead = base.join("scratch-1-0");
        fs::create_dir(&dead).expect("writable");
        fs::write(dead.join(LOCK), "").expect("writable");
        let half = base.join(".scratch-2147483646-0");
        fs::create_dir(&half).expect("writable");
        let another = Scratch::in_directory(&base).expect("a directory");
        assert!(!dead.exists() && !half.exists());
        assert!(alive.path().join("file").exists() && another.path() != alive.path());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
