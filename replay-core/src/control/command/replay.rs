//! Replays a trace and verifies every step.

use super::execution::{Outcome, run_single, single_job};
use crate::control::ending::ATTEMPTS;
use crate::control::worker::{Event, Worker};
use crate::options::failure_kinds_for_replay;
use crate::{Error, Observer, Progress, Replayed, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use traces::wire::{Job, Plan, Reset, RuntimeMessage};
use traces::{Choice, Trace};

/// Replays a trace `times` times and verifies every step. The first replay compares everything:
/// objects, sites, values, the enabled sets and the failure. The others compare tasks, operations
/// and digests of the enabled sets, and the kind and site of the failure.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn replay(
    trace: &Trace,
    target: &Target,
    times: u64,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Replayed, Error> {
    let options = to_repeat(trace);
    let plan = plan(trace);
    let first = Job { plan: plan.clone(), ..single_job(&options) };
    let now = match run_single(target, first, &options, interrupt)? {
        Outcome::Recorded(now) => *now,
        Outcome::Diverged { step, what } => return Ok(diverged(1, step, &what)),
        Outcome::Died { how, .. } => {
            return Err(Error::Runtime(format!(
                "{} died before the replay could be compared: {how}; check that it runs without Heddle",
                target.program.display()
            )));
        }
        Outcome::Interrupted => {
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
            ..single_job(&options)
        };
        let mut many = replay_many(target, job.clone(), &options, trace, interrupt, observer)?;
        for _ in 1..ATTEMPTS {
            if !matches!(many, Many::Disturbed(_)) {
                break;
            }
            many = replay_many(target, job.clone(), &options, trace, interrupt, observer)?;
        }
        match many {
            Many::Equal(more) => ran += more,
            Many::Different(divergence) => return Ok(divergence),
            Many::Disturbed(how) => return Err(Error::Runtime(how)),
        }
    }
    Ok(Replayed::Same { times: ran, failure: now.failure, output: now.output })
}

/// The options that reproduce a trace's execution.
pub(crate) fn as_recorded(trace: &Trace) -> SearchOptions {
    SearchOptions {
        max_steps: trace.header.options.max_steps.max(trace.execution.steps.len() as u64 + 1),
        most_steps: 0,
        fail_on: failure_kinds_for_replay(trace.failure.as_ref().map(|failure| failure.kind)),
        max_memory: trace.header.options.max_memory,
        ..SearchOptions::default().with_points_of(trace)
    }
}

/// The options to repeat a trace's execution without a change.
pub(super) fn to_repeat(trace: &Trace) -> SearchOptions {
    as_recorded(trace).expecting(trace.failure.as_ref().map(|failure| failure.kind))
}

/// A job that replays a trace for the debugger, which holds the process.
pub(crate) fn debugger_job(trace: &Trace) -> Job {
    Job { plan: plan(trace), park: false, ..single_job(&as_recorded(trace)) }
}

/// Repeats a trace, and verifies each step.
pub(super) fn plan(trace: &Trace) -> Plan {
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
        "{what}. Something outside of the schedule has changed: a file, the environment, the \
         clock, or addresses that differ from run to run"
    );
    Replayed::Diverged { run, step, what }
}

/// The outcome of many replays.
enum Many {
    /// So many were equal.
    Equal(u64),
    /// One was different.
    Different(Replayed),
    /// Something outside of the program ended a process.
    Disturbed(String),
}

/// Runs the remaining replays in forks of one process.
fn replay_many(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    trace: &Trace,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Many, Error> {
    let began = Instant::now();
    let wanted = job.last - job.first + 1;
    let mut worker = Worker::start(target, job, options.spin_after)?;
    let mut key = None;
    loop {
        match worker.wait(interrupt)? {
            Event::RuntimeMessage(RuntimeMessage::Found(found)) => {
                let expected = trace.failure.as_ref().map(|failure| failure.kind);
                if expected != Some(found.kind) || key.is_some() {
                    let what = ended_with(found.kind, &found.detail);
                    let step = trace.execution.steps.len() as u64;
                    return Ok(Many::Different(diverged(found.execution, step, &what)));
                }
                key = Some(found.key);
            }
            Event::RuntimeMessage(RuntimeMessage::Diverged { execution, step, what }) => {
                return Ok(Many::Different(diverged(execution, step, &what)));
            }
            Event::Tick => observer.progress(&Progress {
                executions: worker.channel().header().executions.load(Relaxed) + 1,
                distinct: 1,
                failing: worker.channel().header().failing.load(Relaxed),
                elapsed: began.elapsed(),
                ..Progress::default()
            }),
            Event::RuntimeMessage(RuntimeMessage::Learned { .. } | RuntimeMessage::Recorded(_))
            | Event::Parked
            | Event::Idle => {}
            Event::Done => break,
            Event::Held => return Ok(Many::Disturbed("it changes files".to_owned())),
            Event::Died(ending) if ending.from_outside => return Ok(Many::Disturbed(ending.how)),
            Event::Died(ending) => return Err(Error::Runtime(ending.how)),
        }
    }
    let header = worker.channel().header();
    let ran = header.executions.load(Relaxed);
    let failing = header.failing.load(Relaxed);
    let failing = trace.failure.is_some().then_some(failing);
    if let Some(what) = passed_in_some(ran, failing) {
        let step = trace.execution.steps.len() as u64;
        return Ok(Many::Different(diverged(ran + 1, step, &what)));
    }
    match fewer(ran, wanted).filter(|_| !interrupt.load(Relaxed)) {
        Some(why) => Err(Error::Runtime(why)),
        None => Ok(Many::Equal(ran)),
    }
}

/// The difference of a run that ended with another failure, or with the same kind elsewhere.
fn ended_with(kind: traces::FailureKind, detail: &str) -> String {
    format!(
        "it ended with {kind} ({})",
        if detail.is_empty() { "at another location" } else { detail }
    )
}

/// The difference if not all runs of a failing schedule failed. `failing`: how many did; none if the schedule
/// passes.
fn passed_in_some(ran: u64, failing: Option<u64>) -> Option<String> {
    let failing = failing.filter(|&failing| failing < ran)?;
    Some(format!("it failed in only {failing} of {ran} runs"))
}

/// The error if there were fewer runs than requested.
fn fewer(ran: u64, wanted: u64) -> Option<String> {
    (ran < wanted).then(|| format!("only {ran} of {wanted} runs were completed"))
}

/// The first difference between two recordings that should be equal.
pub(super) fn difference(before: &Trace, now: &Trace) -> Option<(u64, String)> {
    let (was, is) = (&before.execution, &now.execution);
    for (index, (a, b)) in was.steps.iter().zip(&is.steps).enumerate() {
        let say = |what: String| Some((index as u64, what));
        if (a.task, a.operation) != (b.task, b.operation) {
            return say(format!(
                "{} executed `{}`, but the recording has {} and `{}`",
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
        // Names are not part of the execution, so only locations are compared.
        if old.as_ref().map(|object| object.place) != new.as_ref().map(|object| object.place) {
            let name = |object: Option<traces::Object>| {
                object.map_or_else(|| "nothing".to_owned(), |object| object.name)
            };
            let (old, new) = (name(old), name(new));
            return say(format!(
                "`{}` accessed {new}, but {old} in the recording",
                a.operation.name()
            ));
        }
        let site = |execution: &traces::Execution, site: traces::Site| {
            let module = execution.modules.get(usize::from(site.module));
            // A copy of the recorded build under another name has the same code.
            let file = module.map(|module| match module.build_id.as_str() {
                "" => module.path.clone(),
                build => build.to_owned(),
            });
            (file, site.offset)
        };
        if site(was, a.site) != site(is, b.site) {
            return say(format!(
                "`{}` was called at {}, but at {} in the recording",
                a.operation.name(),
                is.place(b.site),
                was.place(a.site)
            ));
        }
        if a.value != b.value {
            return say(format!(
                "`{}` returned {}, but {} in the recording",
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
            format!("it has {} steps, but the recording has {}", is.steps.len(), was.steps.len()),
        ));
    }
    if was.enabled != is.enabled {
        let step = was.enabled.iter().zip(&is.enabled).find(|(a, b)| a != b);
        return Some((step.map_or(end, |(a, _)| a.step), "other tasks were enabled".into()));
    }
    let failed = |trace: &Trace| {
        trace.failure.as_ref().map(|failure| (failure.kind, failure.signature.clone()))
    };
    match (failed(before), failed(now)) {
        (a, b) if a == b => None,
        (_, Some((kind, signature))) => Some((end, format!("it ended with {kind} ({signature})"))),
        (_, None) => Some((end, "it ended without a failure".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use traces::{EnabledChange, Failure, FailureKind, Module, Object, ObjectKind, ObjectLocation};
    use traces::{Operation, Site, Step, TaskId};

    /// A thread locks two mutexes.
    fn recording() -> Trace {
        let site = |offset| Site { module: 0, offset };
        let step = |object, offset| Step {
            task: TaskId(0),
            operation: Operation::Lock,
            object: Some(object),
            site: site(offset),
            value: 0,
        };
        let mutex = |name: &str, offset| Object {
            kind: ObjectKind::Mutex,
            place: ObjectLocation::Static(site(offset)),
            name: name.to_owned(),
        };
        let mut trace = Trace::default();
        let execution = &mut trace.execution;
        execution.tasks = vec![Default::default(); 2];
        execution.modules =
            vec![Module { path: "/bin/program".to_owned(), build_id: "ab".to_owned() }];
        execution.objects = vec![mutex("one", 8), mutex("two", 16)];
        execution.steps = vec![step(0, 100), step(1, 200)];
        execution.enabled = vec![EnabledChange { step: 0, task: TaskId(0), enabled: true }];
        trace
    }

    fn failure() -> Option<Failure> {
        Some(Failure {
            kind: FailureKind::Crash,
            signature: "crash in f".to_owned(),
            message: String::new(),
            task: None,
            site: None,
            place: String::new(),
            waits: Vec::new(),
            stacks: Vec::new(),
            past: Vec::new(),
        })
    }

    #[test]
    fn the_first_difference_is_named_with_its_step() {
        type Change = fn(&mut Trace);
        let cases: [(Change, u64, &str); 8] = [
            (
                |now| now.execution.steps[1].task = TaskId(1),
                1,
                "T1 executed `lock`, but the recording has T0 and `lock`",
            ),
            (
                |now| now.execution.steps[1].object = Some(0),
                1,
                "`lock` accessed one, but two in the recording",
            ),
            (
                |now| now.execution.steps[0].object = None,
                0,
                "`lock` accessed nothing, but one in the recording",
            ),
            (
                |now| now.execution.steps[1].value = 7,
                1,
                "`lock` returned 7, but 0 in the recording",
            ),
            (|now| now.execution.steps.truncate(1), 1, "it has 1 steps, but the recording has 2"),
            (|now| now.execution.enabled[0].task = TaskId(1), 0, "other tasks were enabled"),
            (|now| now.failure = failure(), 2, "it ended with crash (crash in f)"),
            (
                |now| now.execution.steps[1].site.offset = 204,
                1,
                "`lock` was called at program+0xcc, but at program+0xc8 in the recording",
            ),
        ];
        for (change, step, what) in cases {
            let mut now = recording();
            change(&mut now);
            assert_eq!(difference(&recording(), &now), Some((step, what.to_owned())));
        }
        let failing = Trace { failure: failure(), ..recording() };
        assert_eq!(
            difference(&failing, &recording()),
            Some((2, "it ended without a failure".to_owned()))
        );
    }

    #[test]
    fn a_copy_of_the_recorded_build_makes_no_difference() {
        let mut now = recording();
        now.execution.modules[0].path = "/bin/copy".to_owned();
        assert_eq!(difference(&recording(), &now), None);
        now.execution.modules[0].build_id = "cd".to_owned();
        assert!(difference(&recording(), &now).is_some());
    }

    #[test]
    fn runs_that_differ_are_described() {
        let crash = FailureKind::Crash;
        assert_eq!(ended_with(crash, ""), "it ended with crash (at another location)");
        assert_eq!(ended_with(crash, "SIGSEGV at 0x8"), "it ended with crash (SIGSEGV at 0x8)");
        let some = "it failed in only 3 of 9 runs".to_owned();
        assert_eq!(passed_in_some(9, Some(3)), Some(some));
        assert_eq!([passed_in_some(9, Some(9)), passed_in_some(9, None)], [None, None]);
        assert_eq!(fewer(3, 9), Some("only 3 of 9 runs were completed".to_owned()));
        assert_eq!(fewer(9, 9), None);
        let Replayed::Diverged { run, step, what } = diverged(2, 7, "T1 reads x instead of y")
        else {
            panic!("it did not diverge")
        };
        assert_eq!((run, step), (2, 7));
        assert_eq!(
            what,
            "T1 reads x instead of y. Something outside of the schedule has changed: a file, the \
             environment, the clock, or addresses that differ from run to run"
        );
    }
}
