//! Looking ahead: what may become of a schedule from here on.
//!
//! As an execution costs microseconds, the answer is found by running: all schedules where there are
//! few; else those with the fewest preemptions, for the nearest failure, and a random sample, for the
//! share that fails.

use crate::command::searching;
use crate::worker::{Event, Worker};
use crate::{Error, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::Choice;
use traces::wire::{Found, Job, News, Plan};

/// Up to so many preemptions the nearest failure is looked for.
const FARTHEST: u32 = 3;

/// The failure that takes the fewest preemptions from a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// How many preemptions it takes from there.
    pub preemptions: u32,
    /// The whole schedule, the beginning included.
    pub choices: Vec<Choice>,
}

/// What lies ahead of a position.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ahead {
    /// Executions that the share is of: all there are where `exhausted`, else a random sample.
    pub executions: u64,
    /// How many of them failed.
    pub failing: u64,
    /// Whether every schedule from here was run.
    pub exhausted: bool,
    /// All schedules with at most so many preemptions from here were run and none failed.
    pub safe_up_to: Option<u32>,
    /// The nearest failure, if one was found.
    pub nearest: Option<Nearest>,
}

struct Looked {
    executions: u64,
    failing: u64,
    complete: bool,
    first: Option<Found>,
}

pub(super) fn look(
    target: &Target,
    options: &SearchOptions,
    prefix: &[Choice],
    budget: u64,
    interrupt: &AtomicBool,
) -> Result<Ahead, Error> {
    let search = |plan: Plan, stop_at_first: bool| {
        let prefix = prefix.to_vec();
        let job = Job { prefix, last: budget, stop_at_first, ..searching(options, plan) };
        run(target, job, options, interrupt)
    };
    let dfs = |bound| Plan::Dfs { bound };
    let mut ahead = Ahead::default();
    let all = search(dfs(None), false)?;
    ahead.exhausted = all.complete;
    if all.complete {
        (ahead.executions, ahead.failing) = (all.executions, all.failing);
        if all.failing == 0 {
            return Ok(ahead);
        }
    }
    for bound in 0..=FARTHEST {
        let some = search(dfs(Some(bound)), true)?;
        if let Some(found) = some.first {
            ahead.nearest = Some(Nearest { preemptions: bound, choices: found.choices });
            break;
        }
        if !some.complete {
            break;
        }
        ahead.safe_up_to = Some(bound);
    }
    if !all.complete {
        let sample = search(Plan::Random { seed: options.seed }, false)?;
        (ahead.executions, ahead.failing) = (sample.executions, sample.failing);
        if ahead.nearest.is_none()
            && let Some(found) = sample.first
        {
            // How near it is nobody knows, but it is one.
            ahead.nearest = Some(Nearest { preemptions: u32::MAX, choices: found.choices });
        }
    }
    Ok(ahead)
}

fn run(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Looked, Error> {
    let mut first = None;
    let mut worker = Worker::start(target, job, options.spin_after)?;
    loop {
        match worker.wait(interrupt)? {
            Event::News(News::Found(found)) => first = first.or(Some(found)),
            Event::News(News::Diverged { .. } | News::Learned { .. })
            | Event::Tick
            | Event::Parked
            | Event::Idle => {}
            // A process that a program took with it has counted as far as it came.
            Event::Done | Event::Died(_) => break,
        }
    }
    let header = worker.channel().header();
    let holes = header.diverged.load(Relaxed) + header.cut.load(Relaxed);
    Ok(Looked {
        executions: header.executions.load(Relaxed),
        failing: header.failing.load(Relaxed),
        complete: header.complete.load(Relaxed) != 0 && holes == 0,
        first,
    })
}
