//! Files that are there in full or not at all, whatever happens while they are written.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A complete file under a name of its own, which is gone when this is dropped.
#[derive(Debug)]
pub(super) struct Pending {
    path: PathBuf,
}

impl Pending {
    /// Writes the bytes into a new file in the directory, down to the disk.
    pub(super) fn write(dir: &Path, bytes: &[u8], mode: u32) -> Result<Pending> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!(".heddle-{}-{number}.tmp", std::process::id()));
            let mut options = OpenOptions::new();
            let mut file = match options.write(true).create_new(true).mode(mode).open(&path) {
                // Left by a process that was killed and had the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let pending = Pending { path };
            file.write_all(bytes)?;
            file.sync_all()?;
            return Ok(pending);
        }
    }

    /// Gives the file this name too, which must be free: `AlreadyExists` otherwise.
    pub(super) fn publish_new(&self, path: &Path) -> Result<()> {
        match fs::hard_link(&self.path, path) {
            Ok(()) => {
                sync_dir(path);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            // A file system without links. Another process could take the name in between here,
            // and the later one of the two files would stay.
            Err(_) if fs::symlink_metadata(path).is_err() => self.replace(path),
            Err(_) => Err(ErrorKind::AlreadyExists.into()),
        }
    }

    /// Gives the file this name, whatever had it before.
    pub(super) fn replace(&self, path: &Path) -> Result<()> {
        fs::rename(&self.path, path)?;
        sync_dir(path);
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // Gone already where it was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes a new name last. Not every file system can, and the file itself is safe already.
fn sync_dir(path: &Path) {
    if let Some(dir) = path.parent()
        && let Ok(dir) = File::open(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
    {
        let _ = dir.sync_all();
    }
}
