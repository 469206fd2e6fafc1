//! Commands that a machine may lack.

use std::ffi::OsStr;

/// Whether the search path has a command of this name.
#[must_use]
pub fn is_installed(command: &str) -> bool {
    is_installed_in(&std::env::var_os("PATH").unwrap_or_default(), command)
}

/// Whether a search path has a command of this name.
#[must_use]
pub fn is_installed_in(path: &OsStr, command: &str) -> bool {
    std::env::split_paths(path).any(|directory| directory.join(command).is_file())
}
