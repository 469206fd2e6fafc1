//! Learning which accesses to memory conflict, for whoever runs one execution and no search.

use super::{plan, searching};
use crate::lesson::{self, Learning};
use crate::worker::{Event, Worker};
use crate::{Error, Observer, SearchOptions, Target, scope};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use traces::wire::{Job, News};

/// The options, with what there is to know of the program's accesses to memory: where a search was there
/// before, what it learned, else it is learned now as a search does it.
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
    let mut worker = Worker::start(target, job, options.spin_after)?;
    while !interrupt.load(Relaxed) {
        match worker.wait(interrupt)? {
            Event::News(News::Found(one)) => Learning::note(&mut found, &one),
            Event::News(News::Learned { lesson, known }) => {
                learned.learned.clone_from(&lesson.learned);
                if !(known || lesson.learned.is_empty()) {
                    lesson::save(&path, target, &Learning { lesson, found: found.clone() });
                }
            }
            Event::News(News::Diverged { .. }) | Event::Tick => {}
            // Now it waits for work. What ends before that ends for whoever runs it, too.
            Event::Idle | Event::Parked | Event::Done | Event::Died(_) => break,
        }
    }
    Ok(learned)
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
