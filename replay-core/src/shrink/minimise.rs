//! From a failing schedule to the smallest one that fails in the same way: with the fewest
//! preemptions, then the fewest switches, then the fewest steps.
//!
//! An execution takes microseconds, so the fewest preemptions are found by running all schedules
//! with 0, 1, 2, ... preemptions, as CHESS bounds its search (Musuvathi and Qadeer, "Iterative
//! Context Bounding for Systematic Testing of Multithreaded Programs", 2007). The first bound that
//! contains the failure is proved to be the minimum. If all schedules of that bound were run, the
//! numbers of switches and steps are proved to be minimal too.
//!
//! If a bound has too many schedules to run them all, parts of the schedule are removed one by one
//! until no removal keeps the failure; then schedules close to the default schedule are searched;
//! then a local search ([`search::strategy::local_search`]) mutates the schedule. The report says
//! which of these applied.
//!
//! Long executions always have too many schedules. For them, one schedule of each order of
//! dependent operations ([`search::strategy::bounded_dpor`]) is equivalent to all, provided that
//! the dependences are known; random walks verify this ([`search::strategy::checked_dpor`]), and
//! the report mentions it.

use super::Size;
use super::outcome::{Enumerated, ProgressObserver, Proof, Refused, Shrunk};
use super::reduce::Best;
use crate::Target;
use crate::control::runner::{RunOutcome, RunSchedules, Runner, ScheduleSet, Smallest};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Trace};

/// The most steps to spend on one bound: a few seconds.
const STEPS: u64 = 50_000_000;
/// Executions with more steps than this are long.
const LONG: usize = 2000;

/// The most executions to spend on one bound.
pub const BUDGET: u64 = 200_000;

/// Shrinks a failing trace of `program`.
///
/// # Errors
/// [`Refused`], with the reason.
pub fn shrink(
    program: &impl RunSchedules,
    trace: &Trace,
    budget: u64,
    interrupt: &AtomicBool,
    watch: &mut dyn ProgressObserver,
) -> Result<Shrunk, Refused> {
    let wanted = trace.failure.as_ref().ok_or(Refused::Passes)?.signature.clone();
    let trace = reproduce(program, trace, &wanted)?;
    let from = Size::of(&trace.execution);
    let mut best = Best { program, size: from, trace, wanted: &wanted, interrupt, watch };
    // Shortens every later run. Short executions skip it: running all schedules with few
    // preemptions is faster than removing parts one by one.
    let long = from.steps > LONG;
    let ran = if long { Enumerated::Orders } else { Enumerated::Schedules };
    if long {
        best.try_departures(1, (STEPS / from.steps as u64).min(budget))?;
        best.remove_many_switches()?;
    }
    let budget = budget.min(STEPS / best.size.steps.max(1) as u64).max(1);
    let mut below = None;
    let mut executions = 0;
    let mut proof = None;
    for bound in 0..=best.size.preemptions as u32 {
        if bound as usize == best.size.preemptions && best.size.steps > LONG {
            // All schedules with fewer preemptions were run. Another one with as many may have
            // fewer switches, but searching for it takes too long for a long execution.
            proof = Some(Proof::Proved { ran, executions, wholly: false });
            break;
        }
        best.watch.progress(best.size, &format!("every schedule with {bound} preemptions"));
        let among = if long { ScheduleSet::Orders(bound) } else { ScheduleSet::Preemptions(bound) };
        let Smallest { found, complete, executions: more } =
            program.smallest(&among, budget, &wanted, interrupt)?;
        if let Some(found) = found {
            // The first bound that contains the failure: fewer preemptions are not enough.
            best.offer(found);
            proof = Some(Proof::Proved { ran, executions, wholly: complete && !long });
            break;
        }
        if !complete {
            break;
        }
        executions += more;
        below = Some(bound);
    }
    if !matches!(proof, Some(Proof::Proved { wholly: true, .. })) {
        if !long {
            best.remove_many_switches()?;
        }
        best.remove_single_switches()?;
    }
    if proof.is_none() {
        let budget = (STEPS / best.size.steps.max(1) as u64 / 5).clamp(1, budget);
        best.try_more_departures(below.map_or(0, |below| below + 1), budget)?;
        // A long execution has too many possible mutations for the number of runs.
        if !long {
            best.search_nearby(budget)?;
        }
    }
    let proof = match proof {
        _ if interrupt.load(Relaxed) => Proof::Interrupted,
        Some(proof) => proof,
        None if below == (best.size.preemptions as u32).checked_sub(1) => {
            Proof::Proved { ran, executions, wholly: false }
        }
        None => Proof::Tried { below },
    };
    Ok(Shrunk { to: best.size, trace: best.trace, from, proof })
}

/// Runs the trace twice and returns the recording of the second run.
pub(crate) fn reproduce(
    program: &impl RunSchedules,
    trace: &Trace,
    wanted: &str,
) -> Result<Trace, Refused> {
    run_again(program, trace, wanted)?;
    run_again(program, trace, wanted)
}

fn run_again(program: &impl RunSchedules, trace: &Trace, wanted: &str) -> Result<Trace, Refused> {
    let choices: Vec<Choice> = trace.execution.choices().collect();
    Err(Refused::NotReproduced(match program.run(choices, &AtomicBool::new(false))? {
        RunOutcome::Ran(now) => match &now.failure {
            Some(failure) if failure.signature == wanted => return Ok(*now),
            Some(failure) => format!("it failed in another way: {}", failure.message),
            None => "it passed".into(),
        },
        RunOutcome::Impossible { step, what } => format!("at step {}: {what}", step + 1),
        RunOutcome::Died(how) => how,
        RunOutcome::Interrupted => "interrupted".into(),
    }))
}

/// The runner for the program of a trace.
#[must_use]
pub fn runner_for(target: Target, trace: &Trace) -> Runner {
    let steps = trace.execution.steps.len() as u64;
    let options = crate::SearchOptions {
        max_steps: trace.header.options.max_steps.max(2 * steps + 1000),
        most_steps: 0,
        ..crate::SearchOptions::default().with_points_of(trace)
    };
    let options = options.expecting(trace.failure.as_ref().map(|failure| failure.kind));
    Runner::new(target, options)
}
