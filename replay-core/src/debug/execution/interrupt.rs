//! Stops the running process from another thread: after Ctrl-C, or when the debugger disconnects.

use crate::debug::process::tracee;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A request to stop, shared between threads.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    wanted: AtomicBool,
    running: Mutex<Running>,
}

/// The running process.
#[derive(Debug, Default)]
struct Running {
    handle: Option<Arc<OwnedFd>>,
    /// Whether the process runs untraced: then a signal of the runtime must stop it.
    loose: bool,
}

impl Interrupt {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests that the process stop.
    pub(crate) fn request(&self) {
        let running = self.running();
        self.wanted.store(true, Ordering::SeqCst);
        if let Some(handle) = &running.handle {
            tracee::stop(handle, if running.loose { tracee::INTERRUPT } else { libc::SIGSTOP });
        }
    }

    pub(super) fn follow(&self, handle: Arc<OwnedFd>) {
        *self.running() = Running { handle: Some(handle), loose: false };
    }

    /// Called before the process is detached. Returns whether it may be: no stop is requested.
    pub(super) fn detach(&self) -> bool {
        let mut running = self.running();
        running.loose = !self.is_wanted();
        running.loose
    }

    /// Called when the process is traced again.
    pub(super) fn hold(&self) {
        self.running().loose = false;
    }

    /// Whether a stop was requested since the last call; clears the request.
    pub(crate) fn take(&self) -> bool {
        self.wanted.swap(false, Ordering::SeqCst)
    }

    /// The flag itself, for code that polls one.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.wanted
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }
}
