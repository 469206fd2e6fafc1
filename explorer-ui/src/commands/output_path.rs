//! Names of the files that a verb writes next to a trace.

use std::path::{Path, PathBuf};

/// The path next to `trace` with `what` before the extension: `bug.heddle` becomes `bug.min.heddle`.
pub(super) fn sibling_path(trace: &Path, what: &str) -> PathBuf {
    let stem = trace.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".min").unwrap_or(&stem).to_owned();
    trace.with_file_name(format!("{stem}.{what}.heddle"))
}
