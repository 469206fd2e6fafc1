//! Copies of instructions near the text, with a call of the runtime in front of those that are
//! probed.

use crate::sys::raw;
use iced_x86::{
    Code as CallCode, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use crate::instrument::binary::jump_plan::Moves;

/// The greatest distance from the text: copies address the program's data relative to their own
/// position.
const REACH: u64 = 1 << 30;
/// The most bytes of the copies for one probe.
const MOST: usize = 160;

/// An area of copies. Its first word is the address that probes call.
#[derive(Debug)]
pub(super) struct Area {
    start: u64,
    len: u64,
    used: u64,
}

/// A copy of an instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved {
    /// The address of the copy itself.
    pub(super) copy: u64,
    /// Where to continue instead of at the original: at the call of the runtime in front of the
    /// copy, if it is probed.
    pub(super) entry: u64,
    pub(super) original: u64,
}

/// An instruction to be copied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copied<'code> {
    pub(super) instruction: &'code Instruction,
    /// Its bytes in the program.
    pub(super) bytes: &'code [u8],
    /// The number of its probe.
    pub(super) probe: Option<u32>,
}

/// Whether an instruction can run elsewhere.
pub(super) fn moves(instruction: &Instruction) -> Moves {
    match instruction.flow_control() {
        _ if instruction.mnemonic() == Mnemonic::Endbr64 => Moves::Never,
        FlowControl::Next if instruction.memory_base() != Register::EIP => Moves::Anywhere,
        FlowControl::Return => Moves::Last,
        FlowControl::Call if instruction.code() == CallCode::Call_rel32_64 => Moves::Last,
        FlowControl::IndirectCall | FlowControl::IndirectBranch if leads_elsewhere(instruction) => {
            Moves::Last
        }
        FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => Moves::Last,
        FlowControl::ConditionalBranch if condition(instruction).is_some() => Moves::Last,
        _ => Moves::Never,
    }
}

/// Whether it is a call or a jump through memory or a register.
fn leads_elsewhere(instruction: &Instruction) -> bool {
    let is_one = matches!(instruction.code(), CallCode::Call_rm64 | CallCode::Jmp_rm64);
    is_one
        && match instruction.op0_kind() {
            OpKind::Memory => instruction.memory_base() != Register::EIP,
            // The copy of a call changes the stack pointer first.
            _ => instruction.op0_register() != Register::RSP,
        }
}

/// The jump in place of a call or jump through memory, at this address. Only the digit in ModRM
/// differs (Intel SDM 2, `FF /2` and `FF /4`), and the displacement where it is relative to what
/// moves: the instruction's own address, or the stack pointer, as the copy of a call pushes the
/// return address first.
fn as_jump(one: &Copied<'_>, at: u64) -> Option<Vec<u8>> {
    let instruction = one.instruction;
    let opcode = one.bytes.iter().position(|&byte| byte == 0xff)?;
    let mode = *one.bytes.get(opcode + 1)? & !0x38 | 4 << 3;
    let mut jump = one.bytes[..=opcode].to_vec();
    if instruction.is_ip_rel_memory_operand() {
        let end = at + jump.len() as u64 + 5;
        let distance = instruction.ip_rel_memory_address().wrapping_sub(end) as i64;
        jump.push(mode);
        jump.extend(i32::try_from(distance).ok()?.to_le_bytes());
        return Some(jump);
    }
    let is_call = instruction.flow_control() == FlowControl::IndirectCall;
    if is_call && instruction.memory_base() == Register::RSP {
        // With 32 bits of displacement, as 8 bits may not hold the sum.
        let moved = instruction.memory_displacement64().wrapping_add(8) as i64;
        jump.push(mode & 0x3f | 0x80);
        jump.push(*one.bytes.get(opcode + 2)?);
        jump.extend(i32::try_from(moved).ok()?.to_le_bytes());
        return Some(jump);
    }
    jump.push(mode);
    jump.extend(one.bytes.get(opcode + 2..)?);
    Some(jump)
}

/// The low bits of a conditional jump's opcode; none for loop instructions.
fn condition(instruction: &Instruction) -> Option<u8> {
    use iced_x86::ConditionCode as C;
    Some(match instruction.condition_code() {
        _ if !instruction.is_jcc_short_or_near() => return None,
        C::None => return None,
        C::o => 0,
        C::no => 1,
        C::b => 2,
        C::ae => 3,
        C::e => 4,
        C::ne => 5,
        C::be => 6,
        C::a => 7,
        C::s => 8,
        C::ns => 9,
        C::p => 10,
        C::np => 11,
        C::l => 12,
        C::ge => 13,
        C::le => 14,
        C::g => 15,
    })
}

impl Area {
    /// Maps an area for so many probes near the text; they call `stub`.
    pub(super) fn map(text: (u64, u64), sites: usize, stub: u64) -> Option<Area> {
        let len = ((sites + 1) * MOST).next_multiple_of(4096) as u64;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
        // Below the program first: its heap grows above it.
        let below = (1..).map(|step| text.0.checked_sub(len + step * (1 << 20)));
        let below = below.map_while(|at| at.filter(|at| *at >= 1 << 16 && text.1 - at < REACH));
        let above = (0..).map(|step| text.1 + (64 << 20) + step * (1 << 20));
        let above = above.take_while(|at| at + len - text.0 < REACH);
        let start = below.chain(above).find_map(|at| {
            let at = at & !4095;
            raw::map(at as usize, len as usize, prot, flags)
        })? as u64;
        // SAFETY: the area was just mapped with at least a page.
        unsafe { (start as *mut u64).write(stub) };
        let area = Area { start, len, used: 8 };
        area.open(false).then_some(area)
    }

    /// Makes the copies writable, or executable again.
    pub(super) fn open(&self, open: bool) -> bool {
        let prot = if open { libc::PROT_WRITE } else { libc::PROT_EXEC };
        crate::instrument::binary::patch::protect(self.start, self.len, libc::PROT_READ | prot)
    }

    /// The range of the copies.
    pub(super) fn range(&self) -> (u64, u64) {
        (self.start, self.start + self.len)
    }

    /// Discards all copies: no task executes one.
    pub(super) fn clear(&mut self) {
        self.used = 8;
    }

    /// Copies consecutive instructions, followed by a jump behind the last of them; returns their
    /// addresses. None if there is no room or one cannot be copied. The area is open.
    pub(super) fn add(&mut self, all: &[Copied<'_>]) -> Option<Vec<Moved>> {
        let mut code = Code { at: self.start + self.used, bytes: Vec::new(), stub: self.start };
        let mut moved = Vec::new();
        for one in all {
            let entry = code.here();
            if let Some(probe) = one.probe {
                code.probe(one.instruction.ip(), probe);
            }
            moved.push(Moved { copy: code.here(), entry, original: one.instruction.ip() });
            code.copy(one)?;
        }
        code.jump(all.last()?.instruction.next_ip())?;
        let Code { at, bytes, .. } = code;
        if self.used + bytes.len() as u64 > self.len {
            return None;
        }
        // SAFETY: the bytes end within the area, which is writable now, and no task executes there.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.used += (bytes.len() as u64).next_multiple_of(8);
        Some(moved)
    }
}

/// Code that is being generated.
struct Code {
    /// The address where it will be.
    at: u64,
    bytes: Vec<u8>,
    /// The address of the word with the address of the runtime's stub.
    stub: u64,
}

impl Code {
    fn here(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// Appends the last four bytes of an instruction: the distance from its end to `target`.
    fn relative(&mut self, target: u64) -> Option<()> {
        let distance = target.wrapping_sub(self.here() + 4) as i64;
        self.bytes.extend(i32::try_from(distance).ok()?.to_le_bytes());
        Some(())
    }

    fn jump(&mut self, target: u64) -> Option<()> {
        self.bytes.push(0xe9);
        self.relative(target)
    }

    /// A call of the runtime, with the instruction's address and the probe's number on the stack,
    /// below the red zone. Changes no flag. The call and its return are paired, so the processor
    /// predicts the return.
    fn probe(&mut self, address: u64, number: u32) {
        self.bytes.extend([0x48, 0x8d, 0x64, 0x24, 0x80]); // lea rsp, [rsp - 128]
        self.push(address);
        self.bytes.push(0x68); // push the number
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend([0xff, 0x15]); // call [the area's first word]
        let distance = self.stub.wrapping_sub(self.here() + 4);
        self.bytes.extend((distance as u32).to_le_bytes());
        self.bytes.extend([0x48, 0x8d, 0xa4, 0x24, 144, 0, 0, 0]); // lea rsp, [rsp + 144]
    }

    /// Pushes an address: its low half, sign-extended, and then the high half over the extension.
    fn push(&mut self, address: u64) {
        self.bytes.push(0x68); // push ...
        self.bytes.extend((address as u32).to_le_bytes());
        self.bytes.extend([0xc7, 0x44, 0x24, 0x04]); // mov dword [rsp + 4], ...
        self.bytes.extend(((address >> 32) as u32).to_le_bytes());
    }

    /// The instruction, unchanged or adapted to its new address.
    fn copy(&mut self, one: &Copied<'_>) -> Option<()> {
        let instruction = one.instruction;
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                self.bytes.extend([0x0f, 0x80 | condition(instruction)?]);
                self.relative(instruction.near_branch_target())
            }
            FlowControl::UnconditionalBranch => self.jump(instruction.near_branch_target()),
            // The called function returns to the program's own code, for which unwind tables exist.
            FlowControl::Call => {
                self.push(instruction.next_ip());
                self.jump(instruction.near_branch_target())
            }
            FlowControl::IndirectCall | FlowControl::IndirectBranch => {
                if instruction.flow_control() == FlowControl::IndirectCall {
                    self.push(instruction.next_ip());
                }
                let jump = as_jump(one, self.here())?;
                self.bytes.extend(jump);
                Some(())
            }
            FlowControl::Next | FlowControl::Return if instruction.is_ip_rel_memory_operand() => {
                let mut decoder =
                    Decoder::with_ip(64, one.bytes, instruction.ip(), DecoderOptions::NONE);
                let decoded = decoder.decode();
                let place = decoder.get_constant_offsets(&decoded);
                if place.displacement_size() != 4 {
                    return None;
                }
                let here = self.here() + one.bytes.len() as u64;
                let distance = instruction.ip_rel_memory_address().wrapping_sub(here) as i64;
                let distance = i32::try_from(distance).ok()?.to_le_bytes();
                let at = self.bytes.len() + place.displacement_offset();
                self.bytes.extend(one.bytes);
                self.bytes[at..at + 4].copy_from_slice(&distance);
                Some(())
            }
            FlowControl::Next | FlowControl::Return => {
                self.bytes.extend(one.bytes);
                Some(())
            }
            _ => None,
        }
    }
}
