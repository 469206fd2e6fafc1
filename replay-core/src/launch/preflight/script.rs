//! Scripts, which cannot be run under control.

use super::shown::shown;
use super::{elf, lookup};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why a script is refused, and what to run instead.
pub(super) fn refusal(path: &Path, data: &[u8]) -> String {
    let name = shown(path);
    let line = data[2..].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let words: Vec<&[u8]> =
        line.split(|&byte| byte == b' ' || byte == b'\t').filter(|word| !word.is_empty()).collect();
    let Some(first) = words.first() else {
        return format!("{name} is a script that names no interpreter: give a native program");
    };
    let command = shown(Path::new(OsStr::from_bytes(first)));
    // A libtool script is a wrapper for the program beside it.
    if let Some(real) = libtool(path) {
        return format!(
            "{name} is a script for {command}: run the program behind it, {}",
            shown(&real)
        );
    }
    let Some(interpreter) = resolve(&words) else {
        return format!(
            "{name} is a script for {command}, which does not exist: give a native program"
        );
    };
    let shown_interpreter = shown(&interpreter);
    // A shell has no threads, and the commands it starts are other processes.
    let base = interpreter.file_name().unwrap_or_default().to_string_lossy();
    let native = !base.ends_with("sh")
        && std::fs::read(&interpreter)
            .is_ok_and(|data| !data.starts_with(b"#!") && elf::check(&interpreter, &data).is_ok());
    match native {
        true => format!(
            "{name} is a script for {shown_interpreter}: give the native program that it starts, or, to explore the threads of the interpreter itself, {shown_interpreter} {name}"
        ),
        false => format!(
            "{name} is a script for {shown_interpreter}: give the native program that it starts"
        ),
    }
}

/// The interpreter, if it exists; `env` is resolved.
fn resolve(words: &[&[u8]]) -> Option<PathBuf> {
    let first = Path::new(OsStr::from_bytes(words.first()?));
    if first.file_name() == Some(OsStr::new("env")) {
        let program = words[1..]
            .iter()
            .find(|word| !word.starts_with(b"-") && !word.contains(&b'='))
            .map(|word| OsStr::from_bytes(word))?;
        return lookup::find(program).ok();
    }
    first.exists().then(|| first.to_owned())
}

/// The program behind a libtool wrapper, if this is one.
fn libtool(path: &Path) -> Option<PathBuf> {
    let real = path.parent()?.join(".libs").join(path.file_name()?);
    real.is_file().then_some(real)
}
