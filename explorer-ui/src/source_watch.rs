//! Waits for source files to change: for `cargo heddle test --watch`.

use crate::exit::Problem;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// How often to test whether the user interrupted the wait.
const TICK: Duration = Duration::from_millis(250);
/// Sources that were not written for this long are assumed to be saved completely.
const QUIET: Duration = Duration::from_millis(300);

/// The source files of packages.
pub(crate) struct SourceWatch {
    /// Watching ends when this is dropped.
    _watcher: RecommendedWatcher,
    changed: Receiver<PathBuf>,
}

impl SourceWatch {
    /// Starts watching the files of the packages in these directories: those directly in them, and those
    /// at any depth below the directories in which cargo finds its targets.
    pub(crate) fn of(packages: &[PathBuf]) -> Result<SourceWatch, Problem> {
        let failed = |error: notify::Error| {
            Problem::Usage(format!("cannot watch files on this machine: {error}"))
        };
        let (sender, changed) = channel();
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            // Compilers read the sources.
            if matches!(event.kind, EventKind::Access(_)) {
                return;
            }
            for path in event.paths.into_iter().filter(|path| is_source(path)) {
                // The receiver is gone when the command ends.
                let _ = sender.send(path);
            }
        })
        .map_err(failed)?;
        for package in packages {
            watcher.watch(package, RecursiveMode::NonRecursive).map_err(failed)?;
            for tree in TREES.map(|tree| package.join(tree)).iter().filter(|tree| tree.is_dir()) {
                watcher.watch(tree, RecursiveMode::Recursive).map_err(failed)?;
            }
        }
        Ok(SourceWatch { _watcher: watcher, changed })
    }

    /// Waits until a source has changed and no other was written for [`QUIET`]. Returns the first that
    /// changed, or `None` if interrupted.
    pub(crate) fn wait(&mut self, interrupted: &AtomicBool) -> Option<PathBuf> {
        loop {
            if interrupted.load(Ordering::Relaxed) {
                return None;
            }
            match self.changed.recv_timeout(TICK) {
                Ok(path) => {
                    while self.changed.recv_timeout(QUIET).is_ok() {
                        if interrupted.load(Ordering::Relaxed) {
                            return None;
                        }
                    }
                    return Some(path);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

/// The directories of a package in which cargo finds targets.
const TREES: [&str; 4] = ["src", "tests", "examples", "benches"];

/// Whether a changed file may be one from which cargo builds: editors write temporary files beside it, and
/// cargo its lock file.
fn is_source(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_temporary = name.starts_with('.') || name.starts_with('#') || name.ends_with('~');
    let extension = path.extension().and_then(|extension| extension.to_str());
    !is_temporary && extension.is_some_and(|extension| SOURCES.contains(&extension))
}

/// Extensions of sources: Rust, manifests, and what build scripts compile.
const SOURCES: [&str; 9] = ["rs", "toml", "c", "cc", "cpp", "cxx", "h", "hpp", "S"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_distinguished_from_what_editors_and_cargo_write() {
        for source in ["a/src/lib.rs", "Cargo.toml", "native/queue.c", "src/start.S"] {
            assert!(is_source(Path::new(source)), "{source}");
        }
        for other in ["src/.lib.rs.swp", "src/lib.rs~", "src/#lib.rs#", "Cargo.lock", "src/4913"] {
            assert!(!is_source(Path::new(other)), "{other}");
        }
    }
}
