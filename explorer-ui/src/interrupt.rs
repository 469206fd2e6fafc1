//! Ctrl-C and SIGTERM: the first asks the command to end well, the second ends it at once.

use crate::exit::Status;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::{SigId, flag, low_level};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A flag that is set by the first signal.
///
/// Where a handler cannot be set, the signal keeps what it does by default, and ends the process.
#[must_use]
pub fn flag() -> Arc<AtomicBool> {
    registered().0
}

fn registered() -> (Arc<AtomicBool>, Vec<SigId>) {
    let interrupted = Arc::new(AtomicBool::new(false));
    let handlers = [SIGINT, SIGTERM, SIGHUP].into_iter().flat_map(|signal| {
        let status = Status::Interrupted as i32;
        // In this order: the shutdown asks for the flag as an earlier signal left it.
        [
            flag::register_conditional_shutdown(signal, status, Arc::clone(&interrupted)),
            flag::register(signal, Arc::clone(&interrupted)),
        ]
    });
    let handlers = handlers.filter_map(Result::ok).collect();
    (interrupted, handlers)
}

/// A file that grows beyond the limit on its size is an error like a full disk, and not the end.
///
/// A handler, since a signal that is ignored would be ignored by programs that are started, too.
pub fn outlive_full_files() {
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Has something be asked to end by the first signal, and no longer: what comes after says for itself what
/// signals are to do ([`leave`], [`end_at_once`]).
pub fn during<T>(what: impl FnOnce(&AtomicBool) -> T) -> T {
    let (interrupted, handlers) = registered();
    let done = what(&interrupted);
    for handler in handlers {
        low_level::unregister(handler);
    }
    done
}

/// Has Ctrl-C and the like end the process, as they do by default.
pub fn end_at_once() {
    end_at(&[SIGINT, SIGTERM, SIGHUP]);
}

fn end_at(signals: &[i32]) {
    for &signal in signals {
        let _ = flag::register_conditional_default(signal, Arc::new(AtomicBool::new(true)));
    }
}

/// Leaves Ctrl-C to another program on the same terminal: a debugger. The others end the process.
pub fn leave() {
    end_at(&[SIGTERM, SIGHUP]);
    // A handler, since a signal that is ignored would be ignored by programs that are started, too.
    let _ = flag::register(SIGINT, Arc::default());
}
