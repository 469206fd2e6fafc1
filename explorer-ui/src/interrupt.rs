//! SIGINT, SIGTERM and SIGHUP: the first asks the command to finish, the second ends it at once.

use crate::exit::Status;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{SigId, flag, low_level};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// A flag that the first signal sets.
///
/// If a handler cannot be installed, the signal keeps its default action and ends the process.
#[must_use]
pub fn flag() -> Arc<AtomicBool> {
    registered().0
}

fn registered() -> (Arc<AtomicBool>, Vec<SigId>) {
    let interrupted = Arc::new(AtomicBool::new(false));
    let handlers = [SIGINT, SIGTERM, SIGHUP].into_iter().flat_map(|signal| {
        let status = Status::Interrupted as i32;
        // The shutdown handler must run first: it tests the flag as an earlier signal left it.
        [
            flag::register_conditional_shutdown(signal, status, Arc::clone(&interrupted)),
            flag::register(signal, Arc::clone(&interrupted)),
        ]
    });
    let handlers = handlers.filter_map(Result::ok).collect();
    (interrupted, handlers)
}

/// Records which signal came last; 0 before the first one.
#[must_use]
pub fn last_signal() -> Arc<AtomicUsize> {
    let last = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let _ = flag::register_usize(signal, Arc::clone(&last), signal as usize);
    }
    last
}

/// Ends the process by this signal, so that the caller sees the reason in the exit status. Does
/// nothing for 0.
pub fn end_by(signal: usize) {
    if signal > 0 {
        let _ = low_level::emulate_default_handler(signal as i32);
    }
}

/// Turns SIGXFSZ into a write error: a file above the size limit is handled like a full disk.
///
/// Installs a handler rather than ignoring the signal, since child processes inherit ignored signals.
pub fn handle_file_size_limit() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Runs `work` with a flag that the first signal sets, and removes the handlers afterwards. The caller
/// then chooses what signals do ([`leave_to_debugger`], [`end_at_once`]).
pub fn during<T>(work: impl FnOnce(&AtomicBool) -> T) -> T {
    let (interrupted, handlers) = registered();
    let result = work(&interrupted);
    for handler in handlers {
        low_level::unregister(handler);
    }
    result
}

/// Restores the default action of the signals: they end the process.
pub fn end_at_once() {
    end_at(&[SIGINT, SIGTERM, SIGHUP]);
}

fn end_at(signals: &[i32]) {
    for &signal in signals {
        let _ = flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
    }
}

/// Leaves Ctrl-C to the debugger on the same terminal. The other signals end the process.
pub fn leave_to_debugger() {
    end_at(&[SIGTERM, SIGHUP]);
    // An empty handler rather than an ignored signal, which the debugger would inherit.
    let _ = flag::register(SIGINT, Arc::default());
}
