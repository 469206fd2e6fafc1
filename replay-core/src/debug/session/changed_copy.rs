//! A copy of the process that was changed.

use crate::debug::execution::position::Position;
use crate::debug::process::machine::Machine;
use crate::debug::process::registers::Values;
use crate::debug::process::tasks::Thread;

/// A copy of the process that the user changed; the original is stored here.
pub(super) struct Diversion {
    pub(super) original: Machine,
    pub(super) at: Position,
    /// The registers when the copy was made.
    pub(super) values: Values,
    /// The tasks when the copy was made.
    pub(super) threads: Vec<Thread>,
    /// Writes to memory, in order.
    pub(super) written: Vec<(u64, Vec<u8>)>,
    /// Whether registers were changed or a function was called.
    pub(super) more: bool,
}
