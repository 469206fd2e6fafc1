//! Learning which accesses to memory conflict, for whoever runs one execution and no search.

use super::explore::TOLD_EVERY;
use super::{plan, searching};
use crate::lesson::{self, Learning};
use crate::worker::{Event, Worker};
use crate::{Error, Observer, Progress, SearchOptions, Target, scope};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use traces::wire::{Job, News};

/// How long a round may go on that is the last one.
const PATIENCE: Duration = Duration::from_secs(1);

/// The options, with what there is to know of the program's accesses to memory: where a search was there
/// before, what it learned, else it is learned now as a search does it, within the time that the options
/// give. What was not met by then is not known, and the observer is told so.
///
/// # Errors
/// Where the program cannot be run or controlled.
pub fn learn(
    target: &Target,
    options: &SearchOptions,
    interrupt: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<SearchOptions, Error> {
    let Some(path) = lesson::path(target, options) else { return Ok(options.clone()) };
    let kept = kept(&path, target, observer);
    let job = Job { lesson: kept.map(|kept| kept.lesson), ..job(target, options, interrupt)? };
    let job = Job { pioneer: true, ..job };
    let mut learned = options.clone();
    let mut found = Vec::new();
    let began = Instant::now();
    let mut worker = Worker::start(target, job, options.spin_after)?;
    let (mut told, mut late) = (began, None);
    while !interrupt.load(Relaxed) {
        let progress = Progress {
            learning: worker.channel().header().learning.load(Relaxed),
            elapsed: began.elapsed(),
            ..Progress::default()
        };
        if told.elapsed() > TOLD_EVERY {
            told = Instant::now();
            observer.progress(&progress);
        }
        if options.max_time.is_some_and(|most| began.elapsed() >= most) && late.is_none() {
            late = Some(Instant::now());
            worker.channel().pause();
        }
        // A round may take long, and one that waits for nobody may never end.
        let over = late.is_some_and(|since| since.elapsed() > PATIENCE);
        if over {
            worker.end();
        }
        match worker.wait(interrupt)? {
            Event::News(News::Found(one)) => Learning::note(&mut found, &one),
            Event::News(News::Learned { lesson, known }) => {
                learned.learned.clone_from(&lesson.learned);
                if known {
                    // All that there is.
                } else if let Some(most) = options.max_time.filter(|_| late.is_some()) {
                    let executions = worker.channel().header().learning.load(Relaxed);
                    observer.note(&stopped(executions, most));
                } else if !lesson.learned.is_empty() {
                    lesson::save(&path, target, &Learning { lesson, found: found.clone() });
                }
            }
            Event::News(News::Diverged { .. }) | Event::Tick => {}
            Event::Died(_) if over => {
                observer.note(&stopped(progress.learning, options.max_time.unwrap_or_default()));
                break;
            }
            // Now it waits for work. What ends before that ends for whoever runs it, too.
            Event::Idle | Event::Parked | Event::Done | Event::Died(_) => break,
        }
    }
    Ok(learned)
}

/// What is said where there was no time to learn everything.
fn stopped(executions: u64, most: Duration) -> String {
    let most = most.as_secs_f64();
    let executions = match executions {
        1 => "1 execution".to_owned(),
        more => format!("{more} executions"),
    };
    format!(
        "learning which accesses conflict was stopped after {most} s ({executions}): those that it \
         did not meet are no steps; give it more time (--max-time)"
    )
}

/// What was learned before; the user is told where it is of no use.
pub(super) fn kept(path: &Path, target: &Target, observer: &mut dyn Observer) -> Option<Learning> {
    lesson::load(path, target).unwrap_or_else(|why| {
        observer.note(&why);
        None
    })
}

/// A job for a worker of a search.
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
        ..searching(options, plan(options))
    })
}
