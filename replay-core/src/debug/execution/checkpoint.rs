//! A process that an execution can return to.

use super::position::Position;
use crate::debug::process::machine::Machine;

/// A process at a known position.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub(super) machine: Machine,
    pub(super) position: Position,
    pub(super) outside: u64,
}
