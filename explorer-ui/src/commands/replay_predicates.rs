//! `heddle replay --predicates`: whether what a trace was searched for can still happen in the program as it
//! is now.

use super::explore::status;
use super::trace_program::TraceProgram;
use crate::cli::arguments::ReplayArgs;
use crate::console::Console;
use crate::exit::{Problem, Status};
use crate::interrupt;
use crate::progress::Line;
use crate::report::json_output::json;
use crate::report::search;
use crate::report::text::{clean, count};
use replay_core::{SearchOptions, StrategyChoice, store};
use traces::points::{Granularity, StartPoint};
use traces::predicate::{Predicate, Purpose};
use traces::report::{PredicateResult, Report, Verdict};

/// The most executions that hold threads at the sites.
const HELD: u64 = 2_000;
/// The most executions of a search of all schedules.
const ALL: u64 = 50_000;

/// Searches the present program for the predicates and conditions that the trace contains.
///
/// # Errors
/// If the trace has none, or the program cannot be run.
pub(super) fn main(args: &ReplayArgs, console: &Console) -> Result<Status, Problem> {
    let loaded = store::load(&args.trace)?;
    let recorded = &loaded.trace.header.options;
    let name = clean(&args.trace.display().to_string());
    let of = |purpose: Purpose| -> Vec<String> {
        let own = recorded.predicates.iter().filter(|one| one.purpose == purpose);
        own.map(as_typed).collect()
    };
    let (when, always, never) = (of(Purpose::Satisfy), of(Purpose::Always), of(Purpose::Never));
    if when.is_empty() && always.is_empty() && never.is_empty() {
        return Err(Problem::Usage(format!(
            "{name}: the trace has no predicates; those of --when, --always and --never are recorded with it"
        )));
    }
    let program = TraceProgram { trace: &args.trace, yes: args.yes, command: &args.command };
    let target = program.current(&loaded, console)?;
    let points = Granularity::from_name(&recorded.points).filter(|&it| it != Granularity::Api);
    let options = SearchOptions {
        strategy: if when.is_empty() { StrategyChoice::AUTO } else { StrategyChoice::WHEN },
        max_executions: Some(HELD),
        points: points.unwrap_or(Granularity::Racy),
        spurious: recorded.spurious,
        main_last: recorded.main_last,
        reuse: recorded.reuse,
        short_counts: recorded.short_counts,
        slack: recorded.slack,
        clients: recorded.clients.clone(),
        begin_at: match recorded.start_at {
            None => String::new(),
            Some(StartPoint::Idle) => "idle".to_owned(),
            Some(StartPoint::Site) => of(Purpose::Start).concat().replacen("*@", "", 1),
        },
        keep_going: true,
        when,
        always,
        never,
        ..SearchOptions::default()
    };
    let interrupted = interrupt::flag();
    let options = replay_core::predicates::compile(&target, &options, &interrupted)?;
    let search = |options: &SearchOptions| {
        let mut line = Line::new(console, false);
        replay_core::explore(&target, options, &interrupted, &mut line)
    };
    let mut report = search(&options)?;
    let is_open = |report: &Report| {
        report.predicates.iter().any(|one| one.result != PredicateResult::Satisfied)
            || report.verdict == Verdict::Incomplete
    };
    if is_open(&report) && report.bugs.is_empty() {
        // Only a search of all schedules shows that there is none.
        let all = SearchOptions {
            strategy: StrategyChoice::DPOR,
            max_executions: Some(ALL),
            ..options.clone()
        };
        let complete = search(&all)?;
        if complete.complete || report.satisfied.is_empty() {
            report = complete;
        }
    }
    if args.json {
        console.print(&json(&report))?;
    } else {
        let met = report.satisfied.len() as u64;
        let summary = match report.verdict {
            Verdict::Satisfied => format!("{} can still be satisfied\n\n", count(met, "predicate")),
            _ => String::new(),
        };
        console.print(&(summary + &search::render(&report, &console.style)))?;
    }
    Ok(status(&report, &interrupted))
}

/// The predicate as the user wrote it.
fn as_typed(predicate: &Predicate) -> String {
    let text = match predicate.purpose {
        Purpose::Satisfy | Purpose::Note => None,
        Purpose::Always => predicate.text.strip_prefix("always "),
        Purpose::Never => predicate.text.strip_prefix("never "),
        Purpose::Through => predicate.text.strip_prefix("through "),
        Purpose::Visit => predicate.text.strip_prefix("visit "),
        Purpose::Start => predicate.text.strip_prefix("start "),
    };
    text.unwrap_or(&predicate.text).to_owned()
}
