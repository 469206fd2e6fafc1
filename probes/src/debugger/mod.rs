//! Cooperation with the debugger that holds the process by ptrace.

pub(crate) mod detached;
pub(crate) mod session;
pub(crate) mod task_table;
