//! From a failing schedule to the smallest one that fails in the same way: with the fewest
//! preemptions, then the fewest switches, then the fewest steps.
//!
//! As an execution costs microseconds, the fewest preemptions are found by running everything with
//! 0, with 1, with 2 preemptions, as CHESS bounds its search (Musuvathi and Qadeer, "Iterative
//! Context Bounding for Systematic Testing of Multithreaded Programs", 2007): the first bound that
//! holds the failure is the minimum, and that is a proof. Where a bound holds too many schedules to
//! run them all, what is left is taken away piece by piece, until nothing that is tried makes the
//! schedule smaller: the report says which of the two it was.

mod candidates;
mod coarse;

use crate::walk::{Bounded, Walk, Walked};
use crate::{Error, Target};
use candidates::candidates;
use coarse::Coarse;
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

/// What is known of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Every schedule with fewer preemptions was run, and none fails so.
    Proved {
        /// How many were run for that.
        executions: u64,
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

/// More stretches than this are first taken away many at a time.
const MANY: usize = 40;
/// So many runs may be spent on that.
const MOST_TRIES: usize = 300;
/// Steps that may be spent on one bound: some seconds.
const STEPS: u64 = 50_000_000;
/// Executions of more steps are long.
const LONG: usize = 2000;

/// Executions that may be spent on one bound.
pub const BUDGET: u64 = 200_000;

/// Shrinks a failing trace of the program that `walk` runs.
///
/// # Errors
/// [`Refused`], with the reason.
pub fn shrink(
    walk: &Walk,
    trace: &Trace,
    budget: u64,
    interrupt: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<Shrunk, Refused> {
    let wanted = trace.failure.as_ref().ok_or(Refused::Passes)?.signature.clone();
    let mut best = reproduce(walk, trace, &wanted)?;
    let from = Size::of(&best.execution);
    if Coarse::of(&best.execution).len() > MANY {
        // Every later run is the shorter for it.
        coarsely(walk, &mut best, &wanted, interrupt, watch)?;
    }
    let most = Size::of(&best.execution);
    let budget = budget.min(STEPS / most.steps.max(1) as u64).max(1);
    let mut below = None;
    let mut executions = 0;
    let mut proof = None;
    for bound in 0..=most.preemptions as u32 {
        let now = Size::of(&best.execution);
        if bound as usize == now.preemptions && now.steps > LONG {
            // All with fewer were run. Another with as many may have fewer switches; to look for it
            // among those of a long execution takes longer than it is worth.
            proof = Some(Proof::Proved { executions });
            break;
        }
        let what = format!("every schedule with {bound} preemptions");
        watch.progress(Size::of(&best.execution), &what);
        let Bounded { found, complete, executions: ran } =
            walk.bounded(bound, budget, &wanted, interrupt)?;
        if let Some(found) = found {
            // The first bound that holds it: fewer are not enough.
            if Size::of(&found.execution) < Size::of(&best.execution) {
                best = found;
            }
            proof = Some(Proof::Proved { executions });
            break;
        }
        if !complete {
            break;
        }
        executions += ran;
        below = Some(bound);
    }
    // Without a proof there may be fewer preemptions still; with one, fewer switches and steps.
    reduce(walk, &mut best, &wanted, interrupt, watch)?;
    let proof = match proof {
        _ if interrupt.load(Relaxed) => Proof::Interrupted,
        Some(proof) => proof,
        None if below == (Size::of(&best.execution).preemptions as u32).checked_sub(1) => {
            Proof::Proved { executions }
        }
        None => Proof::Tried { below },
    };
    Ok(Shrunk { to: Size::of(&best.execution), trace: best, from, proof })
}

/// Runs the trace twice; the recording of the second.
pub(crate) fn reproduce(walk: &Walk, trace: &Trace, wanted: &str) -> Result<Trace, Refused> {
    let mut last = None;
    for _ in 0..2 {
        let choices: Vec<Choice> = trace.execution.choices().collect();
        match walk.run(choices, &AtomicBool::new(false))? {
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

/// Takes away as much as possible in few runs: first everything behind a beginning, then the
/// switches among half of what is left, a quarter, and so on.
fn coarsely(
    walk: &Walk,
    best: &mut Trace,
    wanted: &str,
    interrupt: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<(), Refused> {
    let mut tries = 0;
    let mut attempt = |best: &mut Trace, choices: Vec<Choice>| -> Result<bool, Refused> {
        tries += 1;
        if tries > MOST_TRIES || interrupt.load(Relaxed) {
            return Ok(false);
        }
        watch.progress(Size::of(&best.execution), "fewer switches, many at a time");
        let Walked::Ran(now) = walk.run(choices, interrupt)? else { return Ok(false) };
        let fails = now.failure.as_ref().is_some_and(|failure| failure.signature == wanted);
        let smaller = fails && Size::of(&now.execution) < Size::of(&best.execution);
        if smaller {
            *best = *now;
        }
        Ok(smaller)
    };
    loop {
        let before = Size::of(&best.execution);
        // Which beginnings fail is not monotone, but most often it is, and any will do.
        let coarse = Coarse::of(&best.execution);
        let (mut low, mut high) = (0, coarse.len());
        while low < high {
            let middle = low.midpoint(high);
            if attempt(best, coarse.beginning(middle))? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        let mut chunk = Coarse::of(&best.execution).len();
        while chunk >= 3 {
            let mut at = 0;
            loop {
                let coarse = Coarse::of(&best.execution);
                if at >= coarse.len() {
                    break;
                }
                let mut taken = false;
                for by_last in [false, true] {
                    if let Some(choices) = coarse.joined(at, at + chunk, by_last) {
                        taken = attempt(best, choices)?;
                    }
                    if taken {
                        break;
                    }
                }
                if !taken {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        if Size::of(&best.execution) == before || Coarse::of(&best.execution).len() <= MANY {
            return Ok(());
        }
    }
}

/// Takes what can be taken away, until nothing can.
fn reduce(
    walk: &Walk,
    best: &mut Trace,
    wanted: &str,
    interrupt: &AtomicBool,
    watch: &mut dyn Watch,
) -> Result<(), Refused> {
    'again: loop {
        let size = Size::of(&best.execution);
        for candidate in candidates(&best.execution) {
            if interrupt.load(Relaxed) {
                return Ok(());
            }
            watch.progress(size, "fewer switches");
            if let Walked::Ran(now) = walk.run(candidate, interrupt)?
                && now.failure.as_ref().is_some_and(|failure| failure.signature == wanted)
                && Size::of(&now.execution) < size
            {
                *best = *now;
                continue 'again;
            }
        }
        return Ok(());
    }
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
