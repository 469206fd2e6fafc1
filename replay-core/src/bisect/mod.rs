//! From a failing schedule to the order that makes the difference.
//!
//! Schedules that are like the failing one but for a piece of one task that comes earlier or later
//! are run, those first in which the fewest orders of dependent operations are turned round. The
//! nearest that passes is one half of the answer. The other is learned from all that ran: the
//! smallest set of orders that holds in every run that fails and in none that passes. So "it fails
//! exactly when this comes before that" was checked on both sides, and the report says in how many
//! runs.

mod cause;
mod kind;
mod neighbours;
mod orders;

pub use cause::{Cause, Event, Order, Shape};
pub use kind::{Kind, classify};

use crate::shrink::{Refused, reproduce};
use crate::walk::{Walk, Walked};
use neighbours::neighbours;
use orders::{Observed, Orders, interest};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Trace};

/// How many schedules are run at most.
pub const BUDGET: usize = 160;
/// Fewer where executions are long: so many steps in all, but so many schedules at least.
const STEPS: usize = 3_000_000;
const LEAST: usize = 40;
/// Executions that may be spent on finding out that every schedule fails.
const ALL: u64 = 50_000;
/// So many of them are random walks, so that not all runs look like the failing one.
const WALKS: usize = 24;

/// How the runs went that the cause was learned from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evidence {
    /// Runs with the orders of the cause that fail in this way.
    pub with_failing: usize,
    /// Runs with them that pass.
    pub with_passing: usize,
    /// Runs without them that fail in this way.
    pub without_failing: usize,
    /// Runs without them that pass.
    pub without_passing: usize,
    /// Runs that fail in another way: they say nothing.
    pub other: usize,
}

impl Evidence {
    /// Whether every run with the orders fails, and runs without them pass.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.with_passing == 0 && self.with_failing > 0 && self.without_passing > 0
    }

    /// Whether, besides, no run without them fails.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.is_enough() && self.without_failing == 0
    }
}

/// What came of it.
#[derive(Debug)]
pub struct Bisected {
    /// The failing execution, as it was run again.
    pub failing: Trace,
    /// The nearest that passes, if any was found.
    pub passing: Option<Trace>,
    /// How many orders of dependent operations are turned round in it.
    pub reversed: usize,
    /// The orders that make the difference.
    pub cause: Option<Cause>,
    /// The runs behind that.
    pub evidence: Evidence,
    /// Whether every schedule of the program was run, and each fails.
    pub always: bool,
}

/// Is told how it goes.
pub trait Watch {
    /// So many schedules were run, and so many of them pass.
    fn progress(&mut self, runs: usize, passing: usize);
}

/// Finds what makes the difference between a failing trace and the schedules near it. `known` may
/// be a schedule that passes.
///
/// # Errors
/// [`Refused`], with the reason.
pub fn bisect(
    walk: &Walk,
    trace: &Trace,
    known: Option<&Trace>,
    budget: usize,
    interrupt: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<Bisected, Refused> {
    let wanted = trace.failure.as_ref().ok_or(Refused::Passes)?.signature.clone();
    let failing = reproduce(walk, trace, &wanted)?;
    let own = failing.failure.as_ref().filter(|failure| failure.waits.is_empty());
    let interest = interest(&failing.execution);
    let steps = failing.execution.steps.len().max(1);
    let budget = budget.min((STEPS / steps).max(LEAST));
    let orders = Orders::of(&failing.execution, &interest, own.and_then(|failure| failure.task));
    let mut runs = Runs { orders, wanted: &wanted, seen: Vec::new(), nearest: None };
    runs.take(failing.clone());
    let mut others = 0;
    if let Some(known) = known
        && let Some(now) = follow(walk, known.execution.choices().collect(), interrupt)?
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
        if let Some(now) = follow(walk, choices, interrupt)? {
            others += usize::from(!runs.take(now));
        }
    }
    for seed in 0..walks as u64 {
        if interrupt.load(Relaxed) {
            break;
        }
        watch.progress(runs.seen.len(), runs.passing());
        if let Some(now) = walk.random(seed, interrupt)? {
            others += usize::from(!runs.take(now));
        }
    }
    let always = runs.nearest.is_none() && others == 0 && walk.always_fails(ALL, interrupt)?;
    if !always {
        others += runs.look_further(walk, walks as u64, budget, interrupt, watch)?;
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

/// How near a passing run is: orders turned round, preemptions, steps.
type Distance = (usize, usize, usize);

struct Runs<'a> {
    orders: Orders,
    wanted: &'a str,
    seen: Vec<Observed>,
    nearest: Option<(Distance, Trace)>,
}

impl Runs<'_> {
    /// Notes a run; false for one that fails in another way.
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

    /// Where nothing near the failing schedule passes: more random walks, up to one that does, and then
    /// what is near that. Tells how many fail in another way.
    fn look_further(
        &mut self,
        walk: &Walk,
        from: u64,
        budget: usize,
        interrupt: &AtomicBool,
        watch: &mut dyn Watch,
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
            if let Some(now) = walk.random(seed, interrupt)? {
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
            if let Some(now) = follow(walk, choices, interrupt)? {
                others += usize::from(!self.take(now));
            }
        }
        Ok(others)
    }

    fn passing(&self) -> usize {
        self.seen.iter().filter(|run| !run.fails).count()
    }
}

/// Runs some choices; where they do not fit any more, what fits of them.
fn follow(
    walk: &Walk,
    choices: Vec<Choice>,
    interrupt: &AtomicBool,
) -> Result<Option<Trace>, Refused> {
    match walk.run(choices.clone(), interrupt)? {
        Walked::Ran(now) => Ok(Some(*now)),
        Walked::Impossible { step, .. } => {
            let mut tasks = 0;
            let fitting = choices.into_iter().take_while(|choice| {
                tasks += u64::from(matches!(choice, Choice::Task(_)));
                tasks <= step
            });
            match walk.run(fitting.collect(), interrupt)? {
                Walked::Ran(now) => Ok(Some(*now)),
                _ => Ok(None),
            }
        }
        Walked::Died(_) | Walked::Interrupted => Ok(None),
    }
}
