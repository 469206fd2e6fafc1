//! Fibers: the switch, stacks, thread control blocks, backtraces.

pub(crate) mod backtrace;
pub(crate) mod stacks;
pub(crate) mod switch;
pub(crate) mod thread_block;
