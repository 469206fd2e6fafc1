//! Determines from the wait status of a process whether the process ended itself or was killed.

/// Signals that the kernel sends because of an action of the process itself. Every other fatal signal
/// was sent by a process; the runtime delivers those that the program sends to itself.
const OWN: [i32; 8] = [
    libc_signal::SIGILL,
    libc_signal::SIGTRAP,
    libc_signal::SIGABRT,
    libc_signal::SIGBUS,
    libc_signal::SIGFPE,
    libc_signal::SIGSEGV,
    libc_signal::SIGPIPE,
    libc_signal::SIGSYS,
];

/// The numbers of Linux on x86-64; this crate depends on no C library.
mod libc_signal {
    pub(super) const SIGILL: i32 = 4;
    pub(super) const SIGTRAP: i32 = 5;
    pub(super) const SIGABRT: i32 = 6;
    pub(super) const SIGBUS: i32 = 7;
    pub(super) const SIGFPE: i32 = 8;
    pub(super) const SIGSEGV: i32 = 11;
    pub(super) const SIGPIPE: i32 = 13;
    pub(super) const SIGSYS: i32 = 31;
}

/// The signal that ended a process with this wait status; 0 for none.
#[must_use]
pub fn ending_signal(status: i32) -> i32 {
    status & 0x7f
}

/// Whether a process with this wait status was ended by a signal that it did not cause itself: by
/// another process, by the kernel's out-of-memory killer, or by a limit.
#[must_use]
pub fn was_ended_from_outside(status: i32) -> bool {
    let signal = ending_signal(status);
    signal != 0 && signal != 0x7f && !OWN.contains(&signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_the_programs_own_and_sent_signals_are_not() {
        // The wait status of a signal is its number, with 0x80 added for a core dump.
        for (status, outside) in [
            (0, false),
            (1 << 8, false),
            (9, true),
            (15, true),
            (24, true),
            (11, false),
            (11 | 0x80, false),
            (6 | 0x80, false),
            (13, false),
            (3 | 0x80, true),
        ] {
            assert_eq!(was_ended_from_outside(status), outside, "{status:#x}");
        }
    }
}
