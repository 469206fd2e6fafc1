//! `heddle ui`.

use super::chosen::Chosen;
use super::demo;
use super::target;
use crate::app;
use crate::app::beginning::{Beginning, Telling};
use crate::app::preferences;
use crate::cli::UiArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use replay_core::walk::Walk;
use replay_core::{SearchOptions, StrategyName, store};
use std::io::IsTerminal;
use std::path::Path;

/// Runs the verb.
///
/// # Errors
/// Where there is no terminal, the trace is no good, or the program cannot be run.
pub fn main(args: &UiArgs, console: &Console) -> Result<Status, Problem> {
    if args.keys {
        console.print(&preferences::usual())?;
        return Ok(Status::Fine);
    }
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let instead = match &args.trace {
            Some(trace) => format!("`heddle show {}` prints the same as text", trace.display()),
            None => "`heddle run -- PROGRAM` and `heddle show TRACE` print the same as text".into(),
        };
        return Err(Problem::Usage(format!("the explorer needs a terminal; {instead}")));
    }
    let interrupted = interrupt::flag();
    let options = SearchOptions { strategy: StrategyName::Default, ..SearchOptions::default() };
    let beginning = match &args.trace {
        Some(path) => {
            let loaded = store::load(path)?;
            let chosen = Chosen { trace: path, yes: args.yes, command: &args.command };
            // A trace whose program is gone or was rebuilt can still be read.
            let options = options.with_points_of(&loaded.trace);
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
                    let run = replay_core::telling(None);
                    let run = SearchOptions { fail_on: run, ..options.clone() };
                    let trace = replay_core::run(&target, &run, end)?;
                    Ok((trace, Walk::new(target, options)))
                }),
            )
        }
    };
    let tour = args.trace.is_none() && args.command.is_empty();
    let path = args.trace.clone();
    let opening = app::Opening {
        color: console.style.color,
        beginning,
        path,
        out: Path::new("heddle-out"),
        tour,
    };
    app::run(opening, &interrupted)?;
    Ok(Status::Fine)
}
