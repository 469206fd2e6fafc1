//! Running a trace again, verified step by step.

use super::{Once, once, single};
use crate::options::{SPINS_AGAIN_AFTER, telling};
use crate::worker::{Event, Worker};
use crate::{Error, Observer, Progress, Replayed, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use traces::wire::{Job, News, Plan, Reset};
use traces::{Choice, FailureKind, Trace};

/// Runs a trace again `times` times, each verified step by step: the first with everything compared
/// (objects, sites, values, the whole enabled sets, the failure), the others with the tasks, the
/// operations and the enabled sets' digests, and the failure's kind and place.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn replay(
    trace: &Trace,
    target: &Target,
    times: u64,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Replayed, Error> {
    let options = as_recorded(trace);
    let options = match &trace.failure {
        Some(failure) if failure.kind == FailureKind::Spin => {
            SearchOptions { spin_after: SPINS_AGAIN_AFTER, ..options }
        }
        _ => options,
    };
    let plan = plan(trace);
    let first = Job { plan: plan.clone(), ..single(&options) };
    let now = match once(target, first, &options, interrupt)? {
        Once::Recorded(now) => *now,
        Once::Diverged { step, what } => return Ok(diverged(1, step, &what)),
        Once::Died { how } => {
            return Err(Error::Runtime(format!(
                "{} died before it could be compared: {how}",
                target.program.display()
            )));
        }
        Once::Interrupted => {
            return Ok(Replayed::Same { times: 0, failure: None, output: Vec::new() });
        }
    };
    if let Some((step, what)) = difference(trace, &now) {
        return Ok(diverged(1, step, &what));
    }
    let mut ran = 1;
    if times > 1 {
        let job = Job {
            plan,
            reset: Reset::Fork,
            first: 2,
            last: times,
            stop_at_first: false,
            full: false,
            park: false,
            ..single(&options)
        };
        match many(target, job, &options, trace, interrupt, observer)? {
            Ok(more) => ran += more,
            Err(divergence) => return Ok(divergence),
        }
    }
    Ok(Replayed::Same { times: ran, failure: now.failure, output: now.output })
}

/// The options under which a trace's execution is the same again.
pub(crate) fn as_recorded(trace: &Trace) -> SearchOptions {
    SearchOptions {
        max_steps: trace.header.options.max_steps.max(trace.execution.steps.len() as u64 + 1),
        fail_on: telling(trace.failure.as_ref().map(|failure| failure.kind)),
        max_memory: trace.header.options.max_memory,
        ..SearchOptions::default().with_points_of(trace)
    }
}

/// A job that runs a trace's schedule again for somebody who holds the process.
pub(crate) fn held(trace: &Trace) -> Job {
    Job { plan: plan(trace), park: false, ..single(&as_recorded(trace)) }
}

fn plan(trace: &Trace) -> Plan {
    let choices: Vec<Choice> = trace.execution.choices().collect();
    let expected = trace
        .execution
        .steps
        .iter()
        .zip(trace.execution.enabled_digests())
        .map(|(step, digest)| (step.operation.code(), digest))
        .collect();
    Plan::Replay { choices, expected }
}

fn diverged(run: u64, step: u64, what: &str) -> Replayed {
    let what = format!(
        "{what}. Something that the schedule does not decide is not as it was: a file, the \
         environment, the clock, addresses that differ from run to run"
    );
    Replayed::Diverged { run, step, what }
}

/// The remaining runs, in forks of one process: how many were the same.
fn many(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    trace: &Trace,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Result<u64, Replayed>, Error> {
    let began = Instant::now();
    let wanted = job.last - job.first + 1;
    let mut worker = Worker::start(target, job, options.spin_after)?;
    let mut key = None;
    loop {
        match worker.wait(interrupt)? {
            Event::News(News::Found(found)) => {
                let expected = trace.failure.as_ref().map(|failure| failure.kind);
                if expected != Some(found.kind) || key.is_some() {
                    let what = format!(
                        "it ended with {} ({})",
                        found.kind,
                        if found.detail.is_empty() { "at another place" } else { &found.detail }
                    );
                    let step = trace.execution.steps.len() as u64;
                    return Ok(Err(diverged(found.execution, step, &what)));
                }
                key = Some(found.key);
            }
            Event::News(News::Diverged { execution, step, what }) => {
                return Ok(Err(diverged(execution, step, &what)));
            }
            Event::Tick => observer.progress(&Progress {
                executions: worker.channel().header().executions.load(Relaxed) + 1,
                distinct: 1,
                failing: worker.channel().header().failing.load(Relaxed),
                elapsed: began.elapsed(),
                ..Progress::default()
            }),
            Event::News(News::Learned { .. }) | Event::Parked | Event::Idle => {}
            Event::Done => break,
            Event::Died(how) => return Err(Error::Runtime(how)),
        }
    }
    let header = worker.channel().header();
    let ran = header.executions.load(Relaxed);
    let failing = header.failing.load(Relaxed);
    if trace.failure.is_some() && failing < ran {
        let what = format!("it failed in {failing} of {ran} runs only");
        return Ok(Err(diverged(ran + 1, trace.execution.steps.len() as u64, &what)));
    }
    if ran < wanted && !interrupt.load(Relaxed) {
        return Err(Error::Runtime(format!("only {ran} of {wanted} runs were done")));
    }
    Ok(Ok(ran))
}

/// The first difference between two recordings of what should be one execution.
fn difference(before: &Trace, now: &Trace) -> Option<(u64, String)> {
    let (was, is) = (&before.execution, &now.execution);
    for (index, (a, b)) in was.steps.iter().zip(&is.steps).enumerate() {
        let say = |what: String| Some((index as u64, what));
        if (a.task, a.operation) != (b.task, b.operation) {
            return say(format!(
                "{} did `{}`, and it was {} and `{}` when recorded",
                b.task,
                b.operation.name(),
                a.task,
                a.operation.name()
            ));
        }
        let object = |execution: &traces::Execution, object: Option<u32>| {
            object.and_then(|object| execution.objects.get(object as usize)).cloned()
        };
        let (old, new) = (object(was, a.object), object(is, b.object));
        // What a place is called is no part of the execution.
        if old.as_ref().map(|object| object.place) != new.as_ref().map(|object| object.place) {
            let name = |object: Option<traces::Object>| {
                object.map_or_else(|| "nothing".to_owned(), |object| object.name)
            };
            let (old, new) = (name(old), name(new));
            return say(format!("`{}` touched {new}, and it was {old}", a.operation.name()));
        }
        let site = |execution: &traces::Execution, site: traces::Site| {
            let module = execution.modules.get(usize::from(site.module));
            (module.map(|module| module.path.clone()), site.offset)
        };
        if site(was, a.site) != site(is, b.site) {
            return say(format!(
                "`{}` was called at {}, and it was {}",
                a.operation.name(),
                is.place(b.site),
                was.place(a.site)
            ));
        }
        if a.value != b.value {
            return say(format!(
                "`{}` gave {}, and it was {}",
                a.operation.name(),
                b.value,
                a.value
            ));
        }
    }
    let end = was.steps.len().min(is.steps.len()) as u64;
    if was.steps.len() != is.steps.len() {
        return Some((
            end,
            format!("it has {} steps, and it was {}", is.steps.len(), was.steps.len()),
        ));
    }
    if was.enabled != is.enabled {
        let step = was.enabled.iter().zip(&is.enabled).find(|(a, b)| a != b);
        return Some((step.map_or(end, |(a, _)| a.step), "other tasks could move".into()));
    }
    let failed = |trace: &Trace| {
        trace.failure.as_ref().map(|failure| (failure.kind, failure.signature.clone()))
    };
    match (failed(before), failed(now)) {
        (a, b) if a == b => None,
        (_, Some((kind, signature))) => Some((end, format!("it ended with {kind} ({signature})"))),
        (_, None) => Some((end, "it ended well".into())),
    }
}
