//! Trace files on disk: written whole or not at all, and read with suspicion.
//!
//! A trace that this user's Heddle wrote carries a mark made with the user's key. Only for such
//! a trace may the program it names be started without asking: a trace that came from somewhere
//! else must not decide what runs here.

mod author;
pub(crate) mod sealed;
mod whole;

use crate::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use traces::file::{self, FileError, Key, MAX_FILE};
use traces::{Choice, Trace};

/// How much of the signature's digest is in a name, in hexadecimal digits, unless that is taken.
const SHORTEST: usize = 4;

/// A trace from a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What was recorded. Every index in it is sound.
    pub trace: Trace,
    /// Whether this user's Heddle wrote it, and nobody changed it since: then the program may
    /// be started without asking.
    pub ours: bool,
}

/// Writes a trace into a directory, which is made if need be, and says where.
///
/// The name is `STEM-3f2a.heddle`, the digits being the start of a digest of the failure's
/// signature (of the schedule, where nothing failed). A file of that name is replaced if it is a
/// trace of the same; anything else is left alone, and more digits are taken.
///
/// # Errors
/// Where the directory cannot be written to, or the trace contradicts itself.
pub fn save(trace: &Trace, dir: &Path, stem: &str) -> Result<PathBuf, Error> {
    save_with(trace, dir, stem, author::key_or_new().as_ref())
}

/// Where traces are kept that cannot be where they were to be: in the user's state directory, which has
/// to be there.
#[must_use]
pub fn elsewhere() -> Option<PathBuf> {
    author::key_or_new()?;
    Some(author::dir()?.join("traces"))
}

/// Writes a trace into a directory as [`save`] does, but replaces nothing: a file that holds another
/// trace keeps its name, and this one gets a number behind it.
///
/// # Errors
/// Where the directory cannot be written to, or the trace contradicts itself.
pub fn save_beside(trace: &Trace, dir: &Path, stem: &str) -> Result<PathBuf, Error> {
    let in_dir = |source| Error::System {
        what: format!("cannot write a trace into {}", dir.display()),
        source,
    };
    let bytes = sound(trace, author::key_or_new().as_ref())?;
    fs::create_dir_all(dir).map_err(in_dir)?;
    let pending = whole::Pending::write(dir, &bytes, 0o666).map_err(in_dir)?;
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

/// Writes a trace under this very name, which has to be free unless it is this trace's already.
///
/// # Errors
/// Where it cannot be written there, or the trace contradicts itself.
pub fn save_new(trace: &Trace, path: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(path).is_err() {
        return save_as(trace, path);
    }
    if load_with(path, None).is_ok_and(|other| other.trace == *trace) {
        return Ok(());
    }
    let what = "there is a file of this name, which is left as it is; name another".to_owned();
    Err(Error::File { path: path.to_owned(), what })
}

/// Writes a trace under this very name; a trace that has it is replaced, any other file is not.
///
/// # Errors
/// Where it cannot be written there, or the trace contradicts itself.
pub fn save_as(trace: &Trace, path: &Path) -> Result<(), Error> {
    let key = author::key_or_new();
    let refused = |what: String| Error::File { path: path.to_owned(), what };
    if fs::symlink_metadata(path).is_ok() && load_with(path, None).is_err() {
        return Err(refused("there is a file of this name that is no trace; name another".into()));
    }
    let bytes = sound(trace, key.as_ref())?;
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let written = whole::Pending::write(dir, &bytes, 0o666).and_then(|file| file.replace(path));
    written.map_err(|error| refused(format!("it cannot be written: {error}")))
}

/// Writes a file, whole or not at all, in a directory that is made if need be.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    whole::Pending::write(dir, bytes, 0o666)?.replace(path)
}

/// The bytes of a trace. A file that cannot be read later is worse than a message now.
fn sound(trace: &Trace, key: Option<&Key>) -> Result<Vec<u8>, Error> {
    let bytes = file::encode(trace, key);
    file::decode(&bytes)
        .map_err(|error| Error::Runtime(format!("cannot keep the recorded trace: {error}")))?;
    Ok(bytes)
}

/// Reads a trace, and looks whether it is this user's.
///
/// # Errors
/// [`Error::File`] where there is no sound trace.
pub fn load(path: &Path) -> Result<Loaded, Error> {
    load_with(path, author::key().as_ref())
}

fn save_with(trace: &Trace, dir: &Path, stem: &str, key: Option<&Key>) -> Result<PathBuf, Error> {
    let in_dir = |source| Error::System {
        what: format!("cannot write a trace into {}", dir.display()),
        source,
    };
    let bytes = sound(trace, key)?;
    fs::create_dir_all(dir).map_err(in_dir)?;
    let pending = whole::Pending::write(dir, &bytes, 0o666).map_err(in_dir)?;

    let digits = digest(trace);
    for len in SHORTEST..=digits.len() {
        let path = dir.join(format!("{stem}-{}.heddle", &digits[..len]));
        // Somebody else may take a free name at this moment: then it is looked at once more.
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

/// What tells traces apart: the signature of the failure, or the schedule. In hexadecimal.
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

/// The bytes of a file that may be a trace, or why there are none.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let refused = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "it cannot be read: permission denied".to_owned(),
        _ => format!("it cannot be read: {error}"),
    };
    // Before it is opened: opening a pipe waits for a writer.
    let found = fs::metadata(path).map_err(refused)?;
    if found.is_dir() {
        return Err("it is a directory; name a trace in it".into());
    }
    if !found.is_file() {
        return Err("it is no regular file; copy the trace into one".into());
    }
    let mut bytes = Vec::new();
    let limit = MAX_FILE + 1;
    if found.len() < limit {
        File::open(path)
            .and_then(|file| file.take(limit).read_to_end(&mut bytes))
            .map_err(refused)?;
    }
    // It may have grown since it was looked at.
    if found.len() >= limit || bytes.len() as u64 >= limit {
        let what = format!("more than {} MB", MAX_FILE >> 20);
        return Err(FileError::TooLarge(what).to_string());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
