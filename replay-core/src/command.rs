//! The commands: explore, run, replay.

mod explore;
mod learn;
mod replay;

pub use explore::explore;
pub use learn::learn;
pub use replay::replay;
pub(crate) use replay::{as_recorded, held};

use crate::worker::{Event, Worker};
use crate::{Error, SearchOptions, StrategyName, Target, capture};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::points::Scope;
use traces::trace::Options;
use traces::wire::{Found, Job, News, Plan, Reset};
use traces::{Choice, Trace};

/// One controlled execution, recorded: the first of the strategy.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn run(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Trace, Error> {
    match first_of(target, options, interrupt)? {
        Once::Recorded(trace) => Ok(*trace),
        Once::Diverged { what, .. } => Err(Error::Runtime(what)),
        Once::Died { how, .. } => Err(Error::Runtime(format!(
            "{} died before it could say why: {how}",
            target.program.display()
        ))),
        Once::Interrupted => Err(Error::Runtime("interrupted".into())),
    }
}

/// The first execution of the strategy, recorded.
pub(crate) fn first_of(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Once, Error> {
    let job = Job { plan: plan(options), prefix: options.prefix.clone(), ..single(options) };
    once(target, job, options, interrupt)
}

/// The strategy for the runtime.
fn plan(options: &SearchOptions) -> Plan {
    match options.strategy {
        StrategyName::Default => Plan::Default,
        StrategyName::Random => Plan::Random { seed: options.seed },
        StrategyName::Sticky(weight) => Plan::Sticky { seed: options.seed, weight },
        StrategyName::Pct(depth) => Plan::Pct { seed: options.seed, depth },
        StrategyName::Pos => Plan::Pos { seed: options.seed },
        StrategyName::Icb => Plan::Icb { bound: options.bound },
        StrategyName::Delay => Plan::Delay { bound: options.bound },
        StrategyName::Dpor => Plan::Dpor { bound: options.bound },
        StrategyName::Surw => Plan::Surw { seed: options.seed },
        StrategyName::Feedback => Plan::Feedback { seed: options.seed },
        StrategyName::Hapset(walks) => {
            Plan::Hapset { seed: options.seed, walks, bound: options.bound }
        }
        StrategyName::Directed => Plan::Directed,
        StrategyName::Auto => Plan::Auto { seed: options.seed },
        StrategyName::Dfs => Plan::Dfs { bound: options.bound },
    }
}

/// How many executions are compared with a fork's before memory reset is trusted.
const CHECKS: u32 = 8;

/// What a trace keeps of the options.
fn kept(options: &SearchOptions, reset: Reset) -> Options {
    Options {
        strategy: options.strategy.name().to_owned(),
        seed: options.seed,
        points: options.points.name().to_owned(),
        reset: reset_name(reset).to_owned(),
        max_steps: options.max_steps,
        learned: options.learned.clone(),
        race: options.race,
        max_memory: options.max_memory,
        spurious: options.spurious,
        changes: options.changes.clone(),
    }
}

/// As on the command line.
pub(crate) fn reset_name(reset: Reset) -> &'static str {
    match reset {
        Reset::Memory => "memory",
        Reset::Fork => "fork",
        Reset::Exec => "exec",
    }
}

/// A job for one execution that is recorded in full and looked at when it ends.
fn single(options: &SearchOptions) -> Job {
    Job {
        prefix: Vec::new(),
        plan: Plan::Default,
        // One execution needs no way back.
        reset: Reset::Exec,
        tracking: options.tracking,
        first: 1,
        last: 1,
        stop_at_first: true,
        max_steps: options.max_steps,
        all_steps: u64::MAX,
        full: true,
        park: true,
        shared: false,
        pioneer: true,
        checks: 0,
        visits: false,
        fail_on: options.fail_on.iter().map(|kind| kind.code()).collect(),
        points: options.points,
        store_buffers: false,
        probing: options.probing,
        learned: options.learned.clone(),
        learn: false,
        lesson: None,
        race: options.race,
        memory: options.max_memory,
        spurious: options.spurious,
        scope: Scope::default(),
        watch: None,
        changes: options.changes.clone(),
    }
}

/// A job for executions without end, none of which is recorded in full.
pub(crate) fn searching(options: &SearchOptions, plan: Plan) -> Job {
    Job {
        plan,
        reset: options.reset.unwrap_or(Reset::Memory),
        last: u64::MAX,
        stop_at_first: false,
        full: false,
        park: false,
        checks: CHECKS,
        ..single(options)
    }
}

/// What came of one execution.
pub(crate) enum Once {
    /// It was recorded.
    Recorded(Box<Trace>),
    /// It was not the one to be followed.
    Diverged {
        /// From which step on.
        step: u64,
        /// How.
        what: String,
    },
    /// The process was gone before it could be looked at.
    Died {
        /// How it ended.
        how: String,
    },
    /// The user had enough.
    Interrupted,
}

/// Runs a job of one execution.
fn once(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Once, Error> {
    match attempt(target, job.clone(), options, interrupt)? {
        Ok(once) => Ok(once),
        // What happened to a block before is kept only when it is known which one it is.
        Err(block) => {
            let job = Job { watch: Some(block), ..job };
            Ok(attempt(target, job, options, interrupt)?.unwrap_or(Once::Interrupted))
        }
    }
}

/// The same, or the block of the heap that the failure is about, where it was not watched.
fn attempt(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Result<Once, u64>, Error> {
    let mut found: Option<Found> = None;
    let mut diverged = None;
    let watched = job.watch;
    let mut worker = Worker::start(target, job, options.spin_after)?;
    loop {
        match worker.wait(interrupt)? {
            Event::News(News::Found(news)) => found = Some(news),
            Event::News(News::Diverged { step, what, .. }) => diverged = Some((step, what)),
            // Who has had enough waits no longer than the worker does.
            Event::News(News::Learned { .. }) | Event::Tick => {}
            Event::Idle if interrupt.load(Relaxed) => return Ok(Ok(Once::Interrupted)),
            Event::Idle => {}
            Event::Parked => {
                if let Some((step, what)) = diverged {
                    return Ok(Ok(Once::Diverged { step, what }));
                }
                let block = found.as_ref().and_then(|found| found.block);
                if let (Some(block), None) = (block, watched) {
                    return Ok(Err(block));
                }
                let Some(pid) = worker.execution_pid() else {
                    return Ok(Ok(Once::Died { how: "its process could not be found".into() }));
                };
                let options = kept(options, Reset::Exec);
                let channel = worker.channel();
                let trace = match capture::capture(target, channel, pid, found.as_ref(), options) {
                    Ok(trace) => trace,
                    // Somebody may end it while it is looked at.
                    Err(error) => return Ok(Ok(Once::Died { how: error.to_string() })),
                };
                worker.channel().resume();
                return Ok(Ok(Once::Recorded(Box::new(trace))));
            }
            Event::Done => return Ok(Ok(Once::Interrupted)),
            Event::Died(_) if worker.is_stopping() => return Ok(Ok(Once::Interrupted)),
            Event::Died(how) => return Ok(Ok(Once::Died { how })),
        }
    }
}

/// Runs a schedule once more and records everything about it.
pub(crate) fn record_again(
    target: &Target,
    choices: Vec<Choice>,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Once, Error> {
    let plan = Plan::Replay { choices, expected: Vec::new() };
    once(target, Job { plan, ..single(options) }, options, interrupt)
}
