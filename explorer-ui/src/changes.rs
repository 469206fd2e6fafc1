//! Waiting for files to change: for `--watch`, and for the explorer.

use crate::exit::Problem;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often to look whether the user has had enough.
const TICK: Duration = Duration::from_millis(250);
/// A file that nobody touched for so long is whole, as far as can be told.
const QUIET: Duration = Duration::from_millis(300);

/// What tells one state of a file from another.
type Stamp = Option<(i64, i64, u64, u64)>;

/// Some files, and how they were.
pub(crate) struct Changes {
    /// Watches as long as it is kept.
    _watcher: RecommendedWatcher,
    events: Receiver<()>,
    files: Vec<(PathBuf, Stamp)>,
}

impl Changes {
    /// Begins to watch. Directories are what is watched: a linker writes another file under the
    /// same name.
    pub(crate) fn of(files: &[&Path]) -> Result<Changes, Problem> {
        let failed = |error: notify::Error| {
            Problem::Usage(format!("files cannot be watched on this machine: {error}"))
        };
        let (sender, events) = channel();
        let mut watcher = notify::recommended_watcher(move |_| {
            // Nobody listens any more when the command ends.
            let _ = sender.send(());
        })
        .map_err(failed)?;
        let mut kept = Vec::new();
        for file in files {
            let file = std::path::absolute(file)?;
            if let Some(directory) = file.parent() {
                watcher.watch(directory, RecursiveMode::NonRecursive).map_err(failed)?;
            }
            let stamp = stamp(&file);
            kept.push((file, stamp));
        }
        Ok(Changes { _watcher: watcher, events, files: kept })
    }

    /// Waits until a file is another than it was, all are there, and nothing was written for a
    /// while. Says which, or none where it was interrupted.
    pub(crate) fn wait(&mut self, interrupted: &AtomicBool) -> Option<PathBuf> {
        loop {
            if interrupted.load(Ordering::Relaxed) {
                return None;
            }
            match self.events.recv_timeout(TICK) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => return None,
            }
            // A rebuild in progress is waited out.
            while self.events.recv_timeout(QUIET).is_ok() {
                if interrupted.load(Ordering::Relaxed) {
                    return None;
                }
            }
            let now: Vec<Stamp> = self.files.iter().map(|(path, _)| stamp(path)).collect();
            if now.iter().any(Option::is_none) {
                continue;
            }
            let changed = self.files.iter().zip(&now).position(|((_, was), is)| was != is);
            if let Some(changed) = changed {
                let path = self.files[changed].0.clone();
                self.files.iter_mut().zip(now).for_each(|((_, was), is)| *was = is);
                return Some(path);
            }
        }
    }
}

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok().filter(|about| about.is_file())?;
    Some((about.mtime(), about.mtime_nsec(), about.size(), about.ino()))
}
