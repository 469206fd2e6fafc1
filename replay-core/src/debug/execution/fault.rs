//! The operand of an instruction that faulted: the pointer that leads to memory that is not there.

use super::Execution;
use crate::Error;
use crate::debug::dataflow::{Location, State};
use iced_x86::{Instruction, OpKind, Register};

/// The size of a pointer.
const POINTER: u64 = 8;

/// What an instruction that faulted used as an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadPointer {
    /// Where the pointer is.
    pub(crate) location: Location,
    pub(crate) value: u64,
    /// The address that was accessed or jumped to.
    pub(crate) address: u64,
}

impl Execution {
    /// The pointer that the instruction at the current position, which faulted, used. Where the
    /// program jumped to an address without code, the position becomes that before the jump.
    pub(crate) fn bad_pointer(&mut self) -> Result<Option<BadPointer>, Error> {
        let state = self.state_now()?;
        let one = self.instruction_at(state.rip);
        if !one.is_invalid() {
            return Ok(self.memory_operand(&one, &state));
        }
        let here = self.at.clone();
        let stretch = self.record_step(here.step, Some(&here))?;
        let jumped = stretch.states.iter().rposition(|before| before.rip != state.rip);
        let Some(last) = jumped.filter(|_| !stretch.is_cut) else { return Ok(None) };
        let jump = stretch.states[last];
        let one = self.instruction_at(jump.rip);
        let location = match one.op0_kind() {
            // A return, and what is no instruction, have no operand.
            _ if one.op_count() == 0 => None,
            OpKind::Register => {
                Some(Location::Register { register: one.op0_register(), offset: 0, len: POINTER })
            }
            OpKind::Memory => effective_address(&one, &jump)
                .map(|address| Location::Memory { address, len: POINTER }),
            _ => None,
        };
        let Some(location) = location else { return Ok(None) };
        self.go_to(&stretch.position(last))?;
        Ok(Some(BadPointer { location, value: state.rip, address: state.rip }))
    }

    /// The register of a memory operand that does not lead to memory.
    fn memory_operand(&self, one: &Instruction, state: &State) -> Option<BadPointer> {
        let address = effective_address(one, state)?;
        let is_pointer = |register: &Register| {
            register.is_gpr64() && !matches!(register, Register::RSP | Register::RIP)
        };
        let registers = [one.memory_base(), one.memory_index()];
        let mut pointers = registers.iter().filter(|it| is_pointer(it));
        let is_mapped =
            |register: &&Register| self.live.read(state.value(**register), &mut [0]) == 1;
        // A base in memory that is there belongs to an object: then the index leads out of it.
        let register = *pointers.clone().find(|it| !is_mapped(it)).or_else(|| pointers.next())?;
        let value = state.value(register);
        let location = Location::Register { register, offset: 0, len: POINTER };
        Some(BadPointer { location, value, address })
    }
}

/// The address of an instruction's memory operand.
fn effective_address(one: &Instruction, state: &State) -> Option<u64> {
    let operand = (0..one.op_count()).find(|&at| one.op_kind(at) == OpKind::Memory)?;
    one.virtual_address(operand, 0, |register, _, _| match register {
        // The flat segments.
        Register::CS | Register::DS | Register::ES | Register::SS => Some(0),
        register if register.is_gpr() || register.is_segment_register() => {
            Some(state.value(register))
        }
        _ => None,
    })
}
