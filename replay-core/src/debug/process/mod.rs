//! The process under the debugger: traced with ptrace, with its fibers shown as threads.

mod extended_registers;
pub(super) mod jump_counter;
pub(super) mod machine;
mod probes;
pub(super) mod registers;
mod room;
mod running;
mod runtime_state;
pub(super) mod tasks;
pub(super) mod tracee;
pub(super) mod untraced;
mod watchpoints;
