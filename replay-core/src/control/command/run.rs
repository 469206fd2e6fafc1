//! Runs and records one execution, for `heddle run`.

use super::backtraces::print_backtraces;
use super::execution::{Observed, Outcome, first_job, run_observed};
use super::learn::{learn, load_learning};
use super::reduced_environment::reduce_environment;
use crate::control::learning_file;
use crate::launch::WorkingFiles;
use crate::{Error, Observer, SearchOptions, Target};
use std::sync::atomic::AtomicBool;
use traces::trace::EnvironmentUse;
use traces::wire::Job;
use traces::{FailureKind, Trace};

/// Runs the strategy's first execution under control and records it.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn run(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Trace, Error> {
    let (mut trace, _) = recorded(target, first_job(options), options, interrupt)?;
    if has_readers(&trace, options) {
        complete(&mut trace, target, options, interrupt);
    }
    Ok(trace)
}

/// Whether anyone will read the trace. One without names has no readers.
fn has_readers(trace: &Trace, options: &SearchOptions) -> bool {
    options.names || trace.failure.is_some()
}

/// Completes the trace for its readers. Each of the two is another execution.
fn complete(trace: &mut Trace, target: &Target, options: &SearchOptions, interrupt: &AtomicBool) {
    reduce_environment(trace, target, options, interrupt);
    print_backtraces(trace, target, interrupt);
}

/// Runs a program once: the strategy's first execution. It has the points of an earlier learning phase, if
/// there is one. Otherwise its steps are calls, and it observes which accesses conflict.
///
/// The program runs again only where that is not visible outside of it: to see whether it needs all of its
/// environment, and where one execution without learned points says nothing, since a task spins, or an access
/// is a failure. Then the learning phase runs, whose executions see `target`'s files; the others see `files`.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn run_once(
    target: &Target,
    files: &WorkingFiles,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(Trace, Observed), Error> {
    let own = Target { files: files.clone(), ..target.clone() };
    let recorded = |job: Job, options: &SearchOptions| {
        recorded(&own, Job { whole_output: true, ..job }, options, interrupt)
    };
    let observing = match observing_job(target, options, observer) {
        Some(job) => {
            let once = recorded(job, options)?;
            let says_nothing = once.1.needs_points(&once.0) && !once.1.leaves_traces;
            Some(once).filter(|_| !says_nothing)
        }
        None => None,
    };
    let (mut trace, observed) = match observing {
        Some(once) => once,
        None => {
            let learned = learn(target, options, interrupt, observer)?;
            let (trace, observed) = recorded(first_job(&learned), &learned)?;
            (trace, Observed { has_points: true, ..observed })
        }
    };
    if !has_readers(&trace, options) {
        return Ok((trace, observed));
    }
    if observed.leaves_traces {
        trace.header.environment_use = EnvironmentUse::Once;
    } else {
        let again = options.clone().with_points_of(&trace);
        complete(&mut trace, &own, &again, interrupt);
    }
    Ok((trace, observed))
}

/// The job of an execution that observes accesses; none if the options say which of them are steps, or have
/// predicates, which need the points of their sites.
fn observing_job(
    target: &Target,
    options: &SearchOptions,
    observer: &mut dyn Observer,
) -> Option<Job> {
    let path = learning_file::path(target, options).filter(|_| options.predicates.is_empty())?;
    let earlier_learning = load_learning(&path, target, observer).map(|saved| saved.result);
    Some(Job { observes: true, learn: true, earlier_learning, ..first_job(options) })
}

/// Runs a job of one execution that has to end.
fn recorded(
    target: &Target,
    job: Job,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<(Trace, Observed), Error> {
    let (once, observed) = run_observed(target, job, options, interrupt)?;
    match once {
        Outcome::Recorded(trace) => Ok((*trace, observed)),
        Outcome::Diverged { what, .. } => Err(Error::Runtime(what)),
        Outcome::Died { how, .. } => Err(Error::Runtime(format!(
            "{} died without a message: {how}; check that it runs without Heddle",
            target.program.display()
        ))),
        Outcome::Interrupted => Err(Error::Runtime("interrupted".into())),
    }
}

impl Observed {
    /// Whether the execution has no learned points and its outcome says nothing: a task waits in a loop, which
    /// is seen at the points in it, or the failure is an access, which is no step.
    fn needs_points(&self, trace: &Trace) -> bool {
        let kind = trace.failure.as_ref().map(|failure| failure.kind);
        let is_of_points =
            matches!(kind, Some(FailureKind::Spin | FailureKind::Livelock | FailureKind::Race));
        !self.has_points && (is_of_points || self.waits || self.cut)
    }

    /// Whether the outcome may be another one with learned points. A task that computes for long is
    /// interrupted, too.
    #[must_use]
    pub fn may_need_points(&self, trace: &Trace) -> bool {
        self.needs_points(trace) || self.interrupted && !self.has_points
    }
}
