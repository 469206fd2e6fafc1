//! `heddle shrink`.

use super::chosen::Chosen;
use super::json;
use crate::cli::ShrinkArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::views::style::Role;
use crate::views::text::{count, grouped};
use crate::views::{Layout, Selection, next, schedule};
use replay_core::realign::{Realigned, realign};
use replay_core::shrink::{self, BUDGET, Proof, Ran, Refused, Shrunk, Size, Watch};
use replay_core::store;
use replay_core::walk::Walk;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use traces::Trace;

/// Runs the verb.
///
/// # Errors
/// Where the trace is no good, passes, or does not come again.
pub fn main(args: &ShrinkArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let chosen = Chosen { trace: &args.trace, yes: args.yes, command: &args.command };
    let target = chosen.present(&loaded, console)?;
    let rebuilt = target.build_id != loaded.trace.header.build_id;
    let walk = shrink::walk_for(target, &loaded.trace);
    let interrupted = interrupt::flag();
    let mut loaded = loaded;
    if rebuilt {
        loaded.trace = fitted(&walk, &loaded.trace, &args.trace, &interrupted)?;
        console.note("heddle: the program was rebuilt since: its schedule was fitted to the new build by what the tasks do to which objects");
    }
    let shrunk = {
        let mut line = Progress(Line::new(console, false));
        shrink::shrink(&walk, &loaded.trace, BUDGET, &interrupted, &mut line)
    };
    let shrunk = shrunk.map_err(|refused| match refused {
        Refused::Core(error) => Problem::Core(error),
        other => Problem::Usage(format!("{}: {other}", args.trace.display())),
    })?;
    let path = args.output.clone().unwrap_or_else(|| beside(&args.trace, "min"));
    store::save_as(&shrunk.trace, &path)?;
    if args.json {
        console.print(&object(&shrunk, &path))?;
    } else {
        console.print(&text(&shrunk, &path, console))?;
    }
    Ok(Status::Fine)
}

/// The execution of a rebuilt program under the schedule of a trace, if it fails as it did.
pub(super) fn fitted(
    walk: &Walk,
    trace: &Trace,
    path: &Path,
    interrupted: &AtomicBool,
) -> Result<Trace, Problem> {
    let kind = trace.failure.as_ref().map(|failure| failure.kind);
    let why = match realign(walk, &trace.execution, interrupted)? {
        Realigned::Fits(now) => match &now.failure {
            Some(failure) if Some(failure.kind) == kind => return Ok(*now),
            Some(failure) => {
                format!("fits the new build, and fails in another way: {}", failure.kind)
            }
            None => "fits the new build, and passes".to_owned(),
        },
        Realigned::Not { fitted, of } => {
            format!("does not fit the new build: {fitted} of its {of} stretches do")
        }
    };
    Err(Problem::Usage(format!(
        "{}: the program was rebuilt since, and the schedule {why}; `heddle explore` searches again",
        path.display()
    )))
}

/// `bug.heddle` becomes `bug.min.heddle`, or what else is asked for.
pub(super) fn beside(trace: &Path, what: &str) -> PathBuf {
    let stem = trace.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.strip_suffix(".min").unwrap_or(&stem).to_owned();
    trace.with_file_name(format!("{stem}.{what}.heddle"))
}

/// How far shrinking has come, on the line that is rewritten.
pub(super) struct Progress<'a>(pub(super) Line<'a>);

impl Watch for Progress<'_> {
    fn progress(&mut self, size: Size, trying: &str) {
        self.0.say(&format!("{}; trying {trying}", sizes(size)));
    }
}

fn sizes(size: Size) -> String {
    let switches = match size.switches {
        1 => "1 switch".to_owned(),
        many => format!("{} switches", grouped(many as u64)),
    };
    format!(
        "{}, {switches}, {}",
        count(size.preemptions as u64, "preemption"),
        count(size.steps as u64, "step")
    )
}

fn text(shrunk: &Shrunk, path: &Path, console: &Console) -> String {
    let style = &console.style;
    let known = match shrunk.proof {
        Proof::Proved { ran, executions, wholly } => {
            let executions = count(executions, "execution");
            let all = match ran {
                Ran::Schedules => {
                    format!("every schedule with fewer preemptions was run ({executions})")
                }
                Ran::Orders => format!(
                    "of every order of dependent operations one schedule with fewer preemptions was \
                     run, and random walks met no other order ({executions})"
                ),
            };
            let also = match wholly {
                true => {
                    "; of those with as many, none has fewer switches, or as many and fewer steps"
                }
                false => "",
            };
            format!("proved minimal: {all}{also}")
        }
        Proof::Tried { below: Some(below) } => format!(
            "nothing smaller was found; all schedules with up to {} were run, those with more are \
             too many",
            count(u64::from(below), "preemption")
        ),
        Proof::Tried { below: None } => {
            "nothing smaller was found by taking away one switch after the other".to_owned()
        }
        Proof::Interrupted => "interrupted: this is the best so far".to_owned(),
    };
    let mut text = format!("from {}\n", sizes(shrunk.from));
    text.push_str(&format!("to   {}\n", style.paint(Role::Title, &sizes(shrunk.to))));
    text.push_str(&format!("{known}\n\n"));
    let layout = Layout { width: console.width, selection: Selection::default(), enabled: false };
    text.push_str(&schedule(&shrunk.trace, style, &layout));
    text.push('\n');
    text + &next::trace_commands(&path.display().to_string(), "shrink", style)
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
                Ran::Schedules => "schedules",
                Ran::Orders => "orders",
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
