//! Ctrl-C and SIGTERM: the first asks the command to end well, the second ends it at once.

use crate::exit::Status;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is set by the first signal.
///
/// Where a handler cannot be set, the signal keeps what it does by default, and ends the process.
#[must_use]
pub fn flag() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let status = Status::Interrupted as i32;
        // In this order: the shutdown asks for the flag as an earlier signal left it.
        let _ = flag::register_conditional_shutdown(signal, status, Arc::clone(&interrupted));
        let _ = flag::register(signal, Arc::clone(&interrupted));
    }
    interrupted
}

/// Leaves Ctrl-C to another program on the same terminal: a debugger.
pub fn leave() {
    // A handler, since a signal that is ignored would be ignored by programs that are started, too.
    let _ = flag::register(SIGINT, Arc::default());
}
