//! Opens a trace or a program for a walk through its schedules.

use super::runtime::target;
use super::trace_program::TraceProgram;
use crate::cli::arguments::ProgramArgs;
use crate::cli::config_file;
use crate::cli::settings::Settings;
use crate::cli::values::points;
use crate::console::Console;
use crate::exit::Problem;
use crate::report::summary::command_line;
use crate::tui::startup::LearningProgress;
use crate::walk::opening::{Opened, Opener, ProgramRequest};
use replay_core::runner::Runner;
use replay_core::{Error, SearchOptions, StrategyChoice, Target, store};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use traces::{FailureKind, Trace};

/// A trace, and how to run its program: the recorded one, or `command`. If that cannot be run, the trace
/// can be read.
pub(super) fn trace(
    path: &Path,
    yes: bool,
    command: &[OsString],
    seed: u64,
    console: &Console,
) -> Result<Opened, Problem> {
    let loaded = store::load(path)?;
    let trace_program = TraceProgram { trace: path, yes, command };
    let options = recorded_limits(&loaded.trace, seed);
    let runner = match trace_program.recorded(&loaded, console) {
        Ok(target) => Ok(Runner::new(target, options)),
        Err(problem) => Err(problem.to_string()),
    };
    Ok(Opened { trace: loaded.trace, runner, path: Some(path.to_owned()) })
}

/// The options for running a trace's program: the recorded limits, with enough steps for the schedule.
fn recorded_limits(trace: &Trace, seed: u64) -> SearchOptions {
    let recorded = &trace.header.options;
    SearchOptions {
        strategy: StrategyChoice::NON_PREEMPTIVE,
        seed,
        max_steps: recorded.max_steps.max(trace.execution.steps.len() as u64 + 1),
        most_steps: 0,
        max_memory: recorded.max_memory,
        ..SearchOptions::default().with_points_of(trace)
    }
}

/// Learns the scheduling points of a program and runs it once without preemptions. `counts` are the
/// kinds of failure that count in this run.
pub(super) fn first_run(
    target: Target,
    options: &SearchOptions,
    counts: Option<Vec<FailureKind>>,
    end: &AtomicBool,
    tell: &dyn Fn(&str),
) -> Result<(Trace, Runner), Error> {
    let options = replay_core::predicates::compile(&target, options, end)?;
    let options = replay_core::record_clients(&target, &options, end)?;
    tell("learning conflicting accesses");
    let options = replay_core::learn(&target, &options, end, &mut LearningProgress(tell))?;
    tell("running the program without preemptions");
    let run = counts.unwrap_or_else(|| replay_core::failure_kinds_for_replay(None));
    let run = SearchOptions { fail_on: run, ..options.clone() };
    let trace = replay_core::run(&target, &run, end)?;
    Ok((trace, Runner::new(target, options)))
}

/// Opens what clients of a server name.
#[derive(Debug)]
pub(super) struct ServerOpener<'a> {
    /// Whether programs may run that traces of other users name.
    pub(super) yes: bool,
    pub(super) console: &'a Console,
}

impl Opener for ServerOpener<'_> {
    fn trace(&self, path: PathBuf, command: &[OsString]) -> Result<Opened, String> {
        let loaded = store::load(&path).map_err(|error| error.to_string())?;
        if !loaded.ours && !self.yes && command.is_empty() {
            // Standard input belongs to the protocol, so no question can be asked.
            let why = format!(
                "the trace was recorded by another user and would run {}: start the server with \
                 --yes, or give `command`",
                command_line(&loaded.trace)
            );
            return Ok(Opened { trace: loaded.trace, runner: Err(why), path: Some(path) });
        }
        trace(&path, self.yes, command, 0, self.console).map_err(|problem| problem.to_string())
    }

    fn program(
        &self,
        request: &ProgramRequest,
        cancelled: &AtomicBool,
        tell: &dyn Fn(&str),
    ) -> Result<Opened, String> {
        let open = || -> Result<Opened, Problem> {
            let config = config_file::load(Path::new("."))?;
            let points = request.points.as_deref().map(points).transpose();
            let args = ProgramArgs {
                points: points.map_err(Problem::Usage)?,
                max_steps: request.max_steps,
                ..ProgramArgs::default()
            };
            let (options, counts) = Settings::ui(&args, &config);
            let mut command = request.command.clone();
            let directory = request.directory.as_ref().map(|directory| {
                directory
                    .canonicalize()
                    .map_err(|error| Problem::Usage(format!("{}: {error}", directory.display())))
            });
            let directory = directory.transpose()?;
            // As a shell in that directory would find it.
            if let (Some(program), Some(directory)) = (command.first_mut(), &directory)
                && Path::new(program).components().count() > 1
            {
                *program = directory.join(&program).into_os_string();
            }
            let mut target = target(&command, false, None, self.console)?;
            if let Some(directory) = directory {
                target.cwd = directory;
            }
            let (trace, runner) = first_run(target, &options, counts, cancelled, tell)?;
            Ok(Opened { trace, runner: Ok(runner), path: None })
        };
        open().map_err(|problem| problem.to_string())
    }
}
