//! Fibers: the switch, stacks, thread control blocks, backtraces, exception handlers.

pub(crate) mod backtrace;
pub(crate) mod handlers;
pub(crate) mod switch;
