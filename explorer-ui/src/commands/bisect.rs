//! `heddle bisect`.

use super::output_path::sibling_path;
use super::progress::BisectProgress;
use super::sources::sources;
use super::trace_program::TraceProgram;
use crate::cli::arguments::BisectArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::diff;
use crate::report::explain;
use crate::report::json_output::{bisection, json};
use crate::report::next_commands;
use crate::report::style::Style;
use crate::report::text::quote;
use replay_core::bisect::{self, BUDGET, classify};
use replay_core::shrink::{Refused, runner_for};
use replay_core::store;

/// Runs the verb.
///
/// # Errors
/// If a trace is invalid, does not fail, or cannot be reproduced.
pub fn main(args: &BisectArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let known = args.passing.as_ref().map(|path| store::load(path)).transpose()?;
    let known = known.map(|known| known.trace);
    if let (Some(known), Some(path)) = (&known, &args.passing) {
        let wrong = if known.failure.is_some() {
            Some("fails, too: name a trace that passes")
        } else if known.header.build_id != loaded.trace.header.build_id {
            Some("is of another program or another build: record it again")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(Problem::Usage(format!("{} {wrong}", path.display())));
        }
    }
    let trace_program = TraceProgram { trace: &args.trace, yes: args.yes, command: &args.command };
    let target = trace_program.recorded(&loaded, console)?;
    let walk = runner_for(target, &loaded.trace);
    let interrupted = interrupt::flag();
    let bisected = {
        let mut line = BisectProgress(Line::new(console, false));
        bisect::bisect(&walk, &loaded.trace, known.as_ref(), BUDGET, &interrupted, &mut line)
    };
    let bisected = bisected.map_err(|refused| match refused {
        Refused::Core(error) => Problem::Core(error),
        other => Problem::Usage(format!("{}: {other}", args.trace.display())),
    })?;
    let path = args.output.clone().unwrap_or_else(|| sibling_path(&args.trace, "pass"));
    if let Some(passing) = &bisected.passing {
        store::save_as(passing, &path)?;
    }
    let kind = classify(&bisected.failing, Some(&bisected));
    if args.json {
        let mut object = bisection(Some(&bisected), kind);
        object["passing"] = bisected.passing.as_ref().map(|_| path.display().to_string()).into();
        console.print(&json(&object))?;
        return Ok(Status::Fine);
    }
    let style = Style { ascii: args.ascii, ..console.style };
    let mut text = format!("{kind}: {}\n\n", kind.meaning());
    text.push_str(&explain::cause(&bisected, &sources(&bisected.failing).0, &style));
    let trace = args.trace.display().to_string();
    let mut commands = Vec::new();
    if let Some(passing) = &bisected.passing {
        text.push('\n');
        text.push_str(&format!("{}\n\n", explain::nearest(&bisected)));
        text.push_str(&diff::render(&bisected.failing, passing, 2, &style, console.width));
        let both = [quote(&trace), quote(&path.display().to_string())];
        commands.push((format!("heddle ui {}", both[1]), "explore the schedule that passes"));
        commands
            .push((format!("heddle diff {} {}", both[0], both[1]), "compare the two side by side"));
    }
    commands.push((format!("heddle explain {}", quote(&trace)), "explain the failure on one page"));
    text.push('\n');
    text.push_str(&next_commands::render(&commands, &style));
    console.print(&text)?;
    Ok(Status::Fine)
}
