//! `heddle explore`.

use super::rebuilt::replay_in_rebuilt_program;
use super::runtime::{of_options, warn_of_unused_input};
use super::test::selected;
use crate::cli::arguments::ExploreArgs;
use crate::cli::config_file;
use crate::cli::settings::Settings;
use crate::cli::values::HarnessChoice;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::export::junit;
use crate::file_watch::FileWatch;
use crate::interrupt;
use crate::progress::Line;
use crate::report::json_output::json;
use crate::report::next_commands;
use crate::report::search::{self, empty_report};
use crate::report::text::clean;
use replay_core::{Observer, Target, WorkingFiles, store};
use std::fs::OpenOptions;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use traces::report::{Report, Verdict};

/// Runs the verb.
///
/// # Errors
/// If the options are invalid or the program cannot be run under control.
pub fn main(args: ExploreArgs, console: &Console) -> Result<Status, Problem> {
    main_with(args, console, &|target, settings, interrupted, observer| {
        Ok(replay_core::explore(target, &settings.options, interrupted, observer)?)
    })
}

/// Runs a search.
pub type Search<'a> =
    dyn Fn(&Target, &Settings, &AtomicBool, &mut dyn Observer) -> Result<Report, Problem> + 'a;

/// Runs the verb with another way to run a search.
///
/// # Errors
/// As [`main`], and what `run` returns.
pub fn main_with(
    args: ExploreArgs,
    console: &Console,
    run: &Search<'_>,
) -> Result<Status, Problem> {
    let settings = Settings::explore(&args, config_file::load(Path::new("."))?)?;
    if let Some(path) = &args.junit {
        // Test now whether the file can be written: the search may take hours.
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened.map_err(|error| unwritable(path, &error))?;
    }
    let interrupted = interrupt::flag();
    let report = match search(&args, &settings, &interrupted, console, run) {
        Ok(report) => report,
        Err(problem) if args.junit.is_some() && problem.status() == Status::Target => {
            let strategy = settings.options.strategy.name();
            let report = empty_report(Verdict::Error, strategy, problem.to_string());
            write_junit(&args, &report)?;
            if settings.json {
                console.print(&json(&report))?;
            }
            return Err(problem);
        }
        Err(problem) if settings.json && problem.status() == Status::Target => {
            // With --json, standard output always gets an object.
            let strategy = settings.options.strategy.name();
            let report = empty_report(Verdict::Error, strategy, problem.to_string());
            console.print(&json(&report))?;
            return Err(problem);
        }
        Err(problem) => return Err(problem),
    };
    let printed = match settings.json {
        true => console.print(&json(&report)),
        false => console.print(&text(&report, console)),
    };
    // If one of the two cannot be written, still write the other.
    let written = write_junit(&args, &report);
    if let Err(problem) = printed.map_err(Problem::from).and(written) {
        return match status(&report, &interrupted) {
            // The failure was found and its trace is written, so the exit status reports it.
            Status::Bug => {
                console.error(&problem.to_string());
                Ok(Status::Bug)
            }
            _ => Err(problem),
        };
    }
    if args.watch {
        return watch(&args, &settings, report, &interrupted, console, run);
    }
    Ok(status(&report, &interrupted))
}

/// Searches again whenever the program changes; reruns the failing schedules first.
fn watch(
    args: &ExploreArgs,
    settings: &Settings,
    mut report: Report,
    interrupted: &AtomicBool,
    console: &Console,
    run: &Search<'_>,
) -> Result<Status, Problem> {
    let program = of_options(&args.command, &args.search.program, console)?.program;
    let mut changes = FileWatch::of(&[&program])?;
    let path = clean(&program.display().to_string());
    console.note(&format!("heddle: watching {path} for changes; press Ctrl-C to stop"));
    let mut failing: Vec<String> = Vec::new();
    while !interrupted.load(Ordering::Relaxed) {
        let found = report.bugs.iter().filter_map(|bug| bug.trace.clone());
        found.for_each(|trace| {
            if !failing.contains(&trace) {
                failing.push(trace)
            }
        });
        if changes.wait(interrupted).is_none() {
            break;
        }
        console.note(&format!("heddle: {path} was rebuilt"));
        let now = match of_options(&args.command, &args.search.program, console) {
            Ok(now) => now,
            // The program is not runnable now; wait for the next change.
            Err(problem) => {
                console.error(&problem.to_string());
                continue;
            }
        };
        let mut text = String::new();
        for trace in &failing {
            let loaded = store::load(Path::new(trace))?.trace;
            let (_, what) = replay_in_rebuilt_program(&now, &loaded, interrupted)?;
            text.push_str(&format!("{}: {what}\n", clean(trace)));
        }
        report = search(args, settings, interrupted, console, run)?;
        let verdict = match (report.verdict, failing.is_empty()) {
            (Verdict::Clean, false) => "fixed\n",
            (Verdict::Incomplete, false) if report.bugs.is_empty() => {
                "no failure was found by the new search\n"
            }
            _ => "",
        };
        console.print(&format!("{text}{verdict}{}", self::text(&report, console)))?;
    }
    Ok(status(&report, interrupted))
}

/// Writes the JUnit report if `--junit` is given.
fn write_junit(args: &ExploreArgs, report: &Report) -> Result<(), Problem> {
    let Some(path) = &args.junit else { return Ok(()) };
    let words: Vec<_> = args.command.iter().map(|word| word.to_string_lossy()).collect();
    std::fs::write(path, junit::render(report, &words.join(" "), SystemTime::now()))
        .map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::Usage(format!("{}: cannot write the report: {error}", path.display()))
}

fn search(
    args: &ExploreArgs,
    settings: &Settings,
    interrupted: &AtomicBool,
    console: &Console,
    run: &Search<'_>,
) -> Result<Report, Problem> {
    let mut target = of_options(&args.command, &args.search.program, console)?;
    if let Some(policy) = settings.files {
        target.files = WorkingFiles::new(policy);
    }
    warn_of_unused_input(console);
    let mut line = Line::new(console, settings.options.keep_going);
    let mut options = replay_core::predicates::compile(&target, &settings.options, interrupted)?;
    options = replay_core::record_clients(&target, &options, interrupted)?;
    options.main_last = match settings.harness {
        HarnessChoice::Main => true,
        HarnessChoice::None => false,
        HarnessChoice::Auto => selected::is_in_own_thread(&args.command, &target, interrupted),
    };
    let settings = Settings { options, ..settings.clone() };
    run(&target, &settings, interrupted, &mut line)
}

fn text(found: &Report, console: &Console) -> String {
    let mut text = search::render(found, &console.style);
    let mut all = found.bugs.iter().chain(&found.satisfied);
    if let Some(path) = all.find_map(|bug| bug.trace.as_deref()) {
        text.push('\n');
        text.push_str(&next_commands::trace_commands(path, "explore", &console.style));
    }
    text
}

/// The exit status for a report. A program that failed once did not pass, also if nothing could repeat
/// the failure.
#[must_use]
pub fn status(report: &Report, interrupted: &AtomicBool) -> Status {
    match report.verdict {
        Verdict::Bug => Status::Bug,
        Verdict::Clean | Verdict::Incomplete if !report.unconfirmed.is_empty() => Status::Bug,
        Verdict::Satisfied => Status::Satisfied,
        Verdict::Unsupported | Verdict::Error => Status::Target,
        Verdict::Incomplete if interrupted.load(Ordering::Relaxed) => Status::Interrupted,
        Verdict::Clean | Verdict::Incomplete => Status::Fine,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_takes_precedence_over_an_interruption() {
        let report = |verdict| empty_report(verdict, "random", String::new());
        let calm = AtomicBool::new(false);
        let hurried = AtomicBool::new(true);
        assert_eq!(status(&report(Verdict::Bug), &hurried), Status::Bug);
        assert_eq!(status(&report(Verdict::Incomplete), &hurried), Status::Interrupted);
        assert_eq!(status(&report(Verdict::Incomplete), &calm), Status::Fine);
        assert_eq!(status(&report(Verdict::Clean), &hurried), Status::Fine);
        assert_eq!(status(&report(Verdict::Unsupported), &calm), Status::Target);
    }

    #[test]
    fn the_json_object_keeps_the_order_of_fields() {
        let text = json(&empty_report(Verdict::Clean, "dfs", String::new()));
        assert!(text.starts_with(r#"{"heddle":1,"verdict":"clean","memory_model":"sc","strategy":"dfs","found_by":null,"bound":-1,"complete":false,"#), "{text}");
        assert!(text.ends_with("\"bugs\":[]}\n"), "{text}");
    }
}
