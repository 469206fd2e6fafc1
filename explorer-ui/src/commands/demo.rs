//! `heddle demo`: finds, shows and replays the bug of a built-in program.

use super::runtime::embedded;
use crate::cli::arguments::DemoArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::failure;
use crate::report::next_commands;
use crate::report::rows::{Layout, Selection};
use crate::report::schedule::schedule;
use crate::report::search;
use crate::report::style::{Role, Style};
use crate::report::text::{count, quote};
use replay_core::runtime::{private_directory, write_whole};
use replay_core::{Error, Replayed, SearchOptions, Target, scratch, store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use traces::Trace;
use traces::report::Report;

static PROGRAM: &[u8] = include_bytes!(env!("HEDDLE_DEMO"));
static SOURCE: &str = include_str!("../../demo/demo.c");
/// The number of replays.
const TIMES: u64 = 100;

/// Runs the verb.
///
/// # Errors
/// If no directory can be created, or the program cannot be run under control.
pub fn main(args: &DemoArgs, console: &Console) -> Result<Status, Problem> {
    let style = Style { ascii: args.ascii, ..console.style };
    let interrupted = interrupt::flag();
    let directory = directory()?;
    let (program, source) = write(&directory)?;
    let shown = quote(&program.display().to_string());
    console.print(&format!(
        "A program with a bug: two workers empty a queue, and hold a lock at every access.\n  {}\n\n",
        source.display()
    ))?;

    console.print(&command_line(&format!("heddle explore -- {shown}"), &style))?;
    let found = explore(&program, &directory, &interrupted, console)?;
    console.print(&search::render(&found, &style))?;
    let Some(path) = found.bugs.iter().find_map(|bug| bug.trace.clone()) else {
        return Err(Problem::Core(Error::Runtime(
            "the demo's bug was not found, although it should be: `heddle doctor` checks this \
             machine"
                .into(),
        )));
    };

    let trace = store::load(Path::new(&path))?.trace;
    console
        .print(&format!("\n{}", command_line(&format!("heddle show {}", quote(&path)), &style)))?;
    console.print(&picture(&trace, &style, console.width))?;

    let replay = format!("heddle replay --times {TIMES} {}", quote(&path));
    console.print(&format!("\n{}", command_line(&replay, &style)))?;
    console.print(&replayed(&trace, &program, &interrupted, console, &style)?)?;

    let commands = [
        (format!("heddle show --enabled {}", quote(&path)), "also the enabled tasks at each step"),
        (format!("heddle replay {}", quote(&path)), "run this schedule again"),
        ("heddle ui".to_owned(), "explore it interactively: a tour"),
        (format!("heddle explore --strategy dfs --keep-going -- {shown}"), "run every schedule"),
        ("heddle explore -- ./your-test".to_owned(), "search a program of yours"),
    ];
    console.print(&format!("\n{}", next_commands::render(&commands, &style)))?;
    Ok(Status::Fine)
}

fn command_line(command: &str, style: &Style) -> String {
    style.paint(Role::Title, &format!("$ {command}")) + "\n"
}

fn explore(
    program: &Path,
    directory: &Path,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<Report, Problem> {
    replay_core::runtime::install(embedded())?;
    let target = Target::new(program.as_os_str(), Vec::<OsString>::new())?;
    let options = SearchOptions { out: directory.join("heddle-out"), ..SearchOptions::default() };
    let mut line = Line::new(console, false);
    Ok(replay_core::explore(&target, &options, interrupted, &mut line)?)
}

fn picture(trace: &Trace, style: &Style, width: usize) -> String {
    let layout = Layout { width, selection: Selection::default(), enabled: false };
    format!("{}\n{}", schedule(trace, style, &layout), failure::render(trace, style, width))
}

fn replayed(
    trace: &Trace,
    program: &Path,
    interrupted: &AtomicBool,
    console: &Console,
    style: &Style,
) -> Result<String, Problem> {
    let target = Target::new(program.as_os_str(), Vec::<OsString>::new())?;
    let mut line = Line::new(console, false);
    repeated(replay_core::replay(trace, &target, TIMES, interrupted, &mut line)?, style)
}

/// The line for the replays of the demo's failure.
fn repeated(replayed: Replayed, style: &Style) -> Result<String, Problem> {
    match replayed {
        Replayed::Same { times, failure: Some(failure), .. } => {
            let text = format!("{}: {}", failure.kind, count(times, "time"));
            Ok(format!("{}, with identical steps every time\n", style.paint(Role::Good, &text)))
        }
        Replayed::Same { .. } => Err(Problem::Core(Error::Runtime(
            "the demo's failure was not reproduced, although it should be: `heddle doctor` checks \
             this machine"
                .into(),
        ))),
        Replayed::Diverged { run, step, what } => Err(Problem::Core(Error::Runtime(format!(
            "the demo's replay diverged in run {run} at step {}: {what}",
            step + 1
        )))),
    }
}

/// Writes the program and its source to a directory that the next command finds.
pub(super) fn program() -> Result<PathBuf, Error> {
    write(&directory()?).map(|(program, _)| program)
}

/// Writes the program and its source.
fn write(directory: &Path) -> Result<(PathBuf, PathBuf), Error> {
    let program = directory.join("demo");
    let source = directory.join("demo.c");
    // The source comes first: a source newer than its program counts as changed since the build.
    for (path, bytes, mode) in [(&source, SOURCE.as_bytes(), 0o600), (&program, PROGRAM, 0o700)] {
        let what = format!("cannot write {}", path.display());
        write_whole(path, bytes, mode).map_err(Error::system(what))?;
    }
    Ok((program, source))
}

/// A private directory that outlives this process.
fn directory() -> Result<PathBuf, Error> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    // One directory for all commands, so that none is left behind for each; `clean` removes it.
    let temporary = scratch::base().join("demo");
    let mut tried = Vec::new();
    for directory in state.map(|path| path.join("heddle/demo")).into_iter().chain([temporary]) {
        match private_directory(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) => tried.push(format!("{}: {error}", directory.display())),
        }
    }
    Err(no_directory(&tried))
}

/// The error if the demo can be written to none of the directories that were tried, each with its reason.
fn no_directory(tried: &[String]) -> Error {
    Error::Runtime(format!(
        "no directory for the demo ({}): set XDG_STATE_HOME to a directory of yours",
        tried.join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_demo_that_does_not_fail_every_time_is_an_error() {
        let style = Style { color: false, ascii: true };
        let same = |failure| Replayed::Same { times: 100, failure, output: Vec::new() };
        assert_eq!(
            repeated(same(samples::assertion().failure), &style).expect("it fails"),
            "assertion: 100 times, with identical steps every time\n"
        );
        let message = |replayed| repeated(replayed, &style).expect_err("no failure").to_string();
        assert_eq!(
            message(same(None)),
            "the demo's failure was not reproduced, although it should be: `heddle doctor` checks this \
             machine"
        );
        let what = "T1 reads x instead of y".to_owned();
        assert_eq!(
            message(Replayed::Diverged { run: 3, step: 7, what }),
            "the demo's replay diverged in run 3 at step 8: T1 reads x instead of y"
        );
        assert_eq!(
            no_directory(&["/x: not a directory".to_owned(), "/y: read-only".to_owned()])
                .to_string(),
            "no directory for the demo (/x: not a directory; /y: read-only): set XDG_STATE_HOME to a \
             directory of yours"
        );
    }
}
