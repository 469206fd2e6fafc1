//! A write to memory whose history is asked for.

use super::position::{Position, Watch};

/// A write to watched memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written {
    /// The position after the write.
    pub(crate) position: Position,
    pub(crate) task: u16,
    /// An address in the program's instruction that wrote, or in the call that did.
    pub(crate) near: u64,
    pub(crate) watch: Watch,
    /// The contents afterwards.
    pub(crate) value: u64,
}
