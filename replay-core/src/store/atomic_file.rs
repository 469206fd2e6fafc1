//! Writes files atomically: a file exists completely or not at all.

use crate::scratch;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A complete file under a temporary name, which is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Pending {
    path: PathBuf,
    /// While the lock is held, other processes leave the file alone.
    _lock: Option<Flock<File>>,
}

/// Removes the temporary files of processes that were killed while they wrote into this directory.
pub(super) fn remove_stale(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name.strip_prefix(".heddle-").and_then(|rest| rest.strip_suffix(".tmp"));
        let process = middle.and_then(|rest| rest.split('-').next()?.parse().ok());
        let ended = process.is_some_and(|process| !scratch::is_alive(process));
        // The process may be one of another container, which only the lock shows.
        if ended && scratch::lock(&entry.path()).is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Pending {
    /// Writes the parts to a new file in the directory and syncs it to disk.
    pub(super) fn write(dir: &Path, parts: &[&[u8]], mode: u32) -> Result<Pending> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!(".heddle-{}-{number}.tmp", std::process::id()));
            let mut options = OpenOptions::new();
            let mut file = match options.write(true).create_new(true).mode(mode).open(&path) {
                // A leftover of a killed process with the same process id.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            // Not every file system has locks.
            let lock = file
                .try_clone()
                .ok()
                .and_then(|file| Flock::lock(file, FlockArg::LockExclusiveNonblock).ok());
            let pending = Pending { path, _lock: lock };
            parts.iter().try_for_each(|part| file.write_all(part))?;
            file.sync_all()?;
            return Ok(pending);
        }
    }

    /// Links the file to this name, which must be free; `AlreadyExists` otherwise.
    pub(super) fn publish_new(&self, path: &Path) -> Result<()> {
        match fs::hard_link(&self.path, path) {
            Ok(()) => {
                sync_dir(path);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // The file system has no hard links. Another process could take the name meanwhile, and
            // the later of the two files would remain.
            Err(_) if fs::symlink_metadata(path).is_err() => self.replace(path),
            Err(_) => Err(ErrorKind::AlreadyExists.into()),
        }
    }

    /// Renames the file to this name and replaces any file there.
    pub(super) fn replace(&self, path: &Path) -> Result<()> {
        fs::rename(&self.path, path)?;
        sync_dir(path);
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // After a rename, the temporary name no longer exists.
        let _ = fs::remove_file(&self.path);
    }
}

/// Syncs the directory. Not every file system supports this, and the file itself is already safe.
fn sync_dir(path: &Path) {
    if let Some(dir) = path.parent()
        && let Ok(dir) = File::open(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
    {
        let _ = dir.sync_all();
    }
}
