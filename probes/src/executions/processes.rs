//! The processes in which executions run: their beginning and their end, and what they wait for.

use crate::executions::faults;
use crate::executions::shared_search;
use crate::state::root::root;
use crate::sys::channel::{self, header};
use crate::sys::dispatch;
use crate::sys::raw;
use search::{Coverage, Strategy};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use traces::wire::state;

/// Why a process for an execution cannot be made, and what to do.
pub(crate) fn cannot_fork(result: i64) -> String {
    let why = match -result as i32 {
        libc::EAGAIN => {
            "there are too many processes: use fewer --workers, or raise the limit (ulimit -u, or that \
             of the control group)"
        }
        libc::ENOMEM => {
            "there is no memory left: use fewer --workers or a smaller --max-memory, or raise the \
             limit (ulimit -v, or that of the control group)"
        }
        number => return format!("cannot fork a process for an execution (error {number})"),
    };
    format!("cannot fork a process for an execution: {why}")
}

/// Ends the process if its child failed, was disturbed or held: the child has reported the reason to the
/// controller already.
pub(crate) fn exit_if_failed() {
    if matches!(header().state.load(Acquire), state::FAILED | state::DISTURBED | state::HELD) {
        raw::exit_process(70);
    }
}

/// Whether the controller killed the process of the last execution, because it did not react to the
/// watchdog's signal.
pub(crate) fn unresponsive() -> bool {
    header().unresponsive.swap(0, Relaxed) != 0
}

/// The number of executions that ended, with any outcome.
pub(crate) fn ended() -> u64 {
    header().executions.load(Relaxed) + header().learning.load(Relaxed)
}

/// Begins the next execution unless that was done already; false if there is none to run.
pub(crate) fn ready() -> bool {
    let root = root();
    if root.begun.get() {
        return true;
    }
    if root.shared && !root.is_learning() {
        root.begun.set(shared_search::ready(root));
        return root.begun.get();
    }
    if header().stop.load(Acquire) != 0 || root.next.get() > root.last {
        return false;
    }
    if !root.strategy.borrow().begin(root.number()) {
        let coverage = root.strategy.borrow().coverage();
        let complete = matches!(coverage, Coverage::Complete { .. } | Coverage::AsAsked);
        header().complete.store(u32::from(complete), Release);
        return false;
    }
    root.begun.set(true);
    true
}

/// Reports to the watchdog which process runs the execution.
pub(crate) fn note_process() {
    // SAFETY: `getpid` takes no arguments and touches no memory.
    header().execution_pid.store(unsafe { raw::call!(libc::SYS_getpid) } as i32, Relaxed);
}

/// Prepares this process for executions.
pub(crate) fn set_up_process() {
    note_process();
    if let Err(message) = faults::install().and_then(|()| dispatch::enable()) {
        channel::fail(&message);
    }
}

/// Waits until the controller has restored the files that the last execution changed.
pub(crate) fn restore_files() {
    if header().files_changed.load(Relaxed) != 0 {
        await_controller(state::RESTORE);
    }
}

/// Asks the controller for something, and waits until it was done.
pub(crate) fn await_controller(request: u32) {
    let header = header();
    header.resume.store(0, Release);
    channel::set_state(request);
    while header.resume.load(Acquire) == 0 {
        raw::futex_wait(&header.resume, 0, 1000);
    }
    header.state.store(state::RUNNING, Release);
}
