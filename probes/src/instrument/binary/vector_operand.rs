//! The memory operands of vector instructions that access one element for each lane: gathers, scatters, and
//! instructions with a mask.

use crate::instrument::binary::operand::{Lanes, Mask, Measure, NONE, Operand};
use iced_x86::{Instruction, Mnemonic, OpAccess, Register, UsedMemory};

/// The operand, if the instruction accesses one element for each lane.
pub(super) fn of(instruction: &Instruction, memory: &UsedMemory) -> Option<Operand> {
    let element = instruction.memory_size().info().element_size() as u64;
    let lanes = if instruction.is_vsib() {
        indexed(instruction, element)?
    } else {
        masked(instruction, element)?
    };
    let writes = matches!(memory.access(), OpAccess::Write | OpAccess::CondWrite);
    Some(Operand {
        base: general(memory.base())?,
        index: if lanes.index.is_some() { NONE } else { general(memory.index())? },
        scale: memory.scale() as u8,
        displacement: displacement(instruction, memory),
        size: element,
        measure: Measure::Lanes(lanes),
        reads: !writes,
        writes,
        ..Operand::NOTHING
    })
}

/// A gather or scatter.
fn indexed(instruction: &Instruction, element: u64) -> Option<Lanes> {
    let index = instruction.memory_index();
    let index_size = if instruction.is_vsib32() { 4 } else { 8 };
    let registers = [instruction.op0_register(), instruction.op1_register()];
    let data = registers.into_iter().find(|register| register.is_vector_register())?;
    let mask = match instruction.op_mask() {
        Register::None => Mask::Vector(vector(instruction.op2_register())?),
        mask => Mask::Bits(mask.number() as u8),
    };
    let count = (data.size() as u64 / element).min(index.size() as u64 / index_size);
    Some(Lanes {
        count: count as u8,
        index: Some((vector(index)?, index_size as u8)),
        mask,
        data: vector(data)?,
        dense: false,
    })
}

/// An instruction that accesses consecutive elements, those that a mask selects.
fn masked(instruction: &Instruction, element: u64) -> Option<Lanes> {
    use Mnemonic as M;
    let size = instruction.memory_size().info().size() as u64;
    let (mask, size, element) = match (instruction.mnemonic(), instruction.op_mask()) {
        (M::Maskmovdqu | M::Vmaskmovdqu, _) => {
            let registers = [instruction.op1_register(), instruction.op2_register()];
            let mask = registers.into_iter().rfind(|register| register.is_vector_register())?;
            (Mask::Vector(vector(mask)?), 16, 1)
        }
        (M::Vmaskmovps | M::Vmaskmovpd | M::Vpmaskmovd | M::Vpmaskmovq, _) => {
            (Mask::Vector(vector(instruction.op1_register())?), size, element)
        }
        (_, Register::None) => return None,
        (_, mask) => (Mask::Bits(mask.number() as u8), size, element),
    };
    let dense = matches!(
        instruction.mnemonic(),
        M::Vpcompressb
            | M::Vpcompressw
            | M::Vpcompressd
            | M::Vpcompressq
            | M::Vcompressps
            | M::Vcompresspd
            | M::Vpexpandb
            | M::Vpexpandw
            | M::Vpexpandd
            | M::Vpexpandq
            | M::Vexpandps
            | M::Vexpandpd
    );
    // One element is loaded for all lanes: none is accessed if the mask is empty.
    let count = if instruction.is_broadcast() { 1 } else { size.checked_div(element)? };
    Some(Lanes { count: count as u8, index: None, mask, data: 0, dense })
}

fn vector(register: Register) -> Option<u8> {
    register.is_vector_register().then(|| register.number() as u8)
}

/// The number of a general register that is part of an address.
pub(super) fn general(register: Register) -> Option<u8> {
    match register {
        Register::None | Register::RIP => Some(NONE),
        register if register.is_gpr64() => Some(register.number() as u8),
        _ => None,
    }
}

/// The displacement of an operand.
pub(super) fn displacement(instruction: &Instruction, memory: &UsedMemory) -> u64 {
    let fixed =
        matches!(memory.base(), Register::None | Register::RIP) && memory.index() == Register::None;
    match instruction.is_ip_rel_memory_operand() && fixed {
        true => instruction.ip_rel_memory_address(),
        false => memory.displacement(),
    }
}
