//! Formats paths for messages.

use std::path::Path;

/// A path in a one-line message: control characters are escaped.
pub(super) fn shown(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}
