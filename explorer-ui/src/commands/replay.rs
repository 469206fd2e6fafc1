//! `heddle replay`.

use super::chosen::Chosen;
use super::json;
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
use replay_core::store;
use replay_core::{Replayed, Target};
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
    let program = chosen(args).present(&loaded, console)?.program;
    let mut changes = Changes::of(&[&program, &args.trace])?;
    console.note("heddle: watching the program and the trace for changes; Ctrl-C ends this");
    while let Some(changed) = changes.wait(&interrupted) {
        console.note(&format!("heddle: {} changed", clean(&changed.display().to_string())));
        let loaded = store::load(&args.trace)?;
        let target = match chosen(args).present(&loaded, console) {
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

fn chosen(args: &ReplayArgs) -> Chosen<'_> {
    Chosen { trace: &args.trace, yes: args.yes, command: &args.command }
}

fn once(args: &ReplayArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let target = chosen(args).recorded(&loaded, console)?;
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
