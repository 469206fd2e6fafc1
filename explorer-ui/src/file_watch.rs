//! Waits for files to change: for `--watch`, and for the explorer.

use crate::exit::Problem;
use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often to test whether the user interrupted the wait.
const TICK: Duration = Duration::from_millis(250);
/// A file without changes for this long is assumed to be completely written.
const QUIET: Duration = Duration::from_millis(300);

/// Identifies a version of a file: modification time (seconds, nanoseconds), size, inode.
type Stamp = Option<(i64, i64, u64, u64)>;

/// Files, each with its last known version.
pub(crate) struct FileWatch {
    /// Watching ends when this is dropped.
    _watcher: RecommendedWatcher,
    events: Receiver<()>,
    files: Vec<(PathBuf, Stamp)>,
}

impl FileWatch {
    /// Starts watching. Watches directories, since a linker creates a new file under the same name.
    pub(crate) fn of(files: &[&Path]) -> Result<FileWatch, Problem> {
        let (sender, events) = channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // A program that is run again and again is opened each time, and does not change.
            let opened = AccessKind::Open(AccessMode::Any);
            if !event.is_ok_and(|event| event.kind == EventKind::Access(opened)) {
                // The receiver is gone when the command ends.
                let _ = sender.send(());
            }
        })
        .map_err(unwatchable)?;
        let mut watched = Vec::new();
        for file in files {
            let file = std::path::absolute(file)?;
            if let Some(directory) = file.parent() {
                watcher.watch(directory, RecursiveMode::NonRecursive).map_err(unwatchable)?;
            }
            let stamp = stamp(&file);
            watched.push((file, stamp));
        }
        Ok(FileWatch { _watcher: watcher, events, files: watched })
    }

    /// Waits until a file has changed, all files exist, and no file was written for [`QUIET`]. Returns
    /// the changed file, or `None` if interrupted.
    pub(crate) fn wait(&mut self, interrupted: &AtomicBool) -> Option<PathBuf> {
        loop {
            // Until a rebuild in progress has finished.
            first_before_quiet(&self.events, interrupted)?;
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

/// Waits for an event, and then until none comes for [`QUIET`]. Returns the first, or `None` if
/// interrupted.
pub(crate) fn first_before_quiet<T>(events: &Receiver<T>, interrupted: &AtomicBool) -> Option<T> {
    loop {
        if interrupted.load(Ordering::Relaxed) {
            return None;
        }
        match events.recv_timeout(TICK) {
            Ok(first) => {
                while events.recv_timeout(QUIET).is_ok() {
                    if interrupted.load(Ordering::Relaxed) {
                        return None;
                    }
                }
                return Some(first);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// The message if the machine cannot watch files.
pub(crate) fn unwatchable(error: notify::Error) -> Problem {
    Problem::Usage(format!("cannot watch files on this machine: {error}"))
}

fn stamp(path: &Path) -> Stamp {
    let metadata = std::fs::metadata(path).ok().filter(|metadata| metadata.is_file())?;
    Some((metadata.mtime(), metadata.mtime_nsec(), metadata.size(), metadata.ino()))
}

#[cfg(test)]
mod message_tests {
    #[test]
    fn a_machine_that_cannot_watch_files_is_reported() {
        let problem = super::unwatchable(notify::Error::generic("no inotify"));
        assert_eq!(problem.to_string(), "cannot watch files on this machine: no inotify");
        let closed = std::io::Error::from_raw_os_error(32);
        assert_eq!(
            crate::exit::Problem::Output(closed).to_string(),
            "cannot write to standard output: Broken pipe (os error 32)"
        );
    }
}
