//! Checks whether a program can run under control. A program that cannot is refused with a message
//! of one line that says what is wrong and what to do.

mod elf;
mod lookup;
mod script;
mod shown;
#[cfg(test)]
mod tests;

use super::openmp;
use super::wrapper::{self, FollowedChild, Started};
use crate::{Error, Target};
use shown::shown;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use traces::trace::EnvironmentUse;

impl Target {
    /// Finds `program` as `execvp` would, in this process's environment and directory, and checks
    /// that it can run under control.
    ///
    /// # Errors
    /// [`Error::Target`] if there is no such program or it is not a native, dynamically linked
    /// glibc program for x86-64.
    pub fn new(program: &OsStr, args: Vec<OsString>) -> Result<Target, Error> {
        let found = lookup::find(program).map_err(Error::Target)?;
        let data = content(&found).map_err(Error::Target)?;
        Target::named(found, &data, program, args)
    }

    /// The program in this file, with this content, as the user named it.
    fn named(
        found: PathBuf,
        data: &[u8],
        name: &OsStr,
        args: Vec<OsString>,
    ) -> Result<Target, Error> {
        let build_id = examine(&found, data).map_err(Error::Target)?;
        let cwd = std::env::current_dir().map_err(|error| {
            Error::Target(format!(
                "the working directory cannot be used ({error}): change to one that exists"
            ))
        })?;
        Ok(Target {
            // As a trace names it: the working directory of a replay may be another.
            program: cwd.join(found),
            name: name.to_owned(),
            args,
            env: std::env::vars_os().collect(),
            unrecorded: BTreeSet::new(),
            unread: BTreeSet::new(),
            environment_use: EnvironmentUse::Unknown,
            cwd,
            files: super::WorkingFiles::default(),
            build_id,
            notes: Vec::new(),
            prints_backtraces: false,
        })
    }

    /// The target of a command: the program, or, if that is a script or cannot create threads itself, the
    /// first program with threads that it starts. To find that one, the command runs without control
    /// until it starts it (module `wrapper`). Threads of OpenMP wait passively
    /// (module `openmp`). [`Target::notes`] has a line for each difference from the command. `followed`
    /// chooses another of the programs with threads that the command starts.
    ///
    /// # Errors
    /// See [`Target::new`].
    pub fn of_command(
        program: &OsStr,
        args: Vec<OsString>,
        followed: Option<&FollowedChild>,
    ) -> Result<Target, Error> {
        let found = lookup::find(program).map_err(Error::Target)?;
        let mut data = content(&found).map_err(Error::Target)?;
        let started = match followed.is_some() || wrapper::is_wrapper(&found, &data) {
            true => match wrapper::first_with_threads(&found, program, &args, followed)? {
                Err(others) if followed.is_some() => {
                    return Err(Error::Target(no_such_child(program, &others)));
                }
                started => started.ok(),
            },
            false => None,
        };
        let mut target = match started {
            Some(Started { program: path, words, env, cwd }) => {
                let by = shown(Path::new(program));
                let command: Vec<String> = words.iter().map(|it| shown(Path::new(it))).collect();
                let note = child_note(&by, &command);
                data = content(&path).map_err(Error::Target)?;
                let mut words = words.into_iter();
                let name = words.next().unwrap_or_default();
                let target = Target::named(path, &data, &name, words.collect())
                    .map_err(|error| Error::Target(format!("{by} starts a program: {error}")))?;
                Target { env, cwd, notes: vec![note], ..target }
            }
            None => Target::named(found, &data, program, args)?,
        };
        if let Some((name, value)) = openmp::passive_waiting(&data, &target.env) {
            target.notes.push(variable_set(&name, &value));
            target.env.push((name, value));
        }
        Ok(target)
    }

    /// The same target with the build id that the file has now.
    ///
    /// # Errors
    /// [`Error::Target`] if the file can no longer run under control.
    pub fn rebuilt(&self) -> Result<Target, Error> {
        let data = content(&self.program).map_err(Error::Target)?;
        let build_id = examine(&self.program, &data).map_err(Error::Target)?;
        Ok(Target { build_id, ..self.clone() })
    }
}

/// The note for a command whose child is explored.
fn child_note(by: &str, command: &[String]) -> String {
    format!(
        "{by} starts the program with threads: {} (--follow-child chooses another)",
        command.join(" ")
    )
}

/// The note for a variable that makes idle threads of OpenMP wait.
fn variable_set(name: &OsStr, value: &OsStr) -> String {
    format!(
        "{}={} is set for the program, since idle threads of OpenMP spin otherwise: set it to choose \
         another value",
        name.display(),
        value.display()
    )
}

/// The command starts no program with threads that `--follow-child` means, but these.
fn no_such_child(program: &OsStr, others: &[Started]) -> String {
    let by = shown(Path::new(program));
    let names = others.iter().map(|started| shown(&started.program));
    let list: Vec<String> =
        names.enumerate().map(|(at, name)| format!("{} {name}", at + 1)).collect();
    match list.is_empty() {
        true => format!(
            "{by} starts no program with threads within 10 seconds: name the program itself, without \
             --follow-child"
        ),
        false => format!(
            "{by} starts no such program with threads; give --follow-child one of these numbers or names: {}",
            list.join(", ")
        ),
    }
}

/// The most bytes that are read of a file that is no ELF file: a script, or what is no program at all.
const MOST_OTHER: u64 = 1 << 20;

/// Reads an executable file.
fn content(path: &Path) -> Result<Vec<u8>, String> {
    let name = shown(path);
    let read = || {
        let mut file = std::fs::File::open(path)?;
        let mut bytes = Vec::new();
        file.by_ref().take(MOST_OTHER).read_to_end(&mut bytes)?;
        if bytes.starts_with(b"\x7fELF") {
            file.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    read().map_err(|error: std::io::Error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => format!(
            "{name} may be executed but not read, so it cannot be checked: make it readable (chmod +r)"
        ),
        _ => format!("{name} cannot be read: {error}"),
    })
}

/// Checks an executable file with this content and returns its build id.
fn examine(path: &Path, data: &[u8]) -> Result<String, String> {
    if data.starts_with(b"#!") {
        return Err(script::refusal(path, data));
    }
    elf::check(path, data)?;
    check_privileges(path)?;
    Ok(elf::build_id(data)
        .unwrap_or_else(|| format!("file-{}", &blake3::hash(data).to_hex()[..40])))
}

/// Refuses programs that gain privileges when they start. The dynamic linker ignores preloaded
/// libraries for them, so the program would run uncontrolled without any sign of it.
fn check_privileges(path: &Path) -> Result<(), String> {
    let name = shown(path);
    let advice = "the dynamic linker ignores preloaded libraries for it; run a copy without these \
                  privileges";
    let mode = std::fs::metadata(path).map_err(|error| format!("{name}: {error}"))?.mode();
    if mode & libc::S_ISUID != 0 {
        return Err(format!("{name} is a setuid program: {advice}"));
    }
    // The setgid bit without the group's execute bit meant mandatory locking and gives no
    // privilege.
    if mode & libc::S_ISGID != 0 && mode & libc::S_IXGRP != 0 {
        return Err(format!("{name} is a setgid program: {advice}"));
    }
    if has_capabilities(path) {
        return Err(format!("{name} has file capabilities (see getcap): {advice}"));
    }
    Ok(())
}

/// Whether the file has capabilities that its process would get.
fn has_capabilities(path: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: both strings end in a zero byte, and with a length of 0 nothing is written.
    let len = unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0)
    };
    len > 0
}
