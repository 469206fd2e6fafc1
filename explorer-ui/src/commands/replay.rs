//! `heddle replay`.

use super::rebuilt::replay_in_rebuilt_program;
use super::trace_program::TraceProgram;
use crate::cli::arguments::ReplayArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::file_watch::FileWatch;
use crate::interrupt;
use crate::progress::Line;
use crate::report::json_output::json;
use crate::report::next_commands;
use crate::report::style::{Role, Style};
use crate::report::summary;
use crate::report::text::{clean, count, grouped, quote};
use replay_core::Replayed;
use replay_core::debug::Start;
use replay_core::store;
use std::sync::atomic::Ordering;
use traces::{Failure, FailureKind, Trace};

/// Runs the verb.
///
/// # Errors
/// If the trace is invalid, or its program is not confirmed or was rebuilt.
pub fn main(args: &ReplayArgs, console: &Console) -> Result<Status, Problem> {
    if args.predicates {
        return super::replay_predicates::main(args, console);
    }
    if !args.watch {
        return once(args, console);
    }
    let interrupted = interrupt::flag();
    let mut status = once(args, console)?;
    let loaded = store::load(&args.trace)?;
    let program = trace_program(args).current(&loaded, console)?.program;
    let mut changes = FileWatch::of(&[&program, &args.trace])?;
    console.note("heddle: watching the program and the trace for changes; press Ctrl-C to stop");
    while let Some(changed) = changes.wait(&interrupted) {
        console.note(&format!("heddle: {} changed", clean(&changed.display().to_string())));
        let loaded = store::load(&args.trace)?;
        let target = match trace_program(args).current(&loaded, console) {
            Ok(target) => target,
            // The program is not runnable now; wait for the next change.
            Err(problem) => {
                console.error(&problem.to_string());
                continue;
            }
        };
        status = if target.build_id == loaded.trace.header.build_id {
            once(args, console)?
        } else {
            let (status, text) = replay_in_rebuilt_program(&target, &loaded.trace, &interrupted)?;
            console.print(&format!("{text}\n"))?;
            status
        };
    }
    Ok(status)
}

fn trace_program(args: &ReplayArgs) -> TraceProgram<'_> {
    TraceProgram { trace: &args.trace, yes: args.yes, command: &args.command }
}

fn once(args: &ReplayArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let target = trace_program(args).recorded(&loaded, console)?;
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
                None => style.paint(Role::Good, "same execution, no failure"),
            };
            let steps = count(trace.execution.steps.len() as u64, "step");
            text.push_str(&format!("\n{} of {} runs", grouped(*ran), grouped(times)));
            text.push_str(&format!(", each identical in all {steps}"));
            if *ran < times {
                text.push_str("; interrupted");
            }
            text.push_str("\n\n");
            text + &next_commands::trace_commands(path, "replay", style)
        }
        Replayed::Diverged { run, step, what } => {
            let mut text = style.paint(
                Role::Bad,
                "the execution diverged, so the failure is neither confirmed nor refuted",
            );
            text.push_str(&format!("\n  run {}, step {}: ", grouped(*run), grouped(step + 1)));
            text.push_str(&clean(what));
            let around = format!("{}..{}", step.saturating_sub(5) + 1, step + 1);
            let command = format!("heddle show --steps {around} {}", quote(path));
            text.push_str("\n\n");
            text + &next_commands::render(&[(command, "the recording up to this step")], style)
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
        Replayed::Same { failure: Some(failure), times: ran, .. }
            if *ran > 0 && failure.kind == FailureKind::Satisfied =>
        {
            Status::Satisfied
        }
        Replayed::Same { failure: Some(_), times: ran, .. } if *ran > 0 => Status::Bug,
        Replayed::Same { times: ran, .. } if interrupted && *ran < times => Status::Interrupted,
        Replayed::Same { .. } => Status::Fine,
        Replayed::Diverged { .. } => Status::Target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_replay_that_diverges_confirms_nothing() {
        let style = Style { color: false, ascii: true };
        let what = "T1 reads x. Something outside of the schedule has changed".to_owned();
        let replayed = Replayed::Diverged { run: 1, step: 9, what };
        assert_eq!(
            text(&replayed, &samples::assertion(), 1, "a.heddle", &style),
            "the execution diverged, so the failure is neither confirmed nor refuted\n  run 1, step 10: \
             T1 reads x. Something outside of the schedule has changed\n\nNext\n  heddle show --steps \
             5..10 a.heddle   the recording up to this step\n"
        );
    }
}
