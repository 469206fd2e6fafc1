//! Checks the verdict on a failing schedule on a separate thread, so that no request waits for it.

use super::{Replies, Urgency};
use crate::walk::check::{CheckState, CheckUpdate};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::panics::catch_panic;
use crate::walk::reply::Reply;
use replay_core::bisect::{self, ProgressObserver};
use replay_core::runner::Runner;
use replay_core::verdict;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A check that is running or has ended. Dropping it stops the check.
pub(super) struct RunningCheck {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl RunningCheck {
    pub(super) fn start(
        walk: Runner,
        loaded: Arc<LoadedTrace>,
        urgency: Urgency,
        replies: Replies,
    ) -> RunningCheck {
        let stop = Arc::<AtomicBool>::default();
        let flag = Arc::clone(&stop);
        let (of, on_failure) = (Arc::clone(&loaded), Arc::clone(&replies));
        let started = std::thread::Builder::new().spawn(move || {
            urgency.apply();
            let send = |update| {
                if !flag.load(Ordering::Relaxed) {
                    replies(Reply::Check { of: Arc::clone(&loaded), update });
                }
            };
            let checked = catch_panic(|| {
                send(CheckUpdate::Verdict(check(&walk, &loaded, &flag)));
                // Without an answer the ribbon stays empty; the verdict is there.
                let mut report = |outlook| send(CheckUpdate::Outlook(outlook));
                let _ = walk.forecast(&loaded.trace, &flag, &mut report);
            });
            if let Err(why) = checked {
                send(CheckUpdate::Verdict(CheckState::Failed(why)));
            }
            if !flag.load(Ordering::Relaxed) {
                replies(Reply::CheckEnded { of: Arc::clone(&loaded) });
            }
        });
        let thread = match started {
            Ok(thread) => Some(thread),
            Err(error) => {
                let state = CheckState::Failed(super::search::no_thread(&error));
                on_failure(Reply::Check { of, update: CheckUpdate::Verdict(state) });
                None
            }
        };
        RunningCheck { stop, thread }
    }

    /// Whether its thread has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Asks the check to stop; nothing of it is reported any more.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for RunningCheck {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// No progress is shown: the verdict is there from the beginning.
struct Silent;

impl ProgressObserver for Silent {
    fn progress(&mut self, _: usize, _: usize) {}
}

fn check(walk: &Runner, loaded: &LoadedTrace, stop: &AtomicBool) -> CheckState {
    match bisect::bisect(walk, &loaded.trace, None, bisect::BUDGET, stop, &mut Silent) {
        Ok(bisected) => match verdict::from_bisection(&bisected) {
            Some(verdict) => CheckState::Done(Box::new(verdict)),
            None => CheckState::Failed("the schedule passes when it is run again".to_owned()),
        },
        Err(refused) => CheckState::Failed(refused.to_string()),
    }
}
