//! A module of the fuzzer imports no functions: this takes the place of the runtime's `calls`.

use super::bulk_functions::Bulk;
use super::catalogue::{Catalogue, Effects};
use super::image::{Image, Listed};
use iced_x86::Instruction;
use std::marker::PhantomData;

/// What a call site needs.
pub(super) struct Call {
    pub(super) effects: Effects,
    pub(super) unknown: u32,
    pub(super) bulk: Bulk,
}

/// The calls of a module.
pub(super) struct Calls<'a>(PhantomData<&'a Image>);

impl<'a> Calls<'a> {
    pub(super) fn of(_: &Image, _: &[Listed], _: &Catalogue, _: &'a [(Image, bool)]) -> Calls<'a> {
        Calls(PhantomData)
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
