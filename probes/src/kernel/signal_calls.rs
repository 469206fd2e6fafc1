//! The system call about signal actions: `rt_sigaction`.

use crate::detect::access::{self, Access, is_in_company};
use crate::memory::kernel_changes;
use crate::schedule::access_points::visit;
use crate::state::pending_signals;
use crate::state::world::{MAX_TASKS, world};
use crate::sys::signals::{self, Action};

/// The words that represent the actions of signals, which all tasks share. Nothing is ever written to them.
static ACTION_WORDS: [u64; 65] = [0; 65];

/// The running task reads or changes the action of a signal: an access, so that what other tasks do to it
/// at the same time is explored.
pub(crate) fn visit_action(signal: i32, writes: bool, site: u64) {
    let Some(word) = ACTION_WORDS.get(signal as usize) else { return };
    if is_in_company() {
        let address = &raw const *word as u64;
        visit(Access::atomic(address, 8, writes, site));
    }
}

/// For each task, the word that represents the moments at which a handler may run in it. Nothing is ever
/// written to them.
static MOMENTS: [u64; MAX_TASKS] = [0; MAX_TASKS];

/// A signal with a handler was sent to a task. In later executions the task has scheduling points where
/// the last moment for the handler is over.
pub(crate) fn expect_handler(number: u16, signal: i32) {
    if is_in_company() {
        access::expect_handler(&raw const MOMENTS[usize::from(number)] as u64, signal as u8);
    }
}

/// From here on no handler runs in the running task, or not those of some signals.
pub(crate) fn last_moment(site: u64) {
    if is_in_company() {
        let address = &raw const MOMENTS[usize::from(world().current.get())] as u64;
        visit(Access::atomic(address, 8, true, site));
    }
}

/// `rt_sigaction` by the program.
pub(crate) fn serve_action(args: [u64; 6], site: u64) -> i64 {
    visit_action(args[0] as i32, args[1] != 0, site);
    sigaction(args)
}

/// `rt_sigaction`. If a signal is ignored from here on, pending ones are discarded (POSIX 2.4.3).
fn sigaction(args: [u64; 6]) -> i64 {
    let signal = args[0] as i32;
    let answer = match signals::is_reserved(signal) {
        true => reserved_action(args),
        false => kernel_changes::serve_action(args),
    };
    if answer == 0
        && args[1] != 0
        // SAFETY: the caller of `rt_sigaction` passes a valid action, whose first word is the
        // handler.
        && ignores(signal, unsafe { *(args[1] as *const u64) })
    {
        pending_signals::forget(signal);
    }
    answer
}

/// Sets the action for a signal.
pub(crate) fn set_action(signal: i32, action: Action) {
    sigaction([signal as u64, &raw const action as u64, 0, 8, 0, 0]);
}

fn reserved_action(args: [u64; 6]) -> i64 {
    // SAFETY: the caller of `rt_sigaction` passes valid actions or null.
    unsafe {
        let new = (args[1] != 0).then(|| *(args[1] as *const Action));
        let old = signals::want(args[0] as i32, new);
        if args[2] != 0 {
            *(args[2] as *mut Action) = old;
        }
    }
    0
}

/// The program's action for a signal.
pub(crate) fn action(signal: i32) -> Action {
    if signals::is_reserved(signal) {
        signals::wanted(signal)
    } else {
        kernel_changes::action(signal)
    }
}

/// Signals that do nothing unless they are handled.
pub(crate) fn is_harmless(signal: i32) -> bool {
    matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT)
}

/// Whether a signal does nothing with this for its handler.
pub(crate) fn ignores(signal: i32, handler: u64) -> bool {
    handler == libc::SIG_IGN as u64 || handler == libc::SIG_DFL as u64 && is_harmless(signal)
}
