//! `heddle ui`.

use super::runtime::of_options;
use super::test::selected;
use super::{demo, opening};
use crate::cli::arguments::{ProgramArgs, UiArgs};
use crate::cli::config_file;
use crate::cli::settings::Settings;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::tui;
use crate::tui::preferences;
use crate::tui::startup::Startup;
use replay_core::{SearchOptions, WorkingFiles};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;

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
    let (interrupted, last_signal) = (interrupt::flag(), interrupt::last_signal());
    let startup = match &args.trace {
        Some(path) => {
            let opened = opening::trace(path, args.yes, &args.command, options.seed, console)?;
            Startup::Known(Box::new((opened.trace, opened.runner)))
        }
        None => {
            let mut target = match args.command.is_empty() {
                true => of_options(&[demo::program()?.into_os_string()], &args.program, console)?,
                false => of_options(&args.command, &args.program, console)?,
            };
            if let Some(choice) = args.program.scratch {
                target.files = WorkingFiles::new(choice.0);
            }
            let name = target.program.file_name().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            let command = args.command.clone();
            Startup::Run(
                name,
                Box::new(move |tell, end| {
                    let main_last = selected::is_in_own_thread(&command, &target, end);
                    let options = SearchOptions { main_last, ..options };
                    opening::first_run(target, &options, counts, end, tell)
                }),
            )
        }
    };
    let tour = args.trace.is_none() && args.command.is_empty();
    let path = args.trace.clone();
    let opening =
        tui::Options { color: console.style.color, startup, path, out: &out, workers, tour };
    tui::run(opening, &interrupted)?;
    interrupt::end_by(last_signal.load(Ordering::Relaxed));
    Ok(Status::Fine)
}

/// Refuses options that contradict the recorded ones.
fn refuse_recorded_options(args: &ProgramArgs) -> Result<(), Problem> {
    let given = [
        ("--max-steps", args.max_steps.is_some()),
        ("--max-memory", args.max_memory.is_some()),
        ("--spurious", args.spurious.is_some()),
        ("--reuse", args.reuse.is_some()),
        ("--short-counts", args.short_counts.is_some()),
        ("--slack", args.slack.is_some()),
        ("--patience", args.outside_limit.is_some()),
        ("--begin-at", args.begin_at.is_some()),
        ("--client", !args.clients.is_empty()),
        ("--reset", args.reset.is_some()),
        ("--fail-on", args.fail_on.is_some()),
        ("--points", args.points.is_some()),
        ("--scratch", args.scratch.is_some()),
        ("--follow-child", args.follow_child.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Problem::Usage(format!(
            "{option} applies to a program, but a trace runs with its recorded options: remove {option}"
        ))),
    }
}
