//! Runs single executions and records them; builds the jobs for the runtime.

use crate::control::capture::{self, Shown};
use crate::control::channel;
use crate::control::ending::{ATTEMPTS, Ending};
use crate::control::worker::{Event, Worker};
use crate::symbols::{Image, async_tasks};
use crate::{Error, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use traces::points::{Learned, PreemptionScope};
use traces::trace::Options;
use traces::wire::{FoundFailure, Header, Job, Plan, Reset, RuntimeMessage};
use traces::{Choice, Failure, Trace};

/// Runs the strategy's first execution and records it.
pub(crate) fn first_of(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Outcome, Error> {
    run_single(target, first_job(options), options, interrupt)
}

/// The job of the strategy's first execution.
pub(super) fn first_job(options: &SearchOptions) -> Job {
    Job { plan: plan(options), prefix: options.prefix.clone(), ..single_job(options) }
}

/// The strategy, as the runtime takes it.
pub(crate) fn plan(options: &SearchOptions) -> Plan {
    options.strategy.plan(options.seed, options.bound)
}

/// How often a command reports its progress.
pub(crate) const PROGRESS_EVERY: Duration = Duration::from_millis(200);
/// Number of executions compared with a forked process before memory reset is trusted.
const CHECKS: u32 = 8;

/// The options that a trace stores.
pub(crate) fn trace_options(target: &Target, options: &SearchOptions, reset: Reset) -> Options {
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
        reuse: options.reuse,
        short_counts: options.short_counts,
        slack: options.slack,
        changes: options.changes.clone(),
        own_files: target.files.are_private(),
        predicates: options.predicates.clone(),
        main_last: options.main_last,
        start_at: options.start_at,
        clients: options.clients.clone(),
    }
}

/// The name on the command line.
pub(crate) fn reset_name(reset: Reset) -> &'static str {
    match reset {
        Reset::Memory => "memory",
        Reset::Fork => "fork",
        Reset::Exec => "exec",
    }
}

/// A job for one execution that is fully recorded and then parked.
pub(crate) fn single_job(options: &SearchOptions) -> Job {
    Job {
        prefix: Vec::new(),
        plan: Plan::seeded("default", 0),
        // A single execution needs no reset.
        reset: Reset::Exec,
        tracking: options.tracking,
        first: 1,
        last: 1,
        stop_at_first: true,
        max_steps: options.max_steps,
        most_steps: options.most_steps.max(options.max_steps),
        beginning: 0,
        all_steps: u64::MAX,
        full: true,
        whole_output: false,
        async_word: None,
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
        earlier_learning: None,
        observes: false,
        race: options.race,
        memory: options.max_memory,
        spurious: options.spurious,
        reuse: options.reuse,
        short_counts: options.short_counts,
        slack: options.slack,
        outside_limit: u32::try_from(options.outside_limit.as_millis()).unwrap_or(u32::MAX),
        start_at: options.start_at,
        clients: options.clients.clone(),
        live: Vec::new(),
        together: false,
        scope: PreemptionScope { main_last: options.main_last, ..PreemptionScope::default() },
        watch: None,
        changes: options.changes.clone(),
        predicates: options.predicates.clone(),
    }
}

/// A job for an unlimited number of executions, none of them fully recorded.
pub(crate) fn search_job(options: &SearchOptions, plan: Plan) -> Job {
    Job {
        plan,
        reset: reset(options),
        last: u64::MAX,
        stop_at_first: false,
        beginning: options.beginning,
        full: false,
        park: false,
        checks: CHECKS,
        live: match options.live_clients {
            true => options.client_commands.clone(),
            false => Vec::new(),
        },
        together: options.live_clients,
        ..single_job(options)
    }
}

/// The reset of a search. No memory has what the kernel knows about connections, or did up to the start of the search.
fn reset(options: &SearchOptions) -> Reset {
    let has_clients = !options.clients.is_empty() || options.live_clients;
    match options.reset {
        None | Some(Reset::Memory) if has_clients || options.start_at.is_some() => Reset::Fork,
        given => given.unwrap_or(Reset::Memory),
    }
}

/// What one execution shows besides its trace.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    /// The findings that are no failures: races, and locks that threads held when they ended.
    pub findings: Vec<Failure>,
    /// The program's output, if it is longer than a trace stores.
    pub output: Option<Vec<u8>>,
    /// The instructions that were found to conflict, and are no scheduling points of the execution.
    pub conflicting: u64,
    /// The reasons why some accesses were not observed: the bits of
    /// [`traces::points::InstrumentationGap`].
    pub unseen: u64,
    /// Whether the execution ended where a task waits in a loop, which is seen at learned points.
    pub waits: bool,
    /// Whether a task was interrupted because it ran for long without a scheduling point.
    pub interrupted: bool,
    /// Whether the execution ended at the limit on steps.
    pub cut: bool,
    /// Whether the execution had the points of an earlier learning phase.
    pub has_points: bool,
    /// Whether the execution changed anything outside of its memory that may be seen later.
    pub leaves_traces: bool,
}

impl From<&Header> for Observed {
    /// What the header of an execution that parks says.
    fn from(header: &Header) -> Observed {
        Observed {
            conflicting: header.instrumentation.fresh.load(Relaxed),
            unseen: header.instrumentation.unseen.load(Relaxed),
            waits: header.needs_points.load(Relaxed) != 0,
            interrupted: header.interrupted.load(Relaxed) != 0,
            cut: header.cut.load(Relaxed) > header.outside.load(Relaxed),
            leaves_traces: header.leaves_traces.load(Relaxed) != 0,
            ..Observed::default()
        }
    }
}

/// The outcome of one execution.
pub(crate) enum Outcome {
    /// The execution ended and was recorded.
    Recorded(Box<Trace>),
    /// The execution diverged from the schedule it had to follow.
    Diverged {
        /// The first step that differs.
        step: u64,
        /// The difference.
        what: String,
    },
    /// The process ended before it could be inspected.
    Died {
        /// How it ended.
        how: String,
        /// Whether something outside of the program ended it, at each attempt.
        from_outside: bool,
    },
    /// The user interrupted it.
    Interrupted,
}

/// Runs a job of one execution.
pub(crate) fn run_single(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Outcome, Error> {
    run_observed(target, job, options, interrupt).map(|(once, _)| once)
}

/// Runs a job of one execution, and returns what it shows besides its trace, too.
pub(super) fn run_observed(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<(Outcome, Observed), Error> {
    let image = if job.full && options.names { Image::open(&target.program) } else { None };
    let async_word = image.and_then(|image| async_tasks::word(&image));
    let job = Job { async_word, ..job };
    let mut observed = Observed::default();
    let once = match undisturbed(target, &job, options, interrupt, &mut observed)? {
        Ok(once) => once,
        // The history of a heap block is recorded only if the block is known, so run once more.
        Err(block) => {
            let job = Job { watch: Some(block), ..job };
            let again = undisturbed(target, &job, options, interrupt, &mut observed)?;
            again.unwrap_or(Outcome::Interrupted)
        }
    };
    Ok((once, observed))
}

/// Runs a job of one execution until nothing outside of the program ends it, a few times at most.
fn undisturbed(
    target: &Target,
    job: &Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observed: &mut Observed,
) -> Result<Result<Outcome, u64>, Error> {
    let mut last = attempt(target, job.clone(), options, interrupt, observed)?;
    for _ in 1..ATTEMPTS {
        if !matches!(last, Ok(Outcome::Died { from_outside: true, .. })) {
            break;
        }
        last = attempt(target, job.clone(), options, interrupt, observed)?;
    }
    Ok(last)
}

/// Runs a job of one execution. If the failure concerns a heap block that was not watched, returns
/// that block.
fn attempt(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observed: &mut Observed,
) -> Result<Result<Outcome, u64>, Error> {
    let mut found: Option<FoundFailure> = None;
    let mut findings = Vec::new();
    let mut adopted: Option<Learned> = None;
    let mut diverged = None;
    *observed = Observed::default();
    let (watched, again) = (job.watch, job.clone());
    let mut worker = Worker::start(target, job, options.spin_after)?;
    loop {
        match worker.wait(interrupt)? {
            Event::RuntimeMessage(RuntimeMessage::Found(news)) => {
                match options.is_warning(news.kind) {
                    true => findings.push(news),
                    false => found = Some(news),
                }
            }
            Event::RuntimeMessage(RuntimeMessage::Learned { result, .. }) => {
                adopted = Some(result.learned);
            }
            Event::RuntimeMessage(RuntimeMessage::Diverged { step, what, .. }) => {
                diverged = Some((step, what))
            }
            // After an interrupt, wait only until the worker stops.
            Event::RuntimeMessage(RuntimeMessage::Recorded(_)) | Event::Tick => {}
            Event::Idle if interrupt.load(Relaxed) => return Ok(Ok(Outcome::Interrupted)),
            Event::Idle => {}
            Event::Parked => {
                if let Some((step, what)) = diverged {
                    return Ok(Ok(Outcome::Diverged { step, what }));
                }
                let block = found.as_ref().and_then(|found| found.block);
                if let (Some(block), None) = (block, watched) {
                    return Ok(Err(block));
                }
                let Some(pid) = worker.execution_pid() else {
                    let how = "its process could not be found".into();
                    return Ok(Ok(Outcome::Died { how, from_outside: true }));
                };
                let (names, suppressions) = (options.names, &options.suppressions);
                let mut options = trace_options(target, options, Reset::Exec);
                let channel = worker.channel();
                // The limit that this execution had.
                let limit = channel.header().step_limit.load(Relaxed);
                options.max_steps = options.max_steps.max(limit);
                *observed = Observed { has_points: adopted.is_some(), ..channel.header().into() };
                if let Some(adopted) = adopted.take() {
                    options.learned = adopted;
                }
                let shown = Shown { found: found.as_ref(), findings: &findings, names };
                let mut trace = match capture::capture(target, channel, pid, &shown, options) {
                    Ok((trace, findings)) => {
                        observed.findings = findings;
                        let is_wanted = |one: &Failure| suppressions.rule_for(one).is_none();
                        observed.findings.retain(is_wanted);
                        trace
                    }
                    // The process may be killed from outside during the capture.
                    Err(error) => {
                        let how = error.to_string();
                        return Ok(Ok(Outcome::Died { how, from_outside: true }));
                    }
                };
                if trace.output.len() > channel::OUTPUT as usize + capture::TRUNCATED.len() {
                    let stored = [&trace.output[..channel::OUTPUT as usize], capture::TRUNCATED];
                    let stored = stored.concat();
                    observed.output = Some(std::mem::replace(&mut trace.output, stored));
                }
                worker.channel().resume();
                return Ok(Ok(Outcome::Recorded(Box::new(trace))));
            }
            // No execution is held twice.
            Event::Held => return attempt(target, again, options, interrupt, observed),
            Event::Done => return Ok(Ok(Outcome::Interrupted)),
            Event::Died(_) if worker.is_stopping() => return Ok(Ok(Outcome::Interrupted)),
            Event::Died(Ending { how, from_outside, .. }) => {
                return Ok(Ok(Outcome::Died { how, from_outside }));
            }
        }
    }
}

/// Runs a schedule again and records the execution in full.
pub(crate) fn record_again(
    target: &Target,
    choices: Vec<Choice>,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Outcome, Error> {
    let plan = Plan::Replay { choices, expected: Vec::new() };
    run_single(target, Job { plan, ..single_job(options) }, options, interrupt)
}
