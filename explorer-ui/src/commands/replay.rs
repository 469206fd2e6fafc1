//! `heddle replay`.

use super::environment::{Variables, recorded, trusted};
use super::{RUNTIME, confirm, json};
use crate::changes::Changes;
use crate::cli::ReplayArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::views::style::{Role, Style};
use crate::views::text::{clean, count, grouped, quote};
use crate::views::{next, summary};
use replay_core::debug::Start;
use replay_core::realign::{self, Realigned};
use replay_core::shrink::walk_for;
use replay_core::store::{self, Loaded};
use replay_core::{Error, Replayed, Target};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use traces::{Failure, Trace};

/// Runs the verb.
///
/// # Errors
/// Where the trace is no good, its program was neither named nor confirmed, or changed since.
pub fn main(args: &ReplayArgs, console: &Console) -> Result<Status, Problem> {
    if !args.watch {
        return once(args, console);
    }
    let interrupted = interrupt::flag();
    let mut status = once(args, console)?;
    let loaded = store::load(&args.trace)?;
    let program = present(args, &loaded, console)?.program;
    let mut changes = Changes::of(&[&program, &args.trace])?;
    console.note("heddle: watching the program and the trace for changes; Ctrl-C ends this");
    while let Some(changed) = changes.wait(&interrupted) {
        console.note(&format!("heddle: {} changed", clean(&changed.display().to_string())));
        let loaded = store::load(&args.trace)?;
        let target = match present(args, &loaded, console) {
            Ok(target) => target,
            // Another change will come: it cannot stay like this.
            Err(problem) => {
                console.error(&problem.to_string());
                continue;
            }
        };
        status = if target.build_id == loaded.trace.header.build_id {
            once(args, console)?
        } else {
            let (status, text) = again(&target, &loaded.trace, &interrupted)?;
            console.print(&format!("{text}\n"))?;
            status
        };
    }
    Ok(status)
}

/// What becomes of a recorded schedule in a program that was rebuilt, in words.
pub(super) fn again(
    target: &Target,
    trace: &Trace,
    interrupted: &AtomicBool,
) -> Result<(Status, String), Problem> {
    let walk = walk_for(target.clone(), trace);
    let failed = trace.failure.as_ref().map(|failure| failure.kind);
    Ok(match realign::realign(&walk, &trace.execution, interrupted)? {
        Realigned::Fits(now) => match (&now.failure, failed) {
            (Some(failure), before) => {
                let still = if Some(failure.kind) == before { "still fails" } else { "fails" };
                let place = clean(&failure.place);
                (
                    Status::Bug,
                    format!("{still}: {} at {place}: {}", failure.kind, clean(&failure.message)),
                )
            }
            (None, Some(_)) => (Status::Fine, "the schedule fits the new build, and passes".into()),
            (None, None) => {
                (Status::Fine, "the schedule fits the new build, and passes again".into())
            }
        },
        Realigned::Not { fitted, of } => {
            let parts = count(of as u64, "stretch");
            let text = format!(
                "the schedule no longer applies: {fitted} of its {parts} fit the new build"
            );
            (Status::Fine, text)
        }
    })
}

fn once(args: &ReplayArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let target = target(args, &loaded, console)?;
    let trace = loaded.trace;
    if let Some(address) = &args.gdb {
        return super::gdb::serve(&target, trace, Start::Failure, address, false, console);
    }
    let interrupted = interrupt::flag();
    let replayed = {
        let mut line = Line::new(console, false);
        replay_core::replay(&trace, &target, args.times, &interrupted, &mut line)?
    };
    let path = args.trace.display().to_string();
    if args.json {
        console.print(&object(&replayed, &trace))?;
    } else {
        console.print(&text(&replayed, &trace, args.times, &path, &console.style))?;
    }
    Ok(status(&replayed, interrupted.load(Ordering::Relaxed), args.times))
}

/// The program with the circumstances of the trace; refused if it was rebuilt since.
pub(super) fn target(
    args: &ReplayArgs,
    loaded: &Loaded,
    console: &Console,
) -> Result<Target, Problem> {
    let target = present(args, loaded, console)?;
    if loaded.trace.header.build_id != target.build_id {
        return Err(Problem::Core(changed(&args.trace, &target, &loaded.trace)));
    }
    Ok(target)
}

/// The program as it is now, with the circumstances of the trace.
pub(super) fn present(
    args: &ReplayArgs,
    loaded: &Loaded,
    console: &Console,
) -> Result<Target, Problem> {
    let trace = &loaded.trace;
    let header = &trace.header;
    let present: Variables = std::env::vars_os().collect();
    replay_core::runtime::install(RUNTIME)?;
    let named = args.command.split_first();
    let agreed = loaded.ours || args.yes;
    if !agreed && named.is_none() {
        confirm::ask(&args.trace, trace, console)?;
    }
    let mut target = match named {
        Some((program, arguments)) => Target::new(program, arguments.to_vec())?,
        None => {
            let arguments = header.args.iter().cloned().map(OsString::from_vec).collect();
            Target::new(OsStr::new(&header.program), arguments)?
        }
    };
    target.env = if agreed || named.is_none() {
        recorded(header, &present)
    } else {
        trusted(header, &present)
    };
    target.cwd = directory(args, trace, named.is_some(), &target, console)?;
    Ok(target)
}

/// The directory of the trace; where it is gone, the present one if the user named the program.
fn directory(
    args: &ReplayArgs,
    trace: &Trace,
    named: bool,
    target: &Target,
    console: &Console,
) -> Result<PathBuf, Problem> {
    let recorded = PathBuf::from(&trace.header.cwd);
    if recorded.is_dir() {
        return Ok(recorded);
    }
    let gone = format!("it was recorded in {}, which is not there", clean(&trace.header.cwd));
    if named {
        console.note(&format!("heddle: {gone}; this directory is used instead"));
        return Ok(target.cwd.clone());
    }
    Err(Problem::Core(Error::File {
        path: args.trace.clone(),
        what: format!("{gone}: name the program after `--` to run it in this directory"),
    }))
}

fn changed(path: &Path, target: &Target, trace: &Trace) -> Error {
    let short = |id: &str| id.chars().take(12).collect::<String>();
    Error::File {
        path: path.to_owned(),
        what: format!(
            "{} is not the program that was recorded (build id {}, recorded {}): build it as it \
             was then, or name the one that fits after `--`",
            target.program.display(),
            short(&target.build_id),
            short(&trace.header.build_id)
        ),
    }
}

fn text(replayed: &Replayed, trace: &Trace, times: u64, path: &str, style: &Style) -> String {
    match replayed {
        Replayed::Same { times: ran, failure, .. } => {
            let mut text = match failure {
                Some(failure) => style.paint(Role::Bad, "reproduced") + &how(failure),
                None => style.paint(Role::Good, "the same again, without a failure"),
            };
            let steps = count(trace.execution.steps.len() as u64, "step");
            text.push_str(&format!("\n{} of {} runs", grouped(*ran), grouped(times)));
            text.push_str(&format!(", each the same in all {steps}"));
            if *ran < times {
                text.push_str("; interrupted");
            }
            text.push_str("\n\n");
            text + &next::trace_commands(path, "replay", style)
        }
        Replayed::Diverged { run, step, what } => {
            let mut text = style.paint(Role::Bad, "not the same execution, so there is no verdict");
            text.push_str(&format!("\n  run {}, step {}: ", grouped(*run), grouped(step + 1)));
            text.push_str(&clean(what));
            let around = format!("{}..{}", step.saturating_sub(5) + 1, step + 1);
            let command = format!("heddle show --steps {around} {}", quote(path));
            text.push_str("\n\n");
            text + &next::render(&[(command, "what was recorded up to there")], style)
        }
    }
}

fn how(failure: &Failure) -> String {
    let trace = Trace { failure: Some(failure.clone()), ..Trace::default() };
    format!(": {}", summary::outcome(&trace, &Style::default()))
}

fn object(replayed: &Replayed, trace: &Trace) -> String {
    let (same, runs, failure, step, what) = match replayed {
        Replayed::Same { times, failure, .. } => (true, *times, failure.as_ref(), None, ""),
        Replayed::Diverged { run, step, what } => {
            (false, *run, None, Some(step + 1), what.as_str())
        }
    };
    let failure = failure.map(|failure| {
        serde_json::json!({
            "kind": failure.kind,
            "signature": failure.signature,
            "message": failure.message,
            "site": failure.place,
        })
    });
    json(&serde_json::json!({
        "heddle": 1,
        "same": same,
        "runs": runs,
        "steps": trace.execution.steps.len(),
        "failure": failure,
        "diverged_at": step,
        "reason": what,
    }))
}

fn status(replayed: &Replayed, interrupted: bool, times: u64) -> Status {
    match replayed {
        Replayed::Same { failure: Some(_), times: ran, .. } if *ran > 0 => Status::Bug,
        Replayed::Same { times: ran, .. } if interrupted && *ran < times => Status::Interrupted,
        Replayed::Same { .. } => Status::Fine,
        Replayed::Diverged { .. } => Status::Target,
    }
}
