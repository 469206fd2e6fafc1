//! Stopping what runs from another thread: Ctrl-C, or a debugger that is gone.

use crate::debug::process::tracee;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How another thread stops what runs.
#[derive(Debug, Default)]
pub(crate) struct Interrupt {
    wanted: AtomicBool,
    running: Mutex<Option<Arc<OwnedFd>>>,
}

impl Interrupt {
    /// What runs is to stop.
    pub(crate) fn ask(&self) {
        self.wanted.store(true, Ordering::SeqCst);
        if let Some(handle) = &*self.running.lock().unwrap_or_else(PoisonError::into_inner) {
            tracee::stop(handle, libc::SIGSTOP);
        }
    }

    pub(super) fn follow(&self, handle: Arc<OwnedFd>) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
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
