//! From a failing schedule to the order of events that causes the failure.
//!
//! Runs schedules that differ from the failing one in the position of a stretch of one task, those
//! with the fewest reversed dependent operations first. The passing schedule nearest to the failing
//! one is one half of the answer. The other half is computed from all runs: the smallest set of
//! orders that holds in every failing run and in no passing run. So "it fails exactly if this
//! precedes that" was tested in both directions, and the report gives the numbers of runs.

use super::cause::Cause;
use super::evidence::Evidence;
use super::neighbours::neighbours;
use super::orders::{Observed, Orders, interest};
use crate::control::runner::{RunOutcome, Runner};
use crate::shrink::{Refused, reproduce};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Trace};

/// The most schedules to run.
pub const BUDGET: usize = 160;
/// Long executions get fewer runs: about this many steps in all, but at least `LEAST` schedules.
const STEPS: usize = 1_000_000;
const LEAST: usize = 40;
/// The most executions to spend on proving that every schedule fails.
const ALL: u64 = 50_000;
/// This many runs are random walks, so that not all runs resemble the failing one.
const WALKS: usize = 24;

/// The result of a bisection.
#[derive(Debug)]
pub struct Bisected {
    /// The failing execution, run again.
    pub failing: Trace,
    /// The nearest passing execution, if one was found.
    pub passing: Option<Trace>,
    /// The number of dependent operations that are reversed in it.
    pub reversed: usize,
    /// The orders that cause the failure, if they were found.
    pub cause: Option<Cause>,
    /// The runs that support the cause.
    pub evidence: Evidence,
    /// Whether every schedule of the program was run, and all fail.
    pub always: bool,
}

/// Receives the progress.
pub trait ProgressObserver {
    /// Reports the number of schedules that were run, and how many of these pass.
    fn progress(&mut self, runs: usize, passing: usize);
}

/// Finds the difference between a failing trace and schedules near it. `known` may be a passing
/// schedule.
///
/// # Errors
/// [`Refused`], with the reason.
pub fn bisect(
    runner: &Runner,
    trace: &Trace,
    known: Option<&Trace>,
    budget: usize,
    interrupt: &AtomicBool,
    watch: &mut dyn ProgressObserver,
) -> Result<Bisected, Refused> {
    let wanted = trace.failure.as_ref().ok_or(Refused::Passes)?.signature.clone();
    let failing = reproduce(runner, trace, &wanted)?;
    let own = failing.failure.as_ref().filter(|failure| failure.waits.is_empty());
    let interest = interest(&failing.execution);
    let steps = failing.execution.steps.len().max(1);
    let budget = budget.min((STEPS / steps).max(LEAST));
    let failed = own.and_then(|failure| failure.task);
    let decided = failing.steps_to_failure();
    let main_last = failing.header.options.main_last;
    let orders = Orders::of(&failing.execution, &interest, (failed, decided), main_last);
    let mut runs = Runs { orders, wanted: &wanted, seen: Vec::new(), nearest: None };
    runs.take(failing.clone());
    let mut others = 0;
    if let Some(known) = known
        && let Some(now) = follow(runner, known.execution.choices().collect(), interrupt)?
    {
        others += usize::from(!runs.take(now));
    }
    let walks = WALKS.min(budget / 4);
    let near = neighbours(&failing.execution, &interest, budget - walks);
    for (at, choices) in near.choices().enumerate() {
        if interrupt.load(Relaxed) {
            break;
        }
        watch.progress(at, runs.passing());
        if let Some(now) = follow(runner, choices, interrupt)? {
            others += usize::from(!runs.take(now));
        }
    }
    for seed in 0..walks as u64 {
        if interrupt.load(Relaxed) {
            break;
        }
        watch.progress(runs.seen.len(), runs.passing());
        if let Some(now) = runner.random(seed, interrupt)? {
            others += usize::from(!runs.take(now));
        }
    }
    let always = runs.nearest.is_none() && others == 0 && runner.always_fails(ALL, interrupt)?;
    if !always {
        others += runs.search_farther(runner, walks as u64, budget, interrupt, watch)?;
    }
    let cause = runs.orders.cause(&runs.seen);
    let mut failing = failing;
    if let Some(cause) = &cause {
        runs.orders.name_places(cause, &mut failing.execution);
    }
    let evidence = runs.orders.evidence(cause.as_ref(), &runs.seen, others);
    let (reversed, passing) = match runs.nearest {
        Some((reversed, mut passing)) => {
            passing.execution.call_like(&failing.execution);
            (reversed.0, Some(passing))
        }
        None => (0, None),
    };
    Ok(Bisected { failing, passing, reversed, cause, evidence, always })
}

/// The distance of a passing run: reversed orders, preemptions, steps.
type Distance = (usize, usize, usize);

struct Runs<'a> {
    orders: Orders,
    wanted: &'a str,
    seen: Vec<Observed>,
    nearest: Option<(Distance, Trace)>,
}

impl Runs<'_> {
    /// Adds a run; false if it fails in another way.
    fn take(&mut self, now: Trace) -> bool {
        let fails = match &now.failure {
            Some(failure) if failure.signature == self.wanted => true,
            Some(_) => return false,
            None => false,
        };
        let observed = self.orders.observe(&now.execution, fails);
        if !fails {
            let preemptions = now.execution.preemptions().len();
            let distance =
                (self.orders.reversed(&observed), preemptions, now.execution.steps.len());
            if self.nearest.as_ref().is_none_or(|(nearest, _)| distance < *nearest) {
                self.nearest = Some((distance, now));
            }
        }
        self.seen.push(observed);
        true
    }

    /// If no schedule near the failing one passes: runs random walks until one passes, and then
    /// schedules near that one. Returns how many runs fail in another way.
    fn search_farther(
        &mut self,
        runner: &Runner,
        from: u64,
        budget: usize,
        interrupt: &AtomicBool,
        watch: &mut dyn ProgressObserver,
    ) -> Result<usize, Refused> {
        if self.nearest.is_some() {
            return Ok(0);
        }
        let mut others = 0;
        for seed in from..from + budget as u64 {
            if interrupt.load(Relaxed) || self.nearest.is_some() {
                break;
            }
            watch.progress(self.seen.len(), 0);
            if let Some(now) = runner.random(seed, interrupt)? {
                others += usize::from(!self.take(now));
            }
        }
        let Some((_, passing)) = &self.nearest else { return Ok(others) };
        let passing = passing.execution.clone();
        for choices in neighbours(&passing, &interest(&passing), budget / 2).choices() {
            if interrupt.load(Relaxed) {
                break;
            }
            watch.progress(self.seen.len(), self.passing());
            if let Some(now) = follow(runner, choices, interrupt)? {
                others += usize::from(!self.take(now));
            }
        }
        Ok(others)
    }

    fn passing(&self) -> usize {
        self.seen.iter().filter(|run| !run.fails).count()
    }
}

/// Runs some choices. If they diverge, runs the prefix that fits.
fn follow(
    runner: &Runner,
    choices: Vec<Choice>,
    interrupt: &AtomicBool,
) -> Result<Option<Trace>, Refused> {
    match runner.run(choices.clone(), interrupt)? {
        RunOutcome::Ran(now) => Ok(Some(*now)),
        RunOutcome::Impossible { step, .. } => {
            let mut tasks = 0;
            let fitting = choices.into_iter().take_while(|choice| {
                tasks += u64::from(matches!(choice, Choice::Task(_)));
                tasks <= step
            });
            match runner.run(fitting.collect(), interrupt)? {
                RunOutcome::Ran(now) => Ok(Some(*now)),
                _ => Ok(None),
            }
        }
        RunOutcome::Died(_) | RunOutcome::Interrupted => Ok(None),
    }
}
