//! The target that a trace's schedule runs in: the recorded program or the one on the command line, with
//! the recorded environment and directory.

use super::confirm;
use super::recorded_environment::{Variables, recorded, trusted};
use super::runtime::embedded;
use crate::console::Console;
use crate::exit::Problem;
use crate::report::text::clean;
use replay_core::store::Loaded;
use replay_core::{Error, Target, WorkingFiles};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use traces::trace::EnvironmentUse;
use traces::wire::FilePolicy;

/// A trace, and the options of the command line that select its program.
#[derive(Debug, Clone, Copy)]
pub(super) struct TraceProgram<'a> {
    /// The trace's file.
    pub(super) trace: &'a Path,
    /// Whether the user allows running the program that the trace names.
    pub(super) yes: bool,
    /// The program and its arguments if they replace the recorded ones, otherwise empty.
    pub(super) command: &'a [OsString],
}

/// Another build may read variables that the recorded one did not: those have their present values.
fn read_present(target: &mut Target, present: &Variables) {
    for (name, value) in &mut target.env {
        let now = present.iter().find(|(present, _)| present == name);
        if let Some((_, now)) = now.filter(|_| target.unread.contains(name)) {
            value.clone_from(now);
        }
    }
    target.unread.clear();
    target.environment_use = EnvironmentUse::Unknown;
}

impl TraceProgram<'_> {
    /// The target if the program is the recorded build, otherwise an error.
    pub(super) fn recorded(&self, loaded: &Loaded, console: &Console) -> Result<Target, Problem> {
        let target = self.current(loaded, console)?;
        let recorded = &loaded.trace.header.build_id;
        if *recorded == target.build_id {
            return Ok(target);
        }
        let short = |id: &str| id.chars().take(12).collect::<String>();
        let what = format!(
            "{} is not the recorded build (build id {}, recorded {}): build the recorded version, or \
             name its executable after `--`",
            target.program.display(),
            short(&target.build_id),
            short(recorded)
        );
        Err(Problem::Core(Error::File { path: self.trace.to_owned(), what }))
    }

    /// The target with the program as it is now.
    pub(super) fn current(&self, loaded: &Loaded, console: &Console) -> Result<Target, Problem> {
        let header = &loaded.trace.header;
        let present: Variables = std::env::vars_os().collect();
        replay_core::runtime::install(embedded())?;
        let named = self.command.split_first();
        let agreed = loaded.ours || self.yes;
        if !agreed && named.is_none() {
            confirm::ask(self.trace, &loaded.trace, console)?;
        }
        let mut target = match named {
            Some((program, arguments)) => Target::new(program, arguments.to_vec())?,
            None => {
                let arguments = header.args.iter().cloned().map(OsString::from_vec).collect();
                Target::new(OsStr::new(&header.program), arguments)?
            }
        };
        // The program's argv[0] is the recorded one, even if its file now has another path.
        let name = OsString::from_vec(match header.name.is_empty() {
            true => header.program.clone().into_bytes(),
            false => header.name.clone(),
        });
        if named.is_none() || Path::new(&name).file_name() == Path::new(&target.name).file_name() {
            target.name = name;
        }
        target.env = if agreed || named.is_none() {
            recorded(header, &present)
        } else {
            trusted(header, &present)
        };
        // What the first recording left out stays out of every other.
        target.unrecorded = header.left_out.iter().map(OsString::from).collect();
        target.unread = header.unread.iter().map(OsString::from).collect();
        target.environment_use = header.environment_use;
        if target.build_id != header.build_id {
            read_present(&mut target, &present);
        }
        target.cwd = self.directory(loaded, &target, console)?;
        if header.options.own_files {
            target.files = WorkingFiles::new(FilePolicy::Private);
        }
        self.note_memory_changes(loaded, &target, console)?;
        Ok(target)
    }

    /// Prints a note for each memory change that a debugger session saved in the trace. Refuses another
    /// build, in which the addresses may belong to something else.
    fn note_memory_changes(
        &self,
        loaded: &Loaded,
        target: &Target,
        console: &Console,
    ) -> Result<(), Problem> {
        let header = &loaded.trace.header;
        let changes = &header.options.changes;
        if !changes.is_empty() && header.build_id != target.build_id {
            let what = "the trace contains memory changes from a debugger session, and the program \
                        was rebuilt since, so their addresses may be wrong; make the changes again \
                        on a schedule of the new build";
            return Err(Problem::Core(Error::File {
                path: self.trace.to_owned(),
                what: what.to_owned(),
            }));
        }
        for change in changes {
            let change = clean(&change.to_string());
            console.note(&format!(
                "heddle: memory changes at {change}, as saved in a debugger session"
            ));
        }
        Ok(())
    }

    /// The recorded directory. If it does not exist: the current one if the user named the program,
    /// otherwise an error.
    fn directory(
        &self,
        loaded: &Loaded,
        target: &Target,
        console: &Console,
    ) -> Result<PathBuf, Problem> {
        let cwd = &loaded.trace.header.cwd;
        let recorded = PathBuf::from(cwd);
        if recorded.is_dir() {
            return Ok(recorded);
        }
        let missing = format!("the recorded directory {} does not exist", clean(cwd));
        if !self.command.is_empty() {
            console.note(&format!("heddle: {missing}; using the current directory"));
            return Ok(target.cwd.clone());
        }
        Err(Problem::Core(Error::File {
            path: self.trace.to_owned(),
            what: format!(
                "{missing}: name the program after `--` to run it in the current directory"
            ),
        }))
    }
}
