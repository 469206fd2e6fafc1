//! The priority of work that no user waits for.

/// How much the nice value of background work is above that of the process: such work gets about a
/// tenth of a processor that something else wants, and all of one that is free.
const BACKGROUND: i32 = 10;

/// Gives processors to other threads first while this thread works, and while the processes work that
/// it starts from now on. The runtime reports to programs the priority that they would have without that.
pub fn lower_for_background() {
    let nice = (of_process() + BACKGROUND).min(19);
    // SAFETY: the call takes numbers only; 0 is the calling thread.
    // If it is refused, background work has the usual priority.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// The nice value with which this process was started: its first thread keeps it.
pub(crate) fn of_process() -> i32 {
    // SAFETY: the call takes numbers only. It fails only for a process that does not exist.
    unsafe { libc::getpriority(libc::PRIO_PROCESS, std::process::id()) }
}
