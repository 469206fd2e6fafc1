//! Events that are reported when the program is resumed next.

use crate::debug::execution::RecordedStop;
use crate::debug::execution::position::Watch;
use crate::debug::process::registers::Values;

/// Events to report when the program is resumed.
#[derive(Debug, Default)]
pub(super) struct Owed {
    /// An event of another task while one task stepped alone.
    pub(super) event: Option<RecordedStop>,
    /// Tasks that are not shown where they are, until the program is resumed: after an instruction
    /// that was not executed, or with registers that a debugger wrote before a move.
    pub(super) pretended: Vec<(u16, Values)>,
    /// Further watched memory that was accessed at this position, and whether the execution moved
    /// forwards to it.
    pub(super) touched: Vec<Watch>,
    pub(super) forwards: bool,
}
