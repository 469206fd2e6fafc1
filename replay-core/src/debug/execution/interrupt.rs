//! Stopping what runs from another thread: Ctrl-C, or a debugger that is gone.

use crate::debug::process::tracee;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How another thread stops what runs.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    wanted: AtomicBool,
    running: Mutex<Running>,
}

/// The process that runs.
#[derive(Debug, Default)]
struct Running {
    handle: Option<Arc<OwnedFd>>,
    /// Whether nobody holds it: then it has to be stopped in another way.
    loose: bool,
}

impl Interrupt {
    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What runs is to stop.
    pub(crate) fn ask(&self) {
        let running = self.running();
        self.wanted.store(true, Ordering::SeqCst);
        if let Some(handle) = &running.handle {
            tracee::stop(handle, if running.loose { tracee::INTERRUPT } else { libc::SIGSTOP });
        }
    }

    pub(super) fn follow(&self, handle: Arc<OwnedFd>) {
        *self.running() = Running { handle: Some(handle), loose: false };
    }

    /// The process is about to be let go of; whether it may be: nobody wants it to stop.
    pub(super) fn let_go(&self) -> bool {
        let mut running = self.running();
        running.loose = !self.is_wanted();
        running.loose
    }

    /// The process is held again.
    pub(super) fn hold(&self) {
        self.running().loose = false;
    }

    /// Whether somebody asked since the last call.
    pub(crate) fn take(&self) -> bool {
        self.wanted.swap(false, Ordering::SeqCst)
    }

    /// The flag itself, for whoever looks at one.
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.wanted
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::SeqCst)
    }
}
