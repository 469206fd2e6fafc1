//! Signals that stop the process, and the one that continues it.
//!
//! While a process is stopped, none of its threads runs, so that none of them can continue it: a shell does (`fg`), or
//! another process. Here it is continued as soon as it stops. What the program can observe of that is `SIGCONT`, which it
//! gets as from a shell; the time that passes meanwhile is not explored, and the report names that.

use crate::instrument::binary::calls;
use crate::state::pending_signals;

const STOPS: [i32; 4] = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];

/// Whether the default action of a signal is to stop the process.
pub(super) fn is_stop(signal: i32) -> bool {
    STOPS.contains(&signal)
}

/// A signal is sent. One that continues the process discards the pending ones that stop it, in all tasks, and the reverse
/// (POSIX 2.4.1), whether or not it has a handler.
pub(super) fn discard_opposites(signal: i32, site: u64) {
    let opposites = match signal {
        libc::SIGCONT => &STOPS[..],
        _ if is_stop(signal) => &[libc::SIGCONT],
        _ => return,
    };
    for &opposite in opposites {
        if pending_signals::is_pending(opposite) {
            // The step of the sender is one on the receiver only.
            report("which pending signal was discarded by another one", site);
            pending_signals::forget(opposite);
        }
    }
}

/// The process stops.
pub(super) fn report_stop(site: u64) {
    report("the time for which a signal stops the process", site);
}

fn report(what: &str, site: u64) {
    calls::report_unexplored(what, "the kernel", site);
}
