//! `heddle show`.

use super::budget::budget;
use super::prospects::forecast;
use crate::cli::arguments::ShowArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::report::failure;
use crate::report::forecast::render;
use crate::report::json_output::{json, with_prospects};
use crate::report::list;
use crate::report::next_commands;
use crate::report::position;
use crate::report::rows::{Layout, Selection};
use crate::report::schedule::schedule;
use crate::report::style::{Role, Style};
use crate::report::summary;
use crate::report::text::clean;
use replay_core::runner::Forecast;
use replay_core::store;
use traces::Trace;
use traces::trace::EnvironmentUse;

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid.
pub fn main(args: &ShowArgs, console: &Console) -> Result<Status, Problem> {
    let advice = ", --steps A..B shows a part";
    let loading = budget(args.limits, &args.trace, advice);
    let loaded = store::load(&args.trace)?;
    // The limits are those for the trace. Executions of the program have their own.
    drop(loading);
    let known = args.prospects.then(|| forecast(args, &loaded, console)).transpose()?;
    let _budget = budget(args.limits, &args.trace, advice);
    let trace = loaded.trace;
    if args.json {
        console.print(&match &known {
            Some(known) => json(&with_prospects(&trace, known)),
            None => json(&trace),
        })?;
        return Ok(Status::Fine);
    }
    if args.environment {
        console.print(&environment(&trace))?;
        return Ok(Status::Fine);
    }
    let steps = trace.execution.steps.len();
    if let Some(range) = args.steps
        && range.0 >= steps
    {
        return Err(Problem::Usage(format!(
            "--steps starts after the last step: the trace has {steps} steps"
        )));
    }
    if let Some(at) = args.at
        && at >= steps
        && at != usize::MAX
    {
        return Err(Problem::Usage(format!(
            "--at is after the last step: the trace has {steps} steps"
        )));
    }
    let style = Style { ascii: args.ascii, ..console.style };
    console.print(&text(&trace, known.as_ref(), args, &style, console.width))?;
    Ok(Status::Fine)
}

fn text(
    trace: &Trace,
    known: Option<&Forecast>,
    args: &ShowArgs,
    style: &Style,
    width: usize,
) -> String {
    let layout = Layout {
        width,
        selection: Selection { steps: args.steps.map(|range| (range.0, range.1)), fold: args.fold },
        enabled: args.enabled,
    };
    let mut parts = vec![summary::render(trace, style)];
    if let Some(at) = args.at {
        parts.push(position::render(trace, at, style));
        return parts.join("\n");
    }
    parts.push(if args.list {
        list::render(trace, style, &layout)
    } else {
        schedule(trace, style, &layout)
    });
    let failed = failure::render(trace, style, width);
    if !failed.is_empty() {
        parts.push(failed);
    }
    parts.extend(known.map(|known| render(known, trace.execution.steps.len(), style)));
    if args.output {
        parts.push(output(trace, style));
    }
    parts.push(next_commands::trace_commands(&args.trace.display().to_string(), "show", style));
    parts.join("\n")
}

/// The recorded environment, with control characters escaped.
fn environment(trace: &Trace) -> String {
    let header = &trace.header;
    let mut text = String::new();
    for (name, value) in &header.env {
        let [shown, content] = [name, value].map(|bytes| clean(&String::from_utf8_lossy(bytes)));
        let is_unread = header.unread.iter().any(|unread| unread.as_bytes() == name);
        text.push_str(&match is_unread {
            true => format!("{shown} (not read by the program; value replaced)\n"),
            false => format!("{shown}={content}\n"),
        });
    }
    for name in &header.left_out {
        text.push_str(&format!("{} (value not recorded)\n", clean(name)));
    }
    text.push_str(match header.environment_use {
        EnvironmentUse::Unknown | EnvironmentUse::Named => "",
        EnvironmentUse::Whole => {
            "All values are kept because the program refers to the environment as a whole.\n"
        }
        EnvironmentUse::Differs => {
            "All values are kept because the execution was not the same without them.\n"
        }
        EnvironmentUse::Once => {
            "All values are kept because the program changes state outside of its memory, so the execution \
             was not repeated without them.\n"
        }
    });
    text
}

/// The output of the program, with control characters escaped.
fn output(trace: &Trace, style: &Style) -> String {
    let mut text = style.paint(Role::Title, "Output") + "\n";
    for line in String::from_utf8_lossy(&trace.output).lines() {
        text.push_str(&format!("  {}\n", clean(line)));
    }
    text
}
