//! `heddle ui`.

use super::demo;
use super::runtime::target;
use super::trace_program::TraceProgram;
use crate::cli::arguments::{ProgramArgs, UiArgs};
use crate::cli::config_file;
use crate::cli::settings::Settings;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::tui;
use crate::tui::preferences;
use crate::tui::startup::{LearningProgress, Startup};
use replay_core::runner::Runner;
use replay_core::{SearchOptions, StrategyChoice, store};
use std::io::IsTerminal;
use std::path::Path;
use traces::Trace;

/// Runs the verb.
///
/// # Errors
/// If there is no terminal, the trace is invalid, or the program cannot be run.
pub fn main(args: &UiArgs, console: &Console) -> Result<Status, Problem> {
    if args.keys {
        console.print(&preferences::default_file())?;
        return Ok(Status::Fine);
    }
    if args.trace.is_some() {
        refuse_recorded_options(&args.program)?;
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let instead = match &args.trace {
            Some(trace) => format!("`heddle show {}` prints the trace as text", trace.display()),
            None => "`heddle run -- PROGRAM` and `heddle show TRACE` print a trace as text".into(),
        };
        return Err(Problem::Usage(format!("the explorer needs a terminal; {instead}")));
    }
    let (options, counts) = Settings::ui(&args.program, &config_file::load(Path::new("."))?);
    let (out, workers) = (options.out.clone(), args.program.workers);
    let interrupted = interrupt::flag();
    let startup = match &args.trace {
        Some(path) => {
            let loaded = store::load(path)?;
            let trace_program = TraceProgram { trace: path, yes: args.yes, command: &args.command };
            let options = recorded_limits(&loaded.trace, options.seed);
            // If the recorded program is missing, the explorer shows the trace and runs nothing.
            let walk = match trace_program.recorded(&loaded, console) {
                Ok(target) => Ok(Runner::new(target, options)),
                Err(problem) => Err(problem.to_string()),
            };
            Startup::Known(Box::new((loaded.trace, walk)))
        }
        None => {
            let target = match args.command.is_empty() {
                true => target(&[demo::program()?.into_os_string()], args.program.no_env, console)?,
                false => target(&args.command, args.program.no_env, console)?,
            };
            let name = target.program.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            Startup::Run(
                name,
                Box::new(move |tell, end| {
                    tell("learning conflicting accesses");
                    let options =
                        replay_core::learn(&target, &options, end, &mut LearningProgress(tell))?;
                    tell("running the program without preemptions");
                    let run = counts.unwrap_or_else(|| replay_core::failure_kinds_for_replay(None));
                    let run = SearchOptions { fail_on: run, ..options.clone() };
                    let trace = replay_core::run(&target, &run, end)?;
                    Ok((trace, Runner::new(target, options)))
                }),
            )
        }
    };
    let tour = args.trace.is_none() && args.command.is_empty();
    let path = args.trace.clone();
    let opening =
        tui::Options { color: console.style.color, startup, path, out: &out, workers, tour };
    tui::run(opening, &interrupted)?;
    Ok(Status::Fine)
}

/// The options for running a trace's program: the recorded limits, with enough steps for the schedule.
fn recorded_limits(trace: &Trace, seed: u64) -> SearchOptions {
    let recorded = &trace.header.options;
    SearchOptions {
        strategy: StrategyChoice::NON_PREEMPTIVE,
        seed,
        max_steps: recorded.max_steps.max(trace.execution.steps.len() as u64 + 1),
        max_memory: recorded.max_memory,
        ..SearchOptions::default().with_points_of(trace)
    }
}

/// Refuses options that contradict the recorded ones.
fn refuse_recorded_options(args: &ProgramArgs) -> Result<(), Problem> {
    let given = [
        ("--max-steps", args.max_steps.is_some()),
        ("--max-memory", args.max_memory.is_some()),
        ("--spurious", args.spurious.is_some()),
        ("--slack", args.slack.is_some()),
        ("--reset", args.reset.is_some()),
        ("--fail-on", args.fail_on.is_some()),
        ("--points", args.points.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Problem::Usage(format!(
            "{option} applies to a program, but a trace runs with its recorded options: remove {option}"
        ))),
    }
}
