//! Whether the processes of a client do something, or wait for the program.

use super::other_processes::{processes, session_of, text_of, threads};

/// What the processes of a session do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing: they wait, perhaps for a time.
    Waits,
    /// Each waits for data or for another of them, without a time limit.
    WaitsForData,
    /// Something, or that is not known.
    Runs,
}

/// That, now.
pub(super) fn activity(session: i64) -> Activity {
    let mut activity = Activity::WaitsForData;
    for process in processes().into_iter().filter(|&it| session_of(it) == Some(session)) {
        for thread in threads(process) {
            let thread = format!("/proc/{process}/task/{thread}");
            let state = text_of(&format!("{thread}/stat"));
            // One that has ended, of which its parent has not taken the status, or just now.
            if state.is_empty() || has_state(&state, 'Z') {
                continue;
            }
            if !has_state(&state, 'S') {
                return Activity::Runs;
            }
            if !waits_for_data(&text_of(&format!("{thread}/syscall"))) {
                activity = Activity::Waits;
            }
        }
    }
    activity
}

/// Whether a process has this state, by the kernel's description of it: the state comes behind its name, which may have
/// any characters.
fn has_state(description: &str, state: char) -> bool {
    let behind = description.rsplit_once(')').map_or("", |(_, rest)| rest);
    behind.trim_start().starts_with(state)
}

/// Whether a system call waits for data, or for another process, without a time limit: its number and its arguments, as the
/// kernel shows them.
fn waits_for_data(call: &str) -> bool {
    let mut fields = call.split_ascii_whitespace();
    let Some(Ok(number)) = fields.next().map(str::parse::<i64>) else { return false };
    let arguments: Vec<u64> = fields
        .map_while(|field| u64::from_str_radix(field.trim_start_matches("0x"), 16).ok())
        .collect();
    let argument = |at: usize| arguments.get(at).copied();
    let is_endless = |at: usize| argument(at).is_some_and(|limit| (limit as i32) < 0);
    let has_none = |at: usize| argument(at) == Some(0);
    match number {
        libc::SYS_read
        | libc::SYS_readv
        | libc::SYS_recvfrom
        | libc::SYS_recvmsg
        | libc::SYS_wait4
        | libc::SYS_waitid => true,
        libc::SYS_poll => is_endless(2),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => is_endless(3),
        libc::SYS_ppoll => has_none(2),
        libc::SYS_select | libc::SYS_pselect6 => has_none(4),
        libc::SYS_futex => has_none(3),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_with_a_time_limit_are_none_for_data() {
        let end = "0x7ffd0 0x7f00";
        assert!(waits_for_data(&format!("0 0x3 0x7ff 0x1 0x0 0x0 0x0 {end}")));
        assert!(waits_for_data(&format!("7 0x7ff 0x1 0xffffffff 0x0 0x0 0x0 {end}")));
        assert!(!waits_for_data(&format!("7 0x7ff 0x1 0x64 0x0 0x0 0x0 {end}")));
        assert!(waits_for_data(&format!("232 0x7ff 0x1 0x8 0xffffffffffffffff 0x0 0x0 {end}")));
        assert!(!waits_for_data(&format!("230 0x0 0x0 0x7ff 0x7ff 0x0 0x0 {end}")));
        assert!(waits_for_data(&format!("202 0x7ff 0x80 0x2 0x0 0x0 0x0 {end}")));
        assert!(!waits_for_data(&format!("202 0x7ff 0x80 0x2 0x7ff8 0x0 0x0 {end}")));
        for unknown in ["running", "", "-1 0x7ff 0x7f0"] {
            assert!(!waits_for_data(unknown), "{unknown}");
        }
    }

    #[test]
    fn the_state_comes_behind_the_name() {
        assert!(has_state("12 (a (b) S) R 1 12", 'R'));
        assert!(has_state("12 (sh) S 1 12", 'S'));
        assert!(!has_state("", 'S'));
    }

    #[test]
    fn this_process_runs() {
        // SAFETY: passes no pointer.
        let own = session_of(unsafe { crate::sys::raw::call!(libc::SYS_getpid) });
        assert_eq!(activity(own.expect("it has a session")), Activity::Runs);
    }
}
