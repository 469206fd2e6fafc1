//! The learning phase on its own, for callers that run one execution and no search.

use super::execution::{PROGRESS_EVERY, plan, search_job};
use crate::control::learning_file::{self, Learning};
use crate::control::scope;
use crate::control::worker::{Event, Worker};
use crate::{Error, Observer, Progress, SearchOptions, Target};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use traces::wire::{Job, RuntimeMessage};

/// How long the last round may take after the time limit.
const ROUND_TIMEOUT: Duration = Duration::from_secs(1);

/// Returns the options with the learned points of the program. Uses the points that an earlier
/// search saved; otherwise runs the learning phase within the options' time limit. If the time
/// limit ends the phase early, the points may be incomplete and the observer is notified.
///
/// # Errors
/// If the program cannot be run or controlled.
pub fn learn(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<SearchOptions, Error> {
    let Some(path) = learning_file::path(target, options) else { return Ok(options.clone()) };
    let saved = load_learning(&path, target, observer);
    let job = Job {
        earlier_learning: saved.map(|saved| saved.result),
        ..job(target, options, interrupt)?
    };
    // The caller runs the program whether or not it fails.
    let job = Job { pioneer: true, stop_at_first: false, ..job };
    let mut learned = options.clone();
    let mut found = Vec::new();
    let began = Instant::now();
    let mut worker = Worker::start(target, job.clone(), options.spin_after)?;
    let (mut reported, mut late) = (began, None);
    while !interrupt.load(Relaxed) {
        let progress = Progress {
            learning: worker.channel().header().learning.load(Relaxed),
            elapsed: began.elapsed(),
            ..Progress::default()
        };
        if reported.elapsed() > PROGRESS_EVERY {
            reported = Instant::now();
            observer.progress(&progress);
        }
        if options.max_time.is_some_and(|most| began.elapsed() >= most) && late.is_none() {
            late = Some(Instant::now());
            worker.channel().pause();
        }
        // A round may take long, and one that waits for another process may never end.
        let over = late.is_some_and(|since| since.elapsed() > ROUND_TIMEOUT);
        if over {
            worker.end();
        }
        match worker.wait(interrupt)? {
            Event::RuntimeMessage(RuntimeMessage::Found(one)) => Learning::note(&mut found, &one),
            Event::RuntimeMessage(RuntimeMessage::Learned { result, known }) => {
                learned.learned.clone_from(&result.learned);
                if known {
                    // The saved points are complete.
                } else if let Some(most) = options.max_time.filter(|_| late.is_some()) {
                    let executions = worker.channel().header().learning.load(Relaxed);
                    observer.note(&stopped(executions, most));
                } else if !result.learned.is_empty() {
                    learning_file::save(&path, target, &Learning { result, found: found.clone() });
                }
            }
            Event::RuntimeMessage(
                RuntimeMessage::Diverged { .. } | RuntimeMessage::Recorded(_),
            )
            | Event::Tick => {}
            Event::Held => worker = Worker::start(target, job.clone(), options.spin_after)?,
            Event::Died(_) if over => {
                observer.note(&stopped(progress.learning, options.max_time.unwrap_or_default()));
                break;
            }
            // The worker now waits for work. If the program ended before that, it will end in the
            // caller's run too.
            Event::Idle | Event::Parked | Event::Done | Event::Died(_) => break,
        }
    }
    Ok(learned)
}

/// The note for a learning phase that ran out of time.
fn stopped(executions: u64, most: Duration) -> String {
    let most = most.as_secs_f64();
    let executions = match executions {
        1 => "1 execution".to_owned(),
        more => format!("{more} executions"),
    };
    format!(
        "the learning phase was stopped after {most} s ({executions}): conflicting accesses that \
         it did not find are not scheduling points; allow more time (--max-time)"
    )
}

/// Loads the saved points. If the file is unusable, notifies the observer.
pub(super) fn load_learning(
    path: &Path,
    target: &Target,
    observer: &mut dyn Observer,
) -> Option<Learning> {
    learning_file::load(path, target).unwrap_or_else(|why| {
        observer.note(&why);
        None
    })
}

/// The job of a search worker.
pub(super) fn job(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
) -> Result<Job, Error> {
    Ok(Job {
        prefix: options.prefix.clone(),
        stop_at_first: !options.keep_going,
        shared: true,
        pioneer: false,
        learn: true,
        race: None,
        store_buffers: options.store_buffers,
        scope: scope::resolve(target, options, interrupt)?,
        ..search_job(options, plan(options))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_learning_phase_without_enough_time_is_reported() {
        let text = |executions: &str, seconds: &str| {
            format!(
                "the learning phase was stopped after {seconds} s ({executions}): conflicting accesses \
                 that it did not find are not scheduling points; allow more time (--max-time)"
            )
        };
        assert_eq!(stopped(1, Duration::from_secs(2)), text("1 execution", "2"));
        assert_eq!(stopped(30, Duration::from_millis(500)), text("30 executions", "0.5"));
    }
}
