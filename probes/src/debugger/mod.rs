//! Cooperation with the debugger that holds the process by ptrace.

pub(crate) mod detached;
pub(crate) mod stops;
