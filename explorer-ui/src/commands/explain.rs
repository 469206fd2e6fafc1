//! `heddle explain`.

use super::bisect::{self, learned};
use super::chosen::Chosen;
use super::json;
use super::shrink::{self as shrinking, beside};
use crate::cli::ExplainArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::views::explain::{Page, render};
use crate::views::style::Style;
use crate::views::text::quote;
use replay_core::bisect::{BUDGET, Bisected, classify};
use replay_core::shrink::{self, Proof, Refused, Size};
use replay_core::source::{Source, Sources};
use replay_core::walk::Walk;
use replay_core::{Error, store};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use traces::Trace;

/// Executions that may be spent on one bound while shrinking: a page is to come soon.
const SHRINKING: u64 = 50_000;

/// Runs the verb.
///
/// # Errors
/// Where the trace is no good or passes.
pub fn main(args: &ExplainArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    if loaded.trace.failure.is_none() {
        return Err(Problem::Usage(format!(
            "{}: the trace does not fail: there is nothing to explain; `heddle show` prints it",
            args.trace.display()
        )));
    }
    let mut found = Found::new(loaded.trace.clone(), args.trace.clone());
    if !args.as_is {
        let chosen = Chosen { trace: &args.trace, yes: args.yes, command: &args.command };
        match chosen.present(&loaded, console) {
            Ok(target) => {
                let rebuilt = target.build_id != loaded.trace.header.build_id;
                let walk = shrink::walk_for(target, &loaded.trace);
                if rebuilt {
                    found.fit(&walk);
                } else {
                    found.run(&walk, console)?;
                }
                if rebuilt && found.fits {
                    found.run(&walk, console)?;
                }
            }
            Err(problem @ Problem::Core(Error::NotConfirmed(_))) => return Err(problem),
            // A page from what was recorded is better than none.
            Err(problem) => found.remarks.push(format!(
                "the program could not be run, so this is from the recording alone: {problem}"
            )),
        }
    }
    let kind = classify(&found.trace, found.bisected.as_ref());
    if args.json {
        let mut object = learned(found.bisected.as_ref(), kind);
        object["trace"] = found.path.display().to_string().into();
        object["passing"] = found.passing.as_ref().map(|path| path.display().to_string()).into();
        object["remarks"] = found.remarks.into();
        console.print(&json(&object))?;
        return Ok(Status::Fine);
    }
    let (sources, newer) = sources(&found.trace);
    found.remarks.extend(newer);
    let page = Page {
        kind,
        trace: &found.trace,
        shrunk: found.shrunk,
        bisected: found.bisected.as_ref(),
        sources: &sources,
        commands: commands(&found.path, found.passing.as_deref()),
        remarks: found.remarks,
    };
    let style = Style { ascii: args.ascii, ..console.style };
    console.print(&render(&page, &style, console.width))?;
    Ok(Status::Fine)
}

/// What was found out about a trace by running its program.
struct Found {
    trace: Trace,
    path: PathBuf,
    shrunk: Option<(Size, Proof)>,
    bisected: Option<Bisected>,
    passing: Option<PathBuf>,
    remarks: Vec<String>,
    /// Whether the schedule was fitted to a rebuilt program.
    fits: bool,
}

impl Found {
    /// Fits the schedule to a program that was rebuilt since.
    fn fit(&mut self, walk: &Walk) {
        match shrinking::fitted(walk, &self.trace, &self.path, &interrupt::flag()) {
            Ok(trace) => {
                self.trace = trace;
                self.fits = true;
                self.remarks.push(
                    "the program was rebuilt since: its schedule was fitted to the new build by \
                     what the tasks do to which objects"
                        .to_owned(),
                );
            }
            Err(problem) => self
                .remarks
                .push(format!("{problem}; this is from the recording of the old build alone")),
        }
    }

    fn new(trace: Trace, path: PathBuf) -> Found {
        let remarks = Vec::new();
        Found { trace, path, shrunk: None, bisected: None, passing: None, remarks, fits: false }
    }

    /// Makes the schedule as small as it becomes, and finds what makes the difference.
    fn run(&mut self, walk: &Walk, console: &Console) -> Result<(), Problem> {
        let interrupted = interrupt::flag();
        let shrunk = {
            let mut line = shrinking::Progress(Line::new(console, false));
            shrink::shrink(walk, &self.trace, SHRINKING, &interrupted, &mut line)
        };
        match shrunk {
            Ok(shrunk) => {
                if shrunk.to < shrunk.from {
                    let path = beside(&self.path, "min");
                    store::save_as(&shrunk.trace, &path)?;
                    self.path = path;
                    self.trace = shrunk.trace;
                }
                self.shrunk = Some((shrunk.from, shrunk.proof));
            }
            Err(Refused::Core(error)) => return Err(Problem::Core(error)),
            Err(refused) => {
                self.remarks.push(format!("{refused}; this is from the recording alone"));
                return Ok(());
            }
        }
        let bisected = {
            let mut line = bisect::Progress(Line::new(console, false));
            replay_core::bisect::bisect(walk, &self.trace, None, BUDGET, &interrupted, &mut line)
        };
        match bisected {
            Ok(bisected) => {
                if let Some(passing) = &bisected.passing {
                    let path = beside(&self.path, "pass");
                    store::save_as(passing, &path)?;
                    self.passing = Some(path);
                }
                // The same execution, with names for what it never came to.
                self.trace = bisected.failing.clone();
                self.bisected = Some(bisected);
            }
            Err(Refused::Core(error)) => return Err(Problem::Core(error)),
            Err(refused) => self.remarks.push(refused.to_string()),
        }
        Ok(())
    }
}

/// The source files of a trace, and a remark for each that was changed since the program was built.
pub(super) fn sources(trace: &Trace) -> (HashMap<String, Arc<Source>>, Vec<String>) {
    let (sources, newer) = Sources::all(trace);
    let remark = |file: String| {
        format!("{file} was changed after the program was built: its lines may have moved")
    };
    (sources, newer.into_iter().map(remark).collect())
}

fn commands(trace: &Path, passing: Option<&Path>) -> Vec<(String, &'static str)> {
    let path = quote(&trace.display().to_string());
    let mut commands = vec![
        (format!("heddle replay {path}"), "this very schedule again, each step compared"),
        (format!("heddle gdb {path}"), "in the debugger at the failure; backwards, too"),
        (format!("heddle ui {path}"), "walk through it, let others move, look ahead"),
    ];
    if let Some(passing) = passing {
        let passing = quote(&passing.display().to_string());
        let diff = format!("heddle diff {path} {passing}");
        commands.push((diff, "beside the nearest schedule that passes"));
    }
    commands
}
