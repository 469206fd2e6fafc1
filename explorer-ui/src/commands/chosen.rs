//! The program of a trace that stands on the command line, with the circumstances of the trace.

use super::environment::{Variables, recorded, trusted};
use super::{RUNTIME, confirm};
use crate::console::Console;
use crate::exit::Problem;
use crate::views::text::clean;
use replay_core::store::Loaded;
use replay_core::{Error, Target};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A trace, and what was said of the program that it is to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chosen<'a> {
    /// The trace's file.
    pub(super) trace: &'a Path,
    /// Whether it may start what it names, whoever recorded it.
    pub(super) yes: bool,
    /// The program and its arguments, where others are to run than the recorded ones.
    pub(super) command: &'a [OsString],
}

impl Chosen<'_> {
    /// The program as it was recorded; refused if it was rebuilt since.
    pub(super) fn recorded(&self, loaded: &Loaded, console: &Console) -> Result<Target, Problem> {
        let target = self.present(loaded, console)?;
        let recorded = &loaded.trace.header.build_id;
        if *recorded == target.build_id {
            return Ok(target);
        }
        let short = |id: &str| id.chars().take(12).collect::<String>();
        let what = format!(
            "{} is not the program that was recorded (build id {}, recorded {}): build it as it \
             was then, or name the one that fits after `--`",
            target.program.display(),
            short(&target.build_id),
            short(recorded)
        );
        Err(Problem::Core(Error::File { path: self.trace.to_owned(), what }))
    }

    /// The program as it is now.
    pub(super) fn present(&self, loaded: &Loaded, console: &Console) -> Result<Target, Problem> {
        let header = &loaded.trace.header;
        let present: Variables = std::env::vars_os().collect();
        replay_core::runtime::install(RUNTIME)?;
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
        target.env = if agreed || named.is_none() {
            recorded(header, &present)
        } else {
            trusted(header, &present)
        };
        target.cwd = self.directory(loaded, &target, console)?;
        self.tell_of_changes(loaded, &target, console)?;
        Ok(target)
    }

    /// Says what memory is changed on the way. In another build, something else may lie there.
    fn tell_of_changes(
        &self,
        loaded: &Loaded,
        target: &Target,
        console: &Console,
    ) -> Result<(), Problem> {
        let header = &loaded.trace.header;
        let changes = &header.options.changes;
        if !changes.is_empty() && header.build_id != target.build_id {
            let what = "memory is changed on the way, as somebody kept it in a debugger, and the \
                        program was built anew since: what is changed may lie elsewhere; make the \
                        change again, on a schedule of the new build";
            return Err(Problem::Core(Error::File {
                path: self.trace.to_owned(),
                what: what.to_owned(),
            }));
        }
        for change in changes {
            let change = clean(&change.to_string());
            console.note(&format!("heddle: memory is changed at {change}, as kept in a debugger"));
        }
        Ok(())
    }

    /// The directory of the trace; where it is gone, the present one if the user named the program.
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
        let gone = format!("it was recorded in {}, which is not there", clean(cwd));
        if !self.command.is_empty() {
            console.note(&format!("heddle: {gone}; this directory is used instead"));
            return Ok(target.cwd.clone());
        }
        Err(Problem::Core(Error::File {
            path: self.trace.to_owned(),
            what: format!("{gone}: name the program after `--` to run it in this directory"),
        }))
    }
}
