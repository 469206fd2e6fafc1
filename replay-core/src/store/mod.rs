//! Trace files on disk: written atomically, and validated when they are read.
//!
//! A trace that this user's Heddle wrote is signed with the user's key. Only the program of a
//! signed trace may be started without asking: a trace from another source must not decide what
//! runs on this machine.

mod atomic_file;
pub(crate) mod sealed;
mod user_key;

use crate::Error;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use traces::file::{self, FileError, Key, MAX_FILE};
use traces::{Choice, Trace};

/// The number of hexadecimal digits of the signature's digest in a file name, unless the name is
/// taken.
const SHORTEST: usize = 4;

/// A trace read from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The trace. All indices in it are valid.
    pub trace: Trace,
    /// Whether this user's Heddle wrote the trace and it was not modified since. Then its program
    /// may be started without asking.
    pub ours: bool,
}

/// Writes a trace into a directory, which is created if necessary, and returns the path.
///
/// The name is `STEM-3f2a.heddle`; the digits are the start of a digest of the failure's signature,
/// or of the schedule if there is no failure. A trace of the same failure is replaced; any other
/// file of that name stays, and more digits are used.
///
/// # Errors
/// If the directory cannot be written to, or the trace is inconsistent.
pub fn save(trace: &Trace, dir: &Path, stem: &str) -> Result<PathBuf, Error> {
    save_with(trace, dir, stem, user_key::key_or_new().as_ref())
}

/// The directory for traces that cannot be written to the output directory: in the user's state
/// directory, if there is one.
#[must_use]
pub fn fallback_directory() -> Option<PathBuf> {
    user_key::key_or_new()?;
    Some(user_key::dir()?.join("traces"))
}

/// The directory of Heddle's state for this user, if there is one.
#[must_use]
pub fn state_directory() -> Option<PathBuf> {
    user_key::dir()
}

/// Makes the directory of Heddle's state, and the key in it that signs traces, unless they exist.
///
/// # Errors
/// If the state directory cannot be made, belongs to another user, or cannot be written.
pub fn check_state_directory(directory: &Path) -> std::io::Result<()> {
    user_key::key_in(directory).map(drop)
}

/// Writes a trace into a directory as [`save`] does, but replaces no file: if the name is taken by
/// another trace, a number is appended.
///
/// # Errors
/// If the directory cannot be written to, or the trace is inconsistent.
pub fn save_beside(trace: &Trace, dir: &Path, stem: &str) -> Result<PathBuf, Error> {
    let in_dir = |source| Error::System {
        what: format!("cannot write a trace into {}", dir.display()),
        source,
    };
    let bytes = sound(trace, user_key::key_or_new().as_ref())?;
    create_dir(dir).map_err(in_dir)?;
    let pending = atomic_file::Pending::write(dir, &[&bytes], 0o600).map_err(in_dir)?;
    let digits = &digest(trace)[..SHORTEST];
    for number in 1u64.. {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let path = dir.join(format!("{stem}-{digits}{number}.heddle"));
        match pending.publish_new(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(in_dir(error)),
        }
        if load_with(&path, None).is_ok_and(|other| other.trace == *trace) {
            return Ok(path);
        }
    }
    Err(in_dir(ErrorKind::AlreadyExists.into()))
}

/// Writes a trace to this path, which must be free unless it already contains this trace.
///
/// # Errors
/// If the file cannot be written, or the trace is inconsistent.
pub fn save_new(trace: &Trace, path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_err() {
        return save_as(trace, path);
    }
    if load_with(path, None).is_ok_and(|other| other.trace == *trace) {
        return Ok(());
    }
    let what = "a file of this name exists and is not replaced; choose another name".to_owned();
    Err(Error::File { path: path.to_owned(), what })
}

/// Writes a trace to this path. Replaces another trace, but no other file.
///
/// # Errors
/// If the file cannot be written, or the trace is inconsistent.
pub fn save_as(trace: &Trace, path: &Path) -> Result<(), Error> {
    let key = user_key::key_or_new();
    let refused = |what: String| Error::File { path: path.to_owned(), what };
    if fs::symlink_metadata(path).is_ok() && load_with(path, None).is_err() {
        return Err(refused(
            "a file of this name exists that is not a trace; choose another name".into(),
        ));
    }
    let bytes = sound(trace, key.as_ref())?;
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let written =
        atomic_file::Pending::write(dir, &[&bytes], 0o600).and_then(|file| file.replace(path));
    written.map_err(|error| refused(format!("it cannot be written: {error}")))
}

/// Writes a file of these parts atomically; creates the directory if necessary.
fn write(path: &Path, parts: &[&[u8]]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    create_dir(dir)?;
    atomic_file::Pending::write(dir, parts, 0o600)?.replace(path)
}

/// What keeps a directory of traces out of version control: they contain paths, arguments and what the
/// program printed.
const IGNORE: &[u8] = b"# Created by Heddle.\n*\n";

/// Creates a directory that only this user can read, with a file that keeps it out of version control.
/// A directory that exists stays as it is.
fn create_dir(dir: &Path) -> std::io::Result<()> {
    if dir.as_os_str().is_empty() || dir.is_dir() {
        atomic_file::remove_stale(if dir.as_os_str().is_empty() { Path::new(".") } else { dir });
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut ignore = OpenOptions::new();
    match ignore.write(true).create_new(true).mode(0o600).open(dir.join(".gitignore")) {
        Ok(mut file) => file.write_all(IGNORE),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Encodes a trace and verifies that it can be decoded: an error now is better than an unreadable
/// file later.
fn sound(trace: &Trace, key: Option<&Key>) -> Result<Vec<u8>, Error> {
    let bytes = file::encode(trace, key);
    file::decode(&bytes)
        .map_err(|error| Error::Runtime(format!("cannot save the recorded trace: {error}")))?;
    Ok(bytes)
}

/// Reads a trace and checks the user's signature.
///
/// # Errors
/// [`Error::File`] if the file is not a valid trace.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    load_with(path, user_key::key().as_ref())
}

fn save_with(trace: &Trace, dir: &Path, stem: &str, key: Option<&Key>) -> Result<PathBuf, Error> {
    let in_dir = |source| Error::System {
        what: format!("cannot write a trace into {}", dir.display()),
        source,
    };
    let bytes = sound(trace, key)?;
    create_dir(dir).map_err(in_dir)?;
    let pending = atomic_file::Pending::write(dir, &[&bytes], 0o600).map_err(in_dir)?;

    let digits = digest(trace);
    for len in SHORTEST..=digits.len() {
        let path = dir.join(format!("{stem}-{}.heddle", &digits[..len]));
        // Another process may take a free name meanwhile; then the file there is examined again.
        match pending.publish_new(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|()| path).map_err(in_dir),
        }
        if load_with(&path, None).is_ok_and(|other| digest(&other.trace) == digits) {
            pending.replace(&path).map_err(in_dir)?;
            return Ok(path);
        }
    }
    Err(in_dir(ErrorKind::AlreadyExists.into()))
}

/// A digest that identifies a trace by its failure's signature or by its schedule, in hexadecimal.
fn digest(trace: &Trace) -> String {
    let mut hasher = blake3::Hasher::new();
    match &trace.failure {
        Some(failure) => {
            hasher.update(failure.signature.as_bytes());
        }
        None => {
            for choice in trace.execution.choices() {
                let (sort, number, of) = match choice {
                    Choice::Task(task) => (0, u32::from(task.0), 0),
                    Choice::Data { taken, of } => (1, taken, of),
                };
                for word in [sort, number, of] {
                    hasher.update(&u32::to_le_bytes(word));
                }
            }
        }
    }
    hasher.finalize().to_hex().to_string()
}

fn load_with(path: &Path, key: Option<&Key>) -> Result<Loaded, Error> {
    let bytes = read(path).map_err(|what| Error::File { path: path.to_owned(), what })?;
    let decoded = file::decode(&bytes)
        .map_err(|error| Error::File { path: path.to_owned(), what: error.to_string() })?;
    let ours = key.is_some_and(|key| decoded.written_with(key));
    Ok(Loaded { trace: decoded.trace, ours })
}

/// Why a file cannot be read.
fn refused(error: std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => {
            "it cannot be read: permission denied; ask its owner to allow it (chmod)".to_owned()
        }
        _ => format!("it cannot be read: {error}"),
    }
}

/// The content of a file that may be a trace, or the reason why it cannot be read.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    // Check before opening: opening a pipe waits for a writer.
    let found = fs::metadata(path).map_err(refused)?;
    if found.is_dir() {
        return Err("it is a directory; name a trace file in it".into());
    }
    if !found.is_file() {
        return Err("it is not a regular file; copy the trace into one".into());
    }
    let mut bytes = Vec::new();
    let limit = MAX_FILE + 1;
    if found.len() < limit {
        File::open(path)
            .and_then(|file| file.take(limit).read_to_end(&mut bytes))
            .map_err(refused)?;
    }
    // The file may have grown since its size was checked.
    if found.len() >= limit || bytes.len() as u64 >= limit {
        let what = format!("more than {} MB", MAX_FILE >> 20);
        return Err(FileError::TooLarge(what).to_string());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
