//! `heddle run`.

use super::runtime::{of_options, warn_of_unused_input};
use crate::cli::arguments::RunArgs;
use crate::cli::config_file;
use crate::cli::settings::Settings;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::json_output::json;
use crate::report::search::empty_report;
use crate::report::summary;
use crate::report::text::{clean, count};
use replay_core::{Observed, WorkingFiles, store};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;
use traces::points::InstrumentationGap;
use traces::report::{Bug, Report, Verdict};
use traces::{Failure, FailureKind, Trace};

/// Runs the verb.
///
/// # Errors
/// If the options are invalid, the program cannot be run under control, or the trace cannot be
/// written.
pub fn main(args: RunArgs, console: &Console) -> Result<Status, Problem> {
    let mut settings = Settings::run(&args.search, config_file::load(Path::new("."))?)?;
    if let Some(time) = args.spin_after {
        settings.options.spin_after = time;
    }
    // Of a test that passes in its first run only the threads and the output count.
    settings.options.names = !args.search.program.is_listed;
    let interrupted = interrupt::flag();
    let began = Instant::now();
    let run = || -> Result<(Trace, Observed), Problem> {
        let target = of_options(&args.command, &args.search.program, console)?;
        warn_of_unused_input(console);
        let mut line = Line::new(console, false);
        // Only the execution that the user asked for may leave anything behind.
        let options = replay_core::predicates::compile(&target, &settings.options, &interrupted)?;
        let options = replay_core::record_clients(&target, &options, &interrupted)?;
        let options = match args.learn {
            true => replay_core::learn(&target, &options, &interrupted, &mut line)?,
            false => options,
        };
        let files = WorkingFiles::new(settings.files.unwrap_or_default());
        Ok(replay_core::run_once(&target, &files, &options, &interrupted, &mut line)?)
    };
    let (trace, observed) = match run() {
        Ok(done) => done,
        Err(problem) if settings.json && problem.status() == Status::Target => {
            let report =
                empty_report(Verdict::Error, settings.options.strategy.name(), problem.to_string());
            console.print(&json(&report))?;
            return Err(problem);
        }
        Err(problem) => return Err(problem),
    };
    let save = || -> Result<String, Problem> {
        Ok(store::save(&trace, &settings.options.out, "run")?.display().to_string())
    };
    if settings.json {
        let mut report = report(&trace, &observed, settings.options.strategy.name(), save()?);
        report.elapsed_s = began.elapsed().as_secs_f64();
        console.print(&json(&report))?;
    } else {
        console.print_bytes(observed.output.as_deref().unwrap_or(&trace.output))?;
        console.note(&summary::outcome(&trace, &console.messages));
        findings(&observed).for_each(|line| console.note(&line));
        notes(&trace, &observed).iter().for_each(|note| console.note(&format!("note: {note}")));
        // Print the outcome before saving the trace, which may fail.
        console.note(&format!("trace {}", save()?));
    }
    Ok(match &trace.failure {
        Some(failure) if failure.kind == FailureKind::Unsupported => Status::Target,
        Some(failure) if failure.kind == FailureKind::Satisfied => Status::Satisfied,
        Some(_) => Status::Bug,
        None if interrupted.load(Ordering::Relaxed) => Status::Interrupted,
        None => Status::Fine,
    })
}

/// What the execution shows besides its outcome.
fn findings(observed: &Observed) -> impl Iterator<Item = String> {
    observed.findings.iter().map(|found| format!("{}: {}", found.kind, clean(&found.as_warning())))
}

/// What the trace does not show, and how to change that.
fn notes(trace: &Trace, observed: &Observed) -> Vec<String> {
    let mut notes = Vec::new();
    if observed.conflicting > 0 && !observed.has_points {
        notes.push(format!(
            "memory accesses at {} conflict and are not steps of this trace: learn them first (--learn)",
            count(observed.conflicting, "instruction")
        ));
    }
    if observed.may_need_points(trace) {
        notes.push(
            "waits in loops and races are seen at conflicting accesses, which were not learned, so that \
             the outcome may be another one with them: learn them first (--learn)"
                .to_owned(),
        );
    }
    let gaps = InstrumentationGap::among(observed.unseen);
    let large = gaps.filter(|gap| *gap == InstrumentationGap::Large);
    notes.extend(large.map(|gap| gap.describe().to_owned()));
    notes
}

/// The report of one execution. Its verdict is never `clean`, since other schedules may fail.
fn report(trace: &Trace, observed: &Observed, strategy: &str, path: String) -> Report {
    let execution = &trace.execution;
    let verdict = match &trace.failure {
        Some(failure) if failure.kind == FailureKind::Unsupported => Verdict::Unsupported,
        Some(failure) if failure.kind == FailureKind::Satisfied => Verdict::Satisfied,
        Some(_) => Verdict::Bug,
        None => Verdict::Incomplete,
    };
    let reason = match (&verdict, &trace.failure) {
        (Verdict::Incomplete, _) => "one execution, not a search".to_owned(),
        (Verdict::Unsupported, Some(failure)) => failure.message.clone(),
        _ => String::new(),
    };
    let mut report = empty_report(verdict, strategy, reason);
    report.executions = 1;
    report.classes = 1;
    report.distinct = 1;
    report.reset.clone_from(&trace.header.options.reset);
    let of_kind = |kind: FailureKind| {
        let found = observed.findings.iter().filter(|found| found.kind == kind);
        found.map(Failure::as_warning).collect()
    };
    report.races = of_kind(FailureKind::Race);
    report.left_held = of_kind(FailureKind::LockLeftHeld);
    report.points.new = observed.conflicting;
    report.notes = notes(trace, observed);
    report.threads = execution.tasks.len() as u64;
    report.max_steps = execution.steps.len() as u64;
    let is_found = matches!(verdict, Verdict::Bug | Verdict::Satisfied);
    if let Some(failure) = trace.failure.as_ref().filter(|_| is_found) {
        report.found_by = Some(strategy.to_owned());
        let found = match verdict {
            Verdict::Satisfied => &mut report.satisfied,
            _ => &mut report.bugs,
        };
        found.push(Bug {
            kind: failure.kind,
            signature: failure.signature.clone(),
            message: failure.message.clone(),
            site: failure.place.clone(),
            stack: failure.own_stack(),
            trace: Some(path),
            found_at: 1,
            preemptions: execution.preemptions().len() as u64,
            switches: execution.switches() as u64,
            steps: execution.steps.len() as u64,
            count: 1,
        });
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_trace_does_not_show_is_noted_with_what_to_do() {
        let large = InstrumentationGap::Large as u64;
        let observed = Observed { conflicting: 2, unseen: large, ..Observed::default() };
        let expected = [
            "memory accesses at 2 instructions conflict and are not steps of this trace: learn them first \
             (--learn)",
            "the program has much code, so its one execution observed no memory accesses: learn them first \
             (--learn)",
        ];
        assert_eq!(notes(&Trace::default(), &observed), expected);
        let with_points = Observed { has_points: true, unseen: 0, ..observed };
        assert!(notes(&Trace::default(), &with_points).is_empty());
    }

    #[test]
    fn one_execution_is_never_clean() {
        let report = report(&Trace::default(), &Observed::default(), "default", "t".into());
        assert_eq!(report.verdict, Verdict::Incomplete);
        assert!(!report.reason.is_empty());
    }
}
