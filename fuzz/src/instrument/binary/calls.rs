//! A module of the fuzzer imports no functions: this takes the place of the runtime's `calls`.

use super::bulk_functions::Bulk;
use super::catalogue::Effects;
use super::image::{Image, Listed};
use iced_x86::Instruction;

/// What a call site needs.
pub(super) struct Call {
    pub(super) effects: Effects,
    pub(super) unknown: u32,
    pub(super) bulk: Bulk,
}

/// The calls of a module with these functions.
pub(super) struct Calls<'a>(pub(super) &'a [Listed]);

impl<'a> Calls<'a> {
    pub(super) fn functions(&self) -> &'a [Listed] {
        self.0
    }

    pub(super) fn effects(&self, _: &Image, _: &Instruction) -> Option<Call> {
        None
    }

    pub(super) fn uncovered(&self, _: &Image, _: u64) -> Option<u32> {
        None
    }

    pub(super) fn clock(&self, _: &Image, _: &Instruction) -> u32 {
        1
    }

    pub(super) fn form(&self, _: &Image, _: &Instruction) -> u32 {
        1
    }
}
