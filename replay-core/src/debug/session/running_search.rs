//! A search for a predicate that runs while a debugger waits for it.

use crate::Error;
use crate::debug::execution::Interrupt;
use crate::runner::{Runner, Sought};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The predicate of the last search.
pub(super) struct Wanted {
    pub(super) text: String,
    /// The program with the predicate, compiled.
    pub(super) runner: Runner,
}

/// A search that runs.
pub(super) struct RunningSearch {
    pub(super) result: Receiver<Result<Sought, Error>>,
    pub(super) thread: Option<JoinHandle<()>>,
    pub(super) interrupt: Arc<Interrupt>,
}

impl RunningSearch {
    /// The result; none if the search still runs after this time.
    pub(super) fn wait(&self, most: Option<Duration>) -> Option<Result<Sought, Error>> {
        let ended = || Err(Error::Runtime("the search ended without a result".to_owned()));
        match most {
            None => Some(self.result.recv().unwrap_or_else(|_| ended())),
            Some(most) => match self.result.recv_timeout(most) {
                Ok(result) => Some(result),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(ended()),
            },
        }
    }
}

impl Drop for RunningSearch {
    fn drop(&mut self) {
        self.interrupt.flag().store(true, SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = self.interrupt.take();
    }
}
