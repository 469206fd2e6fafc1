//! The address that an operand leads to, by the registers.

use crate::detect::access::peek;
use crate::instrument::binary::operand::{LOWEST, NONE, Operand};
use crate::state::world::world;

/// The address of an operand.
#[inline]
pub(super) fn address(operand: &Operand, general: &[u64; 16]) -> u64 {
    let register = |number: u8| match number {
        NONE => 0,
        number => general[usize::from(number & 15)],
    };
    let scaled = register(operand.index).wrapping_mul(u64::from(operand.scale));
    let segment = if operand.thread_local { world().task().block.get() } else { 0 };
    let base = match register(operand.base) {
        pointer if operand.pointed && pointer >= LOWEST => {
            word_at(pointer + u64::from(operand.pointer_at))
        }
        _ if operand.pointed => 0,
        base => base,
    };
    segment.wrapping_add(base).wrapping_add(scaled).wrapping_add(operand.displacement)
}

/// The word at an address that a C library function is about to read; 0 for a null pointer.
pub(super) fn word_at(address: u64) -> u64 {
    if address < LOWEST {
        return 0;
    }
    peek(address, 8)
}
