//! Waits for source files to change: for `cargo heddle test --watch`.

use crate::exit::Problem;
use crate::file_watch::{first_before_quiet, unwatchable};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};

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
        .map_err(unwatchable)?;
        for package in packages {
            watcher.watch(package, RecursiveMode::NonRecursive).map_err(unwatchable)?;
            for tree in TREES.map(|tree| package.join(tree)).iter().filter(|tree| tree.is_dir()) {
                watcher.watch(tree, RecursiveMode::Recursive).map_err(unwatchable)?;
            }
        }
        Ok(SourceWatch { _watcher: watcher, changed })
    }

    /// Waits until a source has changed and no other was written for a moment. Returns the first that
    /// changed, or `None` if interrupted.
    pub(crate) fn wait(&mut self, interrupted: &AtomicBool) -> Option<PathBuf> {
        first_before_quiet(&self.changed, interrupted)
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
