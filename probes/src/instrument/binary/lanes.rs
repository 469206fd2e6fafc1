//! Accesses of vector instructions to one element for each lane.
//!
//! A gather or scatter is a sequence of accesses, between which other threads run. Each element is therefore
//! loaded or stored here, as a separate access, and its lane is removed from the mask, as the processor
//! does after each element. The instruction then runs with an empty mask.

use crate::detect::access::{Access, peek};
use crate::instrument::binary::monitored::plain;
use crate::instrument::binary::operand::{Lanes, Mask, Operand};
use crate::sys::stops;
use crate::sys::vector_state::VectorState;

/// Which elements take part, one bit each.
fn selected(lanes: &Lanes, element: u64, state: &VectorState) -> u64 {
    let all = (0..u64::from(lanes.count)).fold(0, |all, lane| all | 1 << lane);
    let selected = match lanes.mask {
        Mask::Bits(register) => state.mask(register),
        Mask::Vector(register) => (0..u64::from(lanes.count))
            .map(|lane| state.byte(register, lane * element + element - 1) >> 7 << lane)
            .fold(0, |selected, lane| selected | lane),
    };
    selected & all
}

/// The extent of the elements that an instruction without indices accesses; none if it accesses none. What
/// is between two elements that take part counts as accessed.
pub(super) fn extent(
    lanes: &Lanes,
    element: u64,
    start: u64,
    state: &VectorState,
) -> Option<(u64, u64)> {
    let selected = selected(lanes, element, state);
    if selected == 0 {
        return None;
    }
    if lanes.dense {
        return Some((start, u64::from(selected.count_ones()) * element));
    }
    let first = u64::from(selected.trailing_zeros());
    let behind = u64::from(64 - selected.leading_zeros());
    Some((start + first * element, (behind - first) * element))
}

/// Makes the accesses of a gather or scatter, which ends at `site`. `start` is the address for the index 0.
pub(super) fn each(
    site: u64,
    operand: &Operand,
    lanes: &Lanes,
    start: u64,
    state: &mut VectorState,
) {
    let Some((index, index_size)) = lanes.index else { return };
    let element = operand.size;
    let selected = selected(lanes, element, state);
    for lane in (0..u64::from(lanes.count)).filter(|lane| selected >> lane & 1 != 0) {
        let index = state.element(index, lane, u64::from(index_size));
        let index = if index_size == 4 { i64::from(index as i32) as u64 } else { index };
        let address = start.wrapping_add(index.wrapping_mul(u64::from(operand.scale)));
        let access = Access {
            address,
            size: element,
            writes: operand.writes,
            atomic: false,
            proven: false,
            site,
            in_parts: false,
        };
        plain(&access);
        if operand.writes {
            let value = state.element(lanes.data, lane, element);
            // SAFETY: the program is about to write these bytes itself; a fault here is the program's.
            stops::for_program(|| unsafe {
                std::ptr::copy_nonoverlapping(
                    (&raw const value).cast::<u8>(),
                    address as *mut u8,
                    element as usize,
                );
            });
        } else {
            let value = stops::for_program(|| peek(address, element));
            state.set_element(lanes.data, lane, element, value);
        }
        match lanes.mask {
            Mask::Bits(register) => state.set_mask(register, state.mask(register) & !(1 << lane)),
            Mask::Vector(register) => state.set_element(register, lane, element, 0),
        }
    }
}
