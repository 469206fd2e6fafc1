//! Runs the target on separate threads, so that no key press waits for an execution.

mod check;
mod inspector;
pub(crate) mod search;
mod worker;

use super::inspection::InspectionRequest;
use super::loaded_trace::LoadedTrace;
use super::panics::catch_panic;
use super::reply::Reply;
use check::RunningCheck;
use inspector::Inspector;
use replay_core::Target;
use replay_core::priority;
use replay_core::runner::{Runner, SearchFrom};
use search::RunningSearch;
use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;
use worker::{PendingRequest, current_build};

pub(crate) use worker::Request;

/// Sends replies to the event loop.
type Replies = Arc<dyn Fn(Reply) + Send + Sync>;

/// How urgent the engine's work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A program waits for it.
    Awaited,
    /// Keys of a user come first.
    Background,
}

impl Urgency {
    /// Sets the priority of the calling thread.
    fn apply(self) {
        if self == Urgency::Background {
            priority::lower_for_background();
        }
    }
}

/// Handle of the engine's threads: one for requests, one for the search, one that reads memory of
/// the target.
pub(crate) struct Engine {
    requests: Option<Sender<PendingRequest>>,
    /// Cancels the last request. Each request has its own flag, so that cancelling one cannot
    /// cancel another.
    cancelled: RefCell<Arc<AtomicBool>>,
    thread: Option<JoinHandle<()>>,
    /// How to run the target, in its last build.
    walk: Arc<RwLock<Runner>>,
    urgency: Urgency,
    replies: Replies,
    search: RefCell<Option<RunningSearch>>,
    /// The running check, and those that were stopped and have not ended yet.
    checks: RefCell<Vec<RunningCheck>>,
    inspector: Inspector,
}

impl Engine {
    /// Starts the engine, which sends its replies to `replies`.
    pub(crate) fn start(
        walk: Runner,
        urgency: Urgency,
        replies: impl Fn(Reply) + Send + Sync + 'static,
    ) -> io::Result<Engine> {
        let (requests, inbox) = channel();
        let replies: Replies = Arc::new(replies);
        let walk = Arc::new(RwLock::new(walk));
        let thread = {
            let (walk, replies) = (Arc::clone(&walk), Arc::clone(&replies));
            std::thread::Builder::new().spawn(move || {
                urgency.apply();
                while let Err(why) = catch_panic(|| worker::serve(&walk, &inbox, &*replies)) {
                    replies(Reply::Failed(why));
                }
            })?
        };
        Ok(Engine {
            requests: Some(requests),
            cancelled: RefCell::default(),
            thread: Some(thread),
            walk,
            urgency,
            inspector: Inspector::start(urgency, Arc::clone(&replies))?,
            replies,
            search: RefCell::default(),
            checks: RefCell::default(),
        })
    }

    /// The target.
    pub(crate) fn target(&self) -> Target {
        current_build(&self.walk).target().clone()
    }

    /// Sends a request and cancels the one before.
    pub(crate) fn request(&self, request: Request) {
        let cancelled = Arc::<AtomicBool>::default();
        self.cancel();
        self.cancelled.replace(Arc::clone(&cancelled));
        if let Some(requests) = &self.requests {
            let _ = requests.send(PendingRequest { request, cancelled });
        }
    }

    /// Cancels the last request.
    pub(crate) fn cancel(&self) {
        self.cancelled.borrow().store(true, Ordering::Relaxed);
    }

    /// Reads stacks and values of the target at steps of an execution.
    pub(crate) fn inspect(&self, loaded: Arc<LoadedTrace>, request: InspectionRequest) {
        self.inspector.request(self.target(), loaded, request);
    }

    /// Checks the verdict on a failing schedule; an earlier check is stopped first.
    pub(crate) fn check(&self, loaded: Arc<LoadedTrace>) {
        let walk = current_build(&self.walk);
        let check = RunningCheck::start(walk, loaded, self.urgency, Arc::clone(&self.replies));
        self.stop_checks();
        self.checks.borrow_mut().push(check);
    }

    /// Asks checks to stop, and does not wait for them.
    pub(crate) fn stop_checks(&self) {
        let mut checks = self.checks.borrow_mut();
        checks.iter().for_each(RunningCheck::stop);
        checks.retain(|check| !check.has_ended());
    }

    /// Starts a search; an earlier one is stopped first, and so is a check.
    pub(crate) fn search(&self, number: u64, order: SearchFrom) {
        self.cancel();
        self.stop_checks();
        let walk = current_build(&self.walk);
        let before =
            self.search.take().filter(|_| order.resume).and_then(RunningSearch::into_state);
        let (urgency, replies) = (self.urgency, Arc::clone(&self.replies));
        let search = RunningSearch::start(number, walk, order, before, (urgency, replies));
        self.search.replace(Some(search));
    }

    /// Asks the search to stop. It reports its result when it has stopped.
    pub(crate) fn stop_search(&self) {
        if let Some(search) = &*self.search.borrow() {
            search.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.cancel();
        self.stop_search();
        self.stop_checks();
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
