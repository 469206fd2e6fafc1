//! Fibers: the switch, stacks, thread control blocks, backtraces.

pub(crate) mod backtrace;
pub(crate) mod switch;
