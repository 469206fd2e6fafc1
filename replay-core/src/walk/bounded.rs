//! Looking for the smallest form of one failure among the schedules of one kind.

use super::{Walk, Walked};
use crate::Error;
use crate::command::searching;
use crate::shrink::Size;
use crate::worker::{Event, Worker};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use traces::points::Stretch;
use traces::wire::{Job, News, Plan, Probing};
use traces::{Choice, Trace};

/// Among which schedules.
#[derive(Debug, Clone)]
pub enum Among {
    /// All with at most so many preemptions.
    Preemptions(u32),
    /// One at least of each order of dependent operations that takes no more preemptions; what depends
    /// on what is checked by walks.
    Orders(u32),
    /// Those that are close to the default one.
    Departures {
        /// With at most so many decisions that are not the default's.
        most: u32,
        /// And with so many preemptions at most.
        preemptions: u32,
        /// None of them in these places.
        quiet: Vec<Stretch>,
    },
    /// Changes of a schedule that fails.
    Near {
        /// Its choices.
        choices: Vec<Choice>,
        /// Of what is changed.
        seed: u64,
    },
}

/// What came of it.
#[derive(Debug)]
pub struct Bounded {
    /// The smallest schedule that fails so, recorded.
    pub found: Option<Trace>,
    /// Whether all of them were run.
    pub complete: bool,
    /// How many were run.
    pub executions: u64,
}

/// Steps that may be spent on one bound: some seconds. Where breakpoints stand on accesses, most steps
/// are such, and each takes microseconds; and a loop that waits for another task can be gone through
/// any number of times, so that executions are far longer than the one that fails.
fn most_steps(walk: &Walk) -> u64 {
    match walk.options.probing {
        _ if walk.options.learned.sites.is_empty() => 50_000_000,
        Probing::Jumps => 5_000_000,
        Probing::Breakpoints => 500_000,
    }
}

pub(super) fn search(
    walk: &Walk,
    among: &Among,
    budget: u64,
    signature: &str,
    interrupt: &AtomicBool,
) -> Result<Bounded, Error> {
    let options = &walk.options;
    let (plan, all_steps, atomic): (_, _, &[Stretch]) = match *among {
        Among::Preemptions(bound) => (Plan::Dfs { bound: Some(bound) }, most_steps(walk), &[]),
        // What conflicts with what is found out at each step.
        Among::Orders(bound) => (Plan::Orders { bound }, most_steps(walk).min(5_000_000), &[]),
        Among::Departures { most, preemptions, ref quiet } => {
            (Plan::Departures { most, preemptions }, 30_000_000, quiet)
        }
        Among::Near { ref choices, seed } => {
            (Plan::Near { choices: choices.clone(), seed }, most_steps(walk), &[])
        }
    };
    let mut job = Job { last: budget, all_steps, ..searching(options, plan) };
    job.scope.atomic.extend_from_slice(atomic);
    let mut worker = Worker::start(&walk.target, job, options.spin_after)?;
    let mut found: Option<Trace> = None;
    let mut died = false;
    loop {
        match worker.wait(interrupt)? {
            // A failure that is known comes again where it took a smaller schedule. Which failure
            // it is, its recording tells.
            Event::News(News::Found(news)) => {
                if let Walked::Ran(trace) = walk.run(news.choices, interrupt)?
                    && trace.failure.as_ref().is_some_and(|one| one.signature == signature)
                    && found
                        .as_ref()
                        .is_none_or(|best| Size::of(&trace.execution) < Size::of(&best.execution))
                {
                    found = Some(*trace);
                    // Others of the same orders may be smaller: these say nothing of that.
                    if matches!(among, Among::Orders(_)) {
                        break;
                    }
                }
            }
            Event::News(News::Diverged { .. } | News::Learned { .. })
            | Event::Tick
            | Event::Parked
            | Event::Idle => {}
            Event::Done => break,
            Event::Died(_) => {
                died = true;
                break;
            }
        }
    }
    let header = worker.channel().header();
    let holes = header.diverged.load(Relaxed) + header.cut.load(Relaxed);
    Ok(Bounded {
        found,
        complete: header.complete.load(Relaxed) != 0 && holes == 0 && !died,
        executions: header.executions.load(Relaxed),
    })
}

/// Whether every schedule was run and each fails; no, where that is more than the budget allows.
pub(super) fn always_fails(
    walk: &Walk,
    budget: u64,
    interrupt: &AtomicBool,
) -> Result<bool, Error> {
    let options = &walk.options;
    let plan = Plan::Dfs { bound: None };
    let job = Job { last: budget, all_steps: most_steps(walk), ..searching(options, plan) };
    let mut worker = Worker::start(&walk.target, job, options.spin_after)?;
    let over = loop {
        match worker.wait(interrupt)? {
            Event::News(_) | Event::Tick | Event::Parked | Event::Idle => {
                let header = worker.channel().header();
                // The failing ones are counted first.
                let ran = header.executions.load(Acquire);
                if header.failing.load(Relaxed) < ran {
                    break false;
                }
            }
            Event::Done => break true,
            Event::Died(_) => break false,
        }
    };
    let header = worker.channel().header();
    let ran = header.executions.load(Relaxed);
    let holes = header.diverged.load(Relaxed) + header.cut.load(Relaxed);
    let whole = over && header.complete.load(Relaxed) != 0 && holes == 0;
    Ok(whole && ran > 0 && header.failing.load(Relaxed) == ran)
}
