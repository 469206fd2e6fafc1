//! From a failing schedule to the smallest one that fails in the same way: with the fewest
//! preemptions, then the fewest switches, then the fewest steps.
//!
//! As an execution costs microseconds, the fewest preemptions are found by running everything with
//! 0, with 1, with 2 preemptions, as CHESS bounds its search (Musuvathi and Qadeer, "Iterative
//! Context Bounding for Systematic Testing of Multithreaded Programs", 2007): the first bound that
//! holds the failure is the minimum, and that is a proof; where all schedules of that bound were run,
//! too, so are the fewest switches and steps. Where a bound holds too many schedules to run them all,
//! what is left is taken away piece by piece, until nothing that is tried makes the schedule smaller,
//! those are looked through that are close to the default schedule, and a local search
//! ([`search::near`]) changes it here and there: the report says which of these it was. Of long
//! executions there are always too many; there one of each order of dependent operations
//! ([`search::bounded`]) is as good as all, as far as it is known what depends on what: random walks
//! check that ([`search::checked`]), and the report says that it was so.

mod candidates;
mod coarse;
mod quiet;
mod reduce;

use crate::walk::{Among, Bounded, Schedules, Walk, Walked};
use crate::{Error, Target};
use reduce::Best;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::{Choice, Execution, FailureKind, Trace};

/// How small a schedule is: preemptions, switches, steps. Compared in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size {
    /// Switches away from a task that could have gone on.
    pub preemptions: usize,
    /// All switches.
    pub switches: usize,
    /// Steps.
    pub steps: usize,
}

impl Size {
    /// Of an execution.
    #[must_use]
    pub fn of(execution: &Execution) -> Size {
        Size {
            preemptions: execution.preemptions().len(),
            switches: execution.switches(),
            steps: execution.steps.len(),
        }
    }
}

/// What was run of the schedules within a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// Every one.
    Schedules,
    /// One at least of each order of dependent operations; random ones met no other order.
    Orders,
}

/// What is known of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// All schedules with fewer preemptions were looked through, and none fails so.
    Proved {
        /// In which way.
        ran: Ran,
        /// How many were run for that.
        executions: u64,
        /// Whether every schedule with as many was run, too, so that none has fewer switches, or as
        /// many and fewer steps.
        wholly: bool,
    },
    /// Nothing that was tried makes it smaller; schedules with fewer preemptions are too many to
    /// run them all.
    Tried {
        /// All schedules with at most so many preemptions were run.
        below: Option<u32>,
    },
    /// It was interrupted: this is the best so far.
    Interrupted,
}

/// What came of shrinking.
#[derive(Debug)]
pub struct Shrunk {
    /// The smallest schedule that fails in the same way.
    pub trace: Trace,
    /// Its size before.
    pub from: Size,
    /// And now.
    pub to: Size,
    /// What is known of it.
    pub proof: Proof,
}

/// What keeps a trace from being shrunk.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// It does not fail.
    #[error("the trace does not fail: there is nothing to shrink")]
    Passes,
    /// It did not come again.
    #[error("the failure did not come again ({0}): only what can be reproduced can be shrunk")]
    NotReproduced(String),
    /// The program cannot be run.
    #[error(transparent)]
    Core(#[from] Error),
}

/// Is told how it goes.
pub trait Watch {
    /// The smallest so far, and what is being tried.
    fn progress(&mut self, size: Size, trying: &str);
}

/// Steps that may be spent on one bound: some seconds.
const STEPS: u64 = 50_000_000;
/// Executions of more steps are long.
const LONG: usize = 2000;

/// Executions that may be spent on one bound.
pub const BUDGET: u64 = 200_000;

/// Shrinks a failing trace of `program`.
///
/// # Errors
/// [`Refused`], with the reason.
pub fn shrink(
    program: &impl Schedules,
    trace: &Trace,
    budget: u64,
    interrupt: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<Shrunk, Refused> {
    let wanted = trace.failure.as_ref().ok_or(Refused::Passes)?.signature.clone();
    let trace = reproduce(program, trace, &wanted)?;
    let from = Size::of(&trace.execution);
    let mut best = Best { program, size: from, trace, wanted: &wanted, interrupt, watch };
    // Every later run is the shorter for it; where they are short anyway, all of few preemptions are
    // sooner run than many one by one.
    let long = from.steps > LONG;
    let ran = if long { Ran::Orders } else { Ran::Schedules };
    if long {
        best.look_close(1, (STEPS / from.steps as u64).min(budget))?;
        best.shed_many()?;
    }
    let budget = budget.min(STEPS / best.size.steps.max(1) as u64).max(1);
    let mut below = None;
    let mut executions = 0;
    let mut proof = None;
    for bound in 0..=best.size.preemptions as u32 {
        if bound as usize == best.size.preemptions && best.size.steps > LONG {
            // All with fewer were run. Another with as many may have fewer switches; to look for it
            // among those of a long execution takes longer than it is worth.
            proof = Some(Proof::Proved { ran, executions, wholly: false });
            break;
        }
        best.watch.progress(best.size, &format!("every schedule with {bound} preemptions"));
        let among = if long { Among::Orders(bound) } else { Among::Preemptions(bound) };
        let Bounded { found, complete, executions: more } =
            program.smallest(&among, budget, &wanted, interrupt)?;
        if let Some(found) = found {
            // The first bound that holds it: fewer are not enough.
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
            best.shed_many()?;
        }
        best.shed_one_by_one()?;
    }
    if proof.is_none() {
        let budget = (STEPS / best.size.steps.max(1) as u64 / 5).clamp(1, budget);
        best.look_closely(below.map_or(0, |below| below + 1), budget)?;
        // In a long one there is too much to be changed for how often it can be run.
        if !long {
            best.wander(budget)?;
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

/// Runs the trace twice; the recording of the second.
pub(crate) fn reproduce(
    program: &impl Schedules,
    trace: &Trace,
    wanted: &str,
) -> Result<Trace, Refused> {
    let mut last = None;
    for _ in 0..2 {
        let choices: Vec<Choice> = trace.execution.choices().collect();
        match program.run(choices, &AtomicBool::new(false))? {
            Walked::Ran(now) => match &now.failure {
                Some(failure) if failure.signature == wanted => last = Some(*now),
                Some(failure) => {
                    return Err(Refused::NotReproduced(format!(
                        "it failed in another way: {}",
                        failure.message
                    )));
                }
                None => return Err(Refused::NotReproduced("it passed".into())),
            },
            Walked::Impossible { step, what } => {
                return Err(Refused::NotReproduced(format!("at step {}: {what}", step + 1)));
            }
            Walked::Died(how) => return Err(Refused::NotReproduced(how)),
            Walked::Interrupted => return Err(Refused::NotReproduced("interrupted".into())),
        }
    }
    last.ok_or_else(|| Refused::NotReproduced("it was not run".into()))
}

/// For the program of a trace.
#[must_use]
pub fn walk_for(target: Target, trace: &Trace) -> Walk {
    let steps = trace.execution.steps.len() as u64;
    let mut options = crate::SearchOptions {
        max_steps: trace.header.options.max_steps.max(2 * steps + 1000),
        ..crate::SearchOptions::default().with_points_of(trace)
    };
    if trace.failure.as_ref().is_some_and(|failure| failure.kind == FailureKind::Spin) {
        // It is known to: no need to wait long each time.
        options.spin_after = crate::options::SPINS_AGAIN_AFTER;
    }
    Walk::new(target, options)
}
