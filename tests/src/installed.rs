//! Commands that a machine may lack.

/// Whether the search path has a command of this name.
#[must_use]
pub fn is_installed(command: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(command).is_file())
}
