//! `heddle ui`.

use super::chosen::Chosen;
use super::demo;
use super::target;
use crate::app;
use crate::app::beginning::{Beginning, Telling};
use crate::app::preferences;
use crate::cli::{ProgramArgs, UiArgs};
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::settings::Settings;
use crate::{config, interrupt};
use replay_core::walk::Walk;
use replay_core::{SearchOptions, StrategyName, store};
use std::io::IsTerminal;
use std::path::Path;
use traces::Trace;

/// Runs the verb.
///
/// # Errors
/// Where there is no terminal, the trace is no good, or the program cannot be run.
pub fn main(args: &UiArgs, console: &Console) -> Result<Status, Problem> {
    if args.keys {
        console.print(&preferences::usual())?;
        return Ok(Status::Fine);
    }
    if args.trace.is_some() {
        recorded_otherwise(&args.program)?;
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let instead = match &args.trace {
            Some(trace) => format!("`heddle show {}` prints the same as text", trace.display()),
            None => "`heddle run -- PROGRAM` and `heddle show TRACE` print the same as text".into(),
        };
        return Err(Problem::Usage(format!("the explorer needs a terminal; {instead}")));
    }
    let (options, counts) = Settings::ui(&args.program, &config::load(Path::new("."))?);
    let (out, workers) = (options.out.clone(), args.program.workers);
    let interrupted = interrupt::flag();
    let beginning = match &args.trace {
        Some(path) => {
            let loaded = store::load(path)?;
            let chosen = Chosen { trace: path, yes: args.yes, command: &args.command };
            // A trace whose program is gone or was rebuilt can still be read.
            let options = recorded_limits(&loaded.trace, options.seed);
            let walk = match chosen.recorded(&loaded, console) {
                Ok(target) => Ok(Walk::new(target, options)),
                Err(problem) => Err(problem.to_string()),
            };
            Beginning::Known(Box::new((loaded.trace, walk)))
        }
        None => {
            let target = match args.command.is_empty() {
                true => target(&[demo::program()?.into_os_string()])?,
                false => target(&args.command)?,
            };
            let name = target.program.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            Beginning::Run(
                name,
                Box::new(move |tell, end| {
                    tell("looking where its tasks meet");
                    let options = replay_core::learn(&target, &options, end, &mut Telling(tell))?;
                    tell("running it once, with no preemption");
                    let run = counts.unwrap_or_else(|| replay_core::telling(None));
                    let run = SearchOptions { fail_on: run, ..options.clone() };
                    let trace = replay_core::run(&target, &run, end)?;
                    Ok((trace, Walk::new(target, options)))
                }),
            )
        }
    };
    let tour = args.trace.is_none() && args.command.is_empty();
    let path = args.trace.clone();
    let opening =
        app::Opening { color: console.style.color, beginning, path, out: &out, workers, tour };
    app::run(opening, &interrupted)?;
    Ok(Status::Fine)
}

/// The options of a trace's program: its schedules may be as long, and as large, as the recorded one.
fn recorded_limits(trace: &Trace, seed: u64) -> SearchOptions {
    let recorded = &trace.header.options;
    SearchOptions {
        strategy: StrategyName::Default,
        seed,
        max_steps: recorded.max_steps.max(trace.execution.steps.len() as u64 + 1),
        max_memory: recorded.max_memory,
        ..SearchOptions::default().with_points_of(trace)
    }
}

/// A trace says itself how its program is run: what says otherwise on the command line is refused.
fn recorded_otherwise(args: &ProgramArgs) -> Result<(), Problem> {
    let said = [
        ("--max-steps", args.max_steps.is_some()),
        ("--max-memory", args.max_memory.is_some()),
        ("--spurious", args.spurious.is_some()),
        ("--reset", args.reset.is_some()),
        ("--fail-on", args.fail_on.is_some()),
        ("--points", args.points.is_some()),
    ];
    match said.into_iter().find(|(_, said)| *said) {
        None => Ok(()),
        Some((option, _)) => Err(Problem::Usage(format!(
            "{option} is for a program: a trace is run as it was recorded; leave one of them out"
        ))),
    }
}
