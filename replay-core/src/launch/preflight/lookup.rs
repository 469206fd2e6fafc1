//! Finds the file that `execvp` would execute.

use super::shown::shown;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The C library's search path if `PATH` is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The absolute path of the file that `execvp` would execute, or a message of one line.
pub(super) fn find(program: &OsStr) -> Result<PathBuf, String> {
    if program.is_empty() {
        return Err("no program was given: name one after --".to_owned());
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let found = if program.as_bytes().contains(&b'/') {
        let path = Path::new(program);
        executable(path).map_err(|problem| problem.line(path))?;
        path.to_owned()
    } else {
        in_path(program, &search)?
    };
    // A relative path is one from the working directory, which exists if the file does.
    Ok(std::path::absolute(&found).unwrap_or(found))
}

/// Searches the directories of `search`; an empty entry is the working directory.
pub(super) fn in_path(program: &OsStr, search: &OsStr) -> Result<PathBuf, String> {
    let mut refused = None;
    for directory in std::env::split_paths(search) {
        let path = match directory.as_os_str().is_empty() {
            true => Path::new(".").join(program),
            false => directory.join(program),
        };
        match executable(&path) {
            Ok(()) => return Ok(path),
            Err(Problem::Missing) => {}
            // Like `execvp`: continue, and report this problem only if nothing is found.
            Err(problem) => refused = refused.or(Some(problem.line(&path))),
        }
    }
    let name = shown(Path::new(program));
    let advice = match Path::new(program).exists() {
        true => format!("a file of that name is here: did you mean ./{name}?"),
        false => "check the spelling, or give its path".to_owned(),
    };
    Err(refused.unwrap_or_else(|| format!("{name} is in no directory of PATH: {advice}")))
}

/// Why a file cannot be executed.
enum Problem {
    Missing,
    /// A symbolic link to a file that does not exist.
    Broken(PathBuf),
    Directory,
    Special,
    Permission,
    /// The file has permission, but its file system is mounted noexec.
    NoExec,
    Other(io::Error),
}

impl Problem {
    fn line(&self, path: &Path) -> String {
        let name = shown(path);
        match self {
            Problem::Missing => format!("{name} does not exist: check the spelling, or build it"),
            Problem::Broken(to) => format!(
                "{name} is a broken symbolic link to {}: build what it points to, or give another path",
                shown(to)
            ),
            Problem::Directory => format!("{name} is a directory: give a program in it"),
            Problem::Special => format!("{name} is not a regular file: give a program"),
            Problem::Permission => {
                format!("{name} has no permission to be executed: chmod +x it, if it is a program")
            }
            Problem::NoExec => {
                format!("{name} lies on a file system mounted noexec: copy it to another one")
            }
            Problem::Other(error) => format!("{name} cannot be executed: {error}"),
        }
    }
}

/// Whether the system would execute this file.
fn executable(path: &Path) -> Result<(), Problem> {
    let about = match std::fs::metadata(path) {
        Ok(about) => about,
        Err(error) => {
            let link = std::fs::read_link(path).ok();
            return Err(match (error.raw_os_error(), link) {
                (Some(libc::ENOENT), Some(to)) => Problem::Broken(to),
                (Some(libc::ENOENT | libc::ENOTDIR), None) => Problem::Missing,
                (Some(libc::EACCES), _) => Problem::Permission,
                _ => Problem::Other(error),
            });
        }
    };
    if about.is_dir() {
        return Err(Problem::Directory);
    }
    if !about.is_file() {
        return Err(Problem::Special);
    }
    match may_execute(path) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            Err(if about.mode() & 0o111 == 0 { Problem::Permission } else { no_exec(path) })
        }
        Err(error) => Err(Problem::Other(error)),
    }
}

/// Asks the system, with the effective user id.
fn may_execute(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends in a zero byte; nothing is written.
    let result =
        unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::X_OK, libc::AT_EACCESS) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Distinguishes a noexec file system from missing permission for this user.
fn no_exec(path: &Path) -> Problem {
    match nix::sys::statvfs::statvfs(path) {
        Ok(about) if about.flags().contains(nix::sys::statvfs::FsFlags::ST_NOEXEC) => {
            Problem::NoExec
        }
        _ => Problem::Permission,
    }
}
