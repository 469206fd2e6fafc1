//! `heddle shrink`.

use super::output_path::sibling_path;
use super::progress::{ShrinkProgress, sizes};
use super::rebuilt::fit_failing_schedule;
use super::trace_program::TraceProgram;
use crate::cli::arguments::ShrinkArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::json_output::json;
use crate::report::next_commands;
use crate::report::rows::{Layout, Selection};
use crate::report::schedule::schedule;
use crate::report::style::Role;
use crate::report::text::count;
use replay_core::shrink::{self, BUDGET, Enumerated, Proof, Refused, Shrunk, Size};
use replay_core::store;
use std::path::Path;

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, does not fail, or cannot be reproduced.
pub fn main(args: &ShrinkArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let trace_program = TraceProgram { trace: &args.trace, yes: args.yes, command: &args.command };
    let target = trace_program.current(&loaded, console)?;
    let rebuilt = target.build_id != loaded.trace.header.build_id;
    let walk = shrink::runner_for(target.clone(), &loaded.trace);
    let interrupted = interrupt::flag();
    let mut loaded = loaded;
    if rebuilt {
        loaded.trace = fit_failing_schedule(&walk, &loaded.trace, &args.trace, &interrupted)?;
        console.note("heddle: the program was rebuilt; the schedule was adapted by matching operations and objects");
    }
    let shrunk = {
        let mut line = ShrinkProgress(Line::new(console, false));
        shrink::shrink(&walk, &loaded.trace, BUDGET, &interrupted, &mut line)
    };
    let mut shrunk = shrunk.map_err(|refused| match refused {
        Refused::Core(error) => Problem::Core(error),
        other => Problem::Usage(format!("{}: {other}", args.trace.display())),
    })?;
    replay_core::print_backtraces(&mut shrunk.trace, &target, &interrupted);
    let path = args.output.clone().unwrap_or_else(|| sibling_path(&args.trace, "min"));
    store::save_as(&shrunk.trace, &path)?;
    if args.json {
        console.print(&object(&shrunk, &path))?;
    } else {
        console.print(&text(&shrunk, &path, console))?;
    }
    Ok(Status::Fine)
}

fn text(shrunk: &Shrunk, path: &Path, console: &Console) -> String {
    let style = &console.style;
    let known = minimality(shrunk.proof);
    let mut text = format!("from {}\n", sizes(shrunk.from));
    text.push_str(&format!("to   {}\n", style.paint(Role::Title, &sizes(shrunk.to))));
    text.push_str(&format!("{known}\n\n"));
    let layout = Layout { width: console.width, selection: Selection::default(), enabled: false };
    text.push_str(&schedule(&shrunk.trace, style, &layout));
    text.push('\n');
    text + &next_commands::trace_commands(&path.display().to_string(), "shrink", style)
}

/// How small the schedule is known to be.
fn minimality(proof: Proof) -> String {
    match proof {
        Proof::Proved { ran, executions, wholly } => {
            let executions = count(executions, "execution");
            let all = match ran {
                Enumerated::Schedules => {
                    format!("every schedule with fewer preemptions was run ({executions})")
                }
                Enumerated::Orders => format!(
                    "for every order of dependent operations a schedule with fewer preemptions was \
                     run, and random walks found no other order ({executions})"
                ),
            };
            let also = match wholly {
                true => {
                    "; with equally many, none has fewer switches, or equally many switches and fewer steps"
                }
                false => "",
            };
            format!("proved minimal: {all}{also}")
        }
        Proof::Tried { below: Some(below) } => format!(
            "no smaller schedule was found; all schedules with up to {} were run, those with more \
             are too many",
            count(u64::from(below), "preemption")
        ),
        Proof::Tried { below: None } => {
            "no smaller schedule was found by removing switches one at a time".to_owned()
        }
        Proof::Interrupted => "interrupted: this is the smallest schedule so far".to_owned(),
    }
}

fn object(shrunk: &Shrunk, path: &Path) -> String {
    let size = |size: Size| {
        serde_json::json!({
            "preemptions": size.preemptions,
            "switches": size.switches,
            "steps": size.steps,
        })
    };
    let (proof, by, executions, wholly) = match shrunk.proof {
        Proof::Proved { ran, executions, wholly } => {
            let by = match ran {
                Enumerated::Schedules => "schedules",
                Enumerated::Orders => "orders",
            };
            ("proved", Some(by), Some(executions), wholly)
        }
        Proof::Tried { .. } => ("tried", None, None, false),
        Proof::Interrupted => ("interrupted", None, None, false),
    };
    json(&serde_json::json!({
        "heddle": 1,
        "from": size(shrunk.from),
        "to": size(shrunk.to),
        "minimal": proof,
        "by": by,
        "executions": executions,
        "wholly": wholly,
        "trace": path,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_small_a_schedule_is_known_to_be() {
        let proved = |ran, wholly| Proof::Proved { ran, executions: 120, wholly };
        let all = [
            proved(Enumerated::Schedules, false),
            proved(Enumerated::Schedules, true),
            proved(Enumerated::Orders, false),
            Proof::Tried { below: Some(1) },
            Proof::Tried { below: None },
            Proof::Interrupted,
        ];
        insta::assert_snapshot!(all.map(minimality).join("\n"));
    }
}
