//! Looks ahead: which failures can follow a prefix of a schedule.
//!
//! An execution takes microseconds, so the answer is computed by running schedules: all of them if
//! there are few; otherwise those with few preemptions, for the nearest failure, and a random
//! sample, for the share that fails.

use super::program::Runner;
use crate::control::command::search_job;
use crate::control::worker::{Event, Worker};
use crate::{Error, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::Choice;
use traces::points::Granularity;
use traces::wire::{FoundFailure, Job, Plan, RuntimeMessage};

/// The largest number of preemptions with which the nearest failure is searched for.
const FARTHEST: u32 = 3;

/// The failure that takes the fewest preemptions from a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearestFailure {
    /// The number of preemptions after the prefix.
    pub preemptions: u32,
    /// The whole schedule, including the prefix.
    pub choices: Vec<Choice>,
}

/// The possible continuations of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LookAhead {
    /// Executions behind the share: all of them if `exhausted`, else a random sample.
    pub executions: u64,
    /// How many of these executions failed.
    pub failing: u64,
    /// Whether every schedule with this prefix was run.
    pub exhausted: bool,
    /// All schedules with at most this many preemptions after the prefix were run, and none failed.
    pub safe_up_to: Option<u32>,
    /// The nearest failure, if one was found.
    pub nearest: Option<NearestFailure>,
}

/// The counts of a search.
pub(super) struct SearchCounts {
    pub(super) executions: u64,
    pub(super) failing: u64,
    pub(super) complete: bool,
    /// Executions that diverged or were stopped: they neither passed nor failed.
    pub(super) holes: u64,
    /// Whether every memory access of every execution was observed, and showed no conflict that was
    /// not known before.
    pub(super) observed_all: bool,
    first: Option<FoundFailure>,
}

impl Runner {
    /// Looks ahead from a prefix, with at most `budget` executions for each search.
    ///
    /// # Errors
    /// If the program cannot be run or controlled.
    pub fn ahead(
        &self,
        prefix: &[Choice],
        budget: u64,
        interrupt: &AtomicBool,
    ) -> Result<LookAhead, Error> {
        look(&self.target, &self.options, prefix, budget, interrupt)
    }
}

fn look(
    target: &Target,
    options: &SearchOptions,
    prefix: &[Choice],
    budget: u64,
    interrupt: &AtomicBool,
) -> Result<LookAhead, Error> {
    let search = |plan: Plan, stop_at_first: bool| {
        let prefix = prefix.to_vec();
        let job = Job { prefix, last: budget, stop_at_first, ..search_job(options, plan) };
        run(target, job, options, interrupt)
    };
    let dfs = |bound| Plan::bounded("dfs", bound);
    let mut ahead = LookAhead::default();
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
            ahead.nearest = Some(NearestFailure { preemptions: bound, choices: found.choices });
            break;
        }
        if !some.complete {
            break;
        }
        ahead.safe_up_to = Some(bound);
    }
    if !all.complete {
        let sample = search(Plan::seeded("random", options.seed), false)?;
        (ahead.executions, ahead.failing) = (sample.executions, sample.failing);
        if ahead.nearest.is_none()
            && let Some(found) = sample.first
        {
            // The number of preemptions that this failure needs is unknown.
            ahead.nearest = Some(NearestFailure { preemptions: u32::MAX, choices: found.choices });
        }
    }
    Ok(ahead)
}

/// Runs a search to its end.
pub(super) fn run(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<SearchCounts, Error> {
    let mut first = None;
    let mut observed_all = options.points != Granularity::Api;
    let mut worker = Worker::start(target, job, options.spin_after)?;
    loop {
        match worker.wait(interrupt)? {
            Event::RuntimeMessage(RuntimeMessage::Found(found)) => first = first.or(Some(found)),
            Event::RuntimeMessage(RuntimeMessage::Learned { .. }) => observed_all = false,
            Event::RuntimeMessage(
                RuntimeMessage::Diverged { .. } | RuntimeMessage::Recorded(_),
            )
            | Event::Tick
            | Event::Parked
            | Event::Idle => {}
            // If the program killed its process, the executions counted until then are valid.
            Event::Done | Event::Held | Event::Died(_) => break,
        }
    }
    let header = worker.channel().header();
    let holes = header.diverged.load(Relaxed) + header.cut.load(Relaxed);
    let gaps = &header.instrumentation;
    observed_all &= gaps.unseen.load(Relaxed) == 0 && gaps.probes_removed.load(Relaxed) == 0;
    Ok(SearchCounts {
        executions: header.executions.load(Relaxed),
        failing: header.failing.load(Relaxed),
        complete: header.complete.load(Relaxed) != 0 && holes == 0,
        holes,
        observed_all,
        first,
    })
}
