//! `heddle explore`.

use super::{RUNTIME, empty_report, json, target};
use crate::cli::ExploreArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::progress::Line;
use crate::settings::Settings;
use crate::views::{next, report};
use crate::{config, interrupt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use traces::report::{Report, Verdict};

/// Runs the verb.
///
/// # Errors
/// Where the options are wrong or the program cannot be run under control.
pub fn main(args: ExploreArgs, console: &Console) -> Result<Status, Problem> {
    let settings = Settings::explore(&args, config::load(Path::new("."))?)?;
    let interrupted = interrupt::flag();
    let report = match search(&args, &settings, &interrupted, console) {
        Ok(report) => report,
        Err(problem) if settings.json && problem.status() == Status::Target => {
            // A script that asked for an object gets one, whatever happened.
            let strategy = settings.options.strategy.name();
            let report = empty_report(Verdict::Error, strategy, problem.to_string());
            console.print(&json(&report))?;
            return Err(problem);
        }
        Err(problem) => return Err(problem),
    };
    if settings.json {
        console.print(&json(&report))?;
    } else {
        console.print(&text(&report, console))?;
    }
    Ok(status(&report, &interrupted))
}

fn search(
    args: &ExploreArgs,
    settings: &Settings,
    interrupted: &AtomicBool,
    console: &Console,
) -> Result<Report, Problem> {
    let target = target(&args.command)?;
    let mut line = Line::new(console, settings.options.keep_going);
    Ok(replay_core::explore(&target, &settings.options, interrupted, &mut line)?)
}

fn text(found: &Report, console: &Console) -> String {
    let mut text = report::render(found, &console.style);
    if let Some(path) = found.bugs.iter().find_map(|bug| bug.trace.as_deref()) {
        text.push('\n');
        text.push_str(&next::trace_commands(path, "explore", &console.style));
    }
    text
}

/// The exit status that a report means.
#[must_use]
pub fn status(report: &Report, interrupted: &AtomicBool) -> Status {
    match report.verdict {
        Verdict::Bug => Status::Bug,
        Verdict::Unsupported | Verdict::Error => Status::Target,
        Verdict::Incomplete if interrupted.load(Ordering::Relaxed) => Status::Interrupted,
        Verdict::Clean | Verdict::Incomplete => Status::Fine,
    }
}

/// Whether this program carries its runtime at all.
#[must_use]
pub fn has_runtime() -> bool {
    !RUNTIME.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_wins_over_an_interruption() {
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
    fn the_object_has_the_promised_fields_in_order() {
        let text = json(&empty_report(Verdict::Clean, "dfs", String::new()));
        assert!(text.starts_with(r#"{"heddle":1,"verdict":"clean","memory_model":"sc","strategy":"dfs","found_by":null,"bound":-1,"complete":false,"#), "{text}");
        assert!(text.ends_with("\"bugs\":[]}\n"), "{text}");
    }
}
