//! The process under the debugger: held by ptrace, and its fibers shown as threads.

pub(super) mod counting;
pub(super) mod loose;
pub(super) mod machine;
mod probes;
pub(super) mod registers;
mod running;
pub(super) mod tasks;
mod told;
pub(super) mod tracee;
mod watches;
