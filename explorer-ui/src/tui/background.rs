//! Runs background jobs on a thread, so that no key press waits for one.

use crate::tui::model::event::Event;
use crate::tui::model::job::{Job, JobUpdate};
use crate::walk::engine::search::no_thread;
use crate::walk::panics::catch_panic;
use replay_core::priority;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Runs one job at a time; starting another one cancels it.
pub(in crate::tui) struct BackgroundJobs {
    events: Sender<Event>,
    cancelled: RefCell<Arc<AtomicBool>>,
}

impl BackgroundJobs {
    /// Updates of jobs are sent to `events`.
    pub(in crate::tui) fn new(events: Sender<Event>) -> BackgroundJobs {
        BackgroundJobs { events, cancelled: RefCell::default() }
    }

    /// Starts a job.
    pub(in crate::tui) fn start(&self, number: u64, job: Job) {
        self.cancel();
        let cancelled = Arc::<AtomicBool>::default();
        self.cancelled.replace(Arc::clone(&cancelled));
        let events = self.events.clone();
        let on_failure = self.events.clone();
        let started = std::thread::Builder::new().spawn(move || {
            priority::lower_for_background();
            // Sending fails only if the explorer has quit.
            let report = |update| drop(events.send(Event::Job { number, update }));
            match catch_panic(|| job.run(&cancelled, &report)) {
                Ok(Some(update)) => report(update),
                Ok(None) => {}
                Err(why) => report(JobUpdate::Failed(why)),
            }
        });
        if let Err(error) = started {
            let update = JobUpdate::Failed(no_thread(&error));
            drop(on_failure.send(Event::Job { number, update }));
        }
    }

    /// Cancels the running job.
    pub(in crate::tui) fn cancel(&self) {
        self.cancelled.borrow().store(true, Ordering::Relaxed);
    }
}
