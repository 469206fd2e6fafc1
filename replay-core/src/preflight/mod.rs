//! Whether a program can be run under control: found, looked into, and refused with one line that
//! says what is wrong and what to do.

mod elf;
mod lookup;
mod script;
#[cfg(test)]
mod tests;

use crate::{Error, Target};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

impl Target {
    /// Finds `program` as `execvp` would, with the environment and the directory of this process,
    /// and checks that it is one that can be run under control.
    ///
    /// # Errors
    /// [`Error::Target`] with one line, where there is no such program or it is not a native,
    /// dynamically linked glibc program for x86-64.
    pub fn new(program: &OsStr, args: Vec<OsString>) -> Result<Target, Error> {
        let found = lookup::find(program).map_err(Error::Target)?;
        let build_id = examine(&found).map_err(Error::Target)?;
        let cwd = std::env::current_dir().map_err(|error| {
            Error::Target(format!(
                "the working directory cannot be used ({error}): change to one that exists"
            ))
        })?;
        Ok(Target {
            program: found,
            name: program.to_owned(),
            args,
            env: std::env::vars_os().collect(),
            cwd,
            build_id,
        })
    }

    /// The same as the file is now.
    ///
    /// # Errors
    /// [`Error::Target`] where it is none any more that can be run under control.
    pub fn rebuilt(&self) -> Result<Target, Error> {
        let build_id = examine(&self.program).map_err(Error::Target)?;
        Ok(Target { build_id, ..self.clone() })
    }
}

/// Checks everything about a file that can be executed, and answers with its build id.
fn examine(path: &Path) -> Result<String, String> {
    let name = shown(path);
    let data =
        std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::PermissionDenied => format!(
                "{name} may be executed but not read, so it cannot be checked: make it readable (chmod +r)"
            ),
            _ => format!("{name} cannot be read: {error}"),
        })?;
    elf::check(path, &data)?;
    check_privileges(path)?;
    Ok(elf::build_id(&data)
        .unwrap_or_else(|| format!("file-{}", &blake3::hash(&data).to_hex()[..40])))
}

/// Programs that get privileges when they start: the dynamic linker ignores preloaded libraries
/// there, so the program would run on by itself, and nobody would notice.
fn check_privileges(path: &Path) -> Result<(), String> {
    let name = shown(path);
    let advice = "the dynamic linker ignores preloaded libraries there; run a plain copy of it";
    let mode = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?.mode();
    if mode & libc::S_ISUID != 0 {
        return Err(format!("{name} is a setuid program: {advice}"));
    }
    // Without the group's execute bit, the setgid bit once meant mandatory locking: no privilege.
    if mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0 {
        return Err(format!("{name} is a setgid program: {advice}"));
    }
    if has_capabilities(path) {
        return Err(format!("{name} has file capabilities (see getcap): {advice}"));
    }
    Ok(())
}

/// Whether the file carries capabilities that its process would get.
fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings end in a zero byte, and with a length of 0 nothing is written.
    let len = unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
    };
    len > 0
}

/// A path for a message of one line: what would break the line, or the terminal, is escaped.
fn shown(path: &Path) -> String {
    path.to_string_lossy()
        .chars()
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}
