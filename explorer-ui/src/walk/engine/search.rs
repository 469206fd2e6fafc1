//! A search on a separate thread.

use super::{Replies, Urgency};
use crate::walk::loaded_trace::LoadedTrace;
use crate::walk::panics::catch_panic;
use crate::walk::reply::Reply;
use crate::walk::search::SearchUpdate;
use replay_core::runner::{Runner, SearchFrom, Tree, Visits};
use replay_core::scratch::Scratch;
use replay_core::{Observer, Progress, store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use traces::Trace;
use traces::report::{Bug, Report};

/// Random walks that estimate the number of schedules.
const ESTIMATE_WALKS: u64 = 16;

/// A search that is running or has ended. Dropping it stops the search.
pub(super) struct RunningSearch {
    pub(super) stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Where the search keeps its state and its traces, which are saved permanently only if the user
    /// saves them; none if there is no such directory.
    state: Option<Arc<Scratch>>,
}

impl RunningSearch {
    pub(super) fn start(
        number: u64,
        walk: Runner,
        order: SearchFrom,
        before: Option<Arc<Scratch>>,
        (urgency, replies): (Urgency, Replies),
    ) -> RunningSearch {
        let stop = Arc::<AtomicBool>::default();
        let state = match before.map_or_else(|| Scratch::new().map(Arc::new), Ok) {
            Ok(state) => state,
            Err(error) => {
                let update = SearchUpdate::Failed(format!("no temporary directory: {error}"));
                replies(Reply::Search { number, update });
                return RunningSearch { stop, thread: None, state: None };
            }
        };
        let out = Arc::clone(&state);
        let flag = Arc::clone(&stop);
        let on_failure = Arc::clone(&replies);
        let started = std::thread::Builder::new().spawn(move || {
            urgency.apply();
            let report = |update| replies(Reply::Search { number, update });
            match catch_panic(|| run(&walk, &order, out.path(), &flag, &report)).and_then(|ran| ran)
            {
                Ok(result) => report(SearchUpdate::Ended(Box::new(result))),
                Err(why) => report(SearchUpdate::Failed(why)),
            }
        });
        let thread = match started {
            Ok(thread) => Some(thread),
            Err(error) => {
                let update = SearchUpdate::Failed(no_thread(&error));
                on_failure(Reply::Search { number, update });
                None
            }
        };
        RunningSearch { stop, thread, state: Some(state) }
    }

    /// Stops the search, and returns the directory with its state.
    pub(super) fn into_state(self) -> Option<Arc<Scratch>> {
        self.state.clone()
    }
}

/// A thread cannot be started: there are too many processes, or there is no memory left.
pub(crate) fn no_thread(error: &std::io::Error) -> String {
    format!("a thread cannot be started ({error}): end other programs, or raise `ulimit -u`")
}

impl Drop for RunningSearch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    walk: &Runner,
    order: &SearchFrom,
    out: &Path,
    stop: &AtomicBool,
    report: &dyn Fn(SearchUpdate),
) -> Result<Report, String> {
    if !order.resume
        && let Ok(Some(estimate)) = walk.estimate(&order.beginning, ESTIMATE_WALKS, stop)
    {
        report(SearchUpdate::Estimate(estimate));
    }
    let mut observer = SearchObserver { report };
    let result = walk.search(order, out, stop, &mut observer).map_err(|error| error.to_string())?;
    // The search has replaced the first schedule of each failure by the simplest one.
    for bug in &result.bugs {
        if let Some(Ok(loaded)) = bug.trace.as_ref().map(|path| store::load(Path::new(path))) {
            report(SearchUpdate::Found(bug.clone(), Arc::new(LoadedTrace::of(loaded.trace))));
        }
    }
    Ok(result)
}

/// Forwards what the search reports.
struct SearchObserver<'a> {
    report: &'a dyn Fn(SearchUpdate),
}

impl Observer for SearchObserver<'_> {
    fn progress(&mut self, _: &Progress) {}

    fn bug(&mut self, bug: &Bug, trace: &Trace) {
        let loaded = Arc::new(LoadedTrace::of(trace.clone()));
        (self.report)(SearchUpdate::Found(bug.clone(), loaded));
    }

    fn note(&mut self, line: &str) {
        (self.report)(SearchUpdate::Note(line.to_owned()));
    }

    fn tree(&mut self, progress: &Progress, look: &dyn Fn() -> (Option<Tree>, Option<Visits>)) {
        let (tree, visits) = look();
        (self.report)(SearchUpdate::Progress(*progress, tree, visits));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_thread_that_cannot_be_started_is_reported() {
        let error = std::io::Error::from_raw_os_error(11);
        assert_eq!(
            super::no_thread(&error),
            "a thread cannot be started (Resource temporarily unavailable (os error 11)): end other \
             programs, or raise `ulimit -u`"
        );
    }
}
