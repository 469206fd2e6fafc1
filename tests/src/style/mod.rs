//! Checks of the project's style: import cycles among files, and vocabulary.

pub mod imports;
pub mod lexer;
pub mod prose;
pub mod words;

use std::path::{Path, PathBuf};

/// The root of the repository: the current folder if it is one, else where this crate was built.
#[must_use]
pub fn repository() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    if here.join("tests/style").is_dir() {
        return here;
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
