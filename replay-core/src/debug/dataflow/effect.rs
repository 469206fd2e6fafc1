//! The effect of an instruction on some bytes. [`moves`] lists what each instruction that copies writes, and from
//! where; everything else that an instruction writes is computed.

use super::location::{Location, State, register};
use super::moves::{Move, Source, moves};
use iced_x86::{Instruction, InstructionInfoFactory, OpAccess};

/// What an instruction did to some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It wrote none of them.
    None,
    /// It copied them from here. If it extended a shorter value, this is the shorter one.
    Copied(Location),
    /// It wrote this constant.
    Constant(u64),
    /// It computed them.
    Computed,
    /// It wrote some of them, and not the others.
    Partly,
}

/// What an instruction did to these bytes.
pub(crate) fn effect(
    info: &mut InstructionInfoFactory,
    one: &Instruction,
    (before, after): (&State, &State),
    location: Location,
) -> Effect {
    let moves = moves(one, before, after);
    let mut overlapping = moves.iter().filter(|it| it.to.overlaps(location));
    let Some(first) = overlapping.next() else {
        return computed(info, one, before, location);
    };
    if let Some(offset) = first.to.offset_of(location) {
        return match first.from {
            Source::At(from) => Effect::Copied(from.part(offset, location.len())),
            Source::Value(value) if offset < 8 => {
                let value = value >> (8 * offset);
                let size = location.len().min(8);
                Effect::Constant(if size == 8 { value } else { value & ((1 << (8 * size)) - 1) })
            }
            Source::Value(_) => Effect::Constant(0),
            Source::Extension => Effect::Computed,
        };
    }
    // A shorter value that was extended: the rest says nothing new.
    let extends = |it: &Move| matches!(it.from, Source::Extension | Source::Value(0));
    let all = moves.iter().filter(|it| it.to.overlaps(location));
    let is_extended = first.to.distance(location) == Some(0)
        && overlapping.all(extends)
        && all.map(|it| it.to.len()).sum::<u64>() >= location.len();
    match first.from {
        Source::At(from) if is_extended => Effect::Copied(from.part(0, first.to.len())),
        Source::Value(value) if is_extended => Effect::Constant(value),
        _ => Effect::Partly,
    }
}

/// The same for an instruction that does not copy to these bytes.
fn computed(
    info: &mut InstructionInfoFactory,
    one: &Instruction,
    before: &State,
    location: Location,
) -> Effect {
    let writes = |access: OpAccess| {
        matches!(
            access,
            OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite
        )
    };
    let used = info.info(one);
    let memory = used.used_memory().iter().filter(|it| writes(it.access())).filter_map(|it| {
        let address = it.virtual_address(0, |register, _, _| Some(before.value(register)))?;
        Some(Location::Memory { address, len: it.memory_size().size() as u64 })
    });
    let registers = used.used_registers().iter().filter(|it| writes(it.access()));
    let mut written = memory.chain(registers.map(|it| register(it.register())));
    match written.find(|written| written.overlaps(location)) {
        None => Effect::None,
        Some(written) if written.offset_of(location).is_some() => Effect::Computed,
        Some(_) => Effect::Partly,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Register};

    /// What an instruction does to a location, with rdi = 0x1000, rsi = 0x2000, rcx = 2, and rsp = 0x8000.
    fn effect_of(code: &[u8], location: Location) -> Effect {
        let one = Decoder::with_ip(64, code, 0x40_0000, DecoderOptions::NONE).decode();
        assert!(!one.is_invalid(), "{code:x?}");
        let mut before = State { rip: 0x40_0000, ..State::default() };
        (before.general[7], before.general[6], before.general[1]) = (0x1000, 0x2000, 2);
        before.general[4] = 0x8000;
        let mut after = State { rip: one.next_ip(), ..before };
        after.general[1] = if one.has_rep_prefix() { 0 } else { 2 };
        effect(&mut InstructionInfoFactory::new(), &one, (&before, &after), location)
    }

    fn memory(address: u64, len: u64) -> Location {
        Location::Memory { address, len }
    }

    fn rax(offset: u64, len: u64) -> Location {
        Location::Register { register: Register::RAX, offset, len }
    }

    fn xmm0(offset: u64, len: u64) -> Location {
        Location::Register { register: Register::ZMM0, offset, len }
    }

    #[test]
    fn copies_lead_to_their_sources() {
        // mov [rdi], eax
        assert_eq!(effect_of(&[0x89, 0x07], memory(0x1000, 4)), Effect::Copied(rax(0, 4)));
        assert_eq!(effect_of(&[0x89, 0x07], memory(0x1002, 1)), Effect::Copied(rax(2, 1)));
        assert_eq!(effect_of(&[0x89, 0x07], memory(0x1004, 4)), Effect::None);
        assert_eq!(effect_of(&[0x89, 0x07], memory(0x1002, 4)), Effect::Partly);
        // mov eax, [rsi]
        assert_eq!(effect_of(&[0x8b, 0x06], rax(0, 4)), Effect::Copied(memory(0x2000, 4)));
        // It extends with zeros.
        assert_eq!(effect_of(&[0x8b, 0x06], rax(0, 8)), Effect::Copied(memory(0x2000, 4)));
        assert_eq!(effect_of(&[0x8b, 0x06], rax(4, 4)), Effect::Constant(0));
        // movsx eax, byte [rsi + 3]
        let extends = [0x0f, 0xbe, 0x46, 0x03];
        assert_eq!(effect_of(&extends, rax(0, 4)), Effect::Copied(memory(0x2003, 1)));
        // cdqe
        assert_eq!(effect_of(&[0x48, 0x98], rax(0, 8)), Effect::Copied(rax(0, 4)));
        // push rax; pop rax
        assert_eq!(effect_of(&[0x50], memory(0x7ff8, 8)), Effect::Copied(rax(0, 8)));
        assert_eq!(effect_of(&[0x58], rax(0, 8)), Effect::Copied(memory(0x8000, 8)));
        // movups xmm0, [rsi]; movups [rdi], xmm0
        let (load, store) = ([0x0f, 0x10, 0x06], [0x0f, 0x11, 0x07]);
        assert_eq!(effect_of(&load, xmm0(8, 4)), Effect::Copied(memory(0x2008, 4)));
        assert_eq!(effect_of(&store, memory(0x100c, 4)), Effect::Copied(xmm0(12, 4)));
        // xchg [rdi], eax
        assert_eq!(effect_of(&[0x87, 0x07], rax(0, 4)), Effect::Copied(memory(0x1000, 4)));
        // rep movsb
        let copied = effect_of(&[0xf3, 0xa4], memory(0x1001, 1));
        assert_eq!(copied, Effect::Copied(memory(0x2001, 1)));
    }

    #[test]
    fn constants_and_computations_end_a_value() {
        // mov dword [rdi], 7
        let code = [0xc7, 0x07, 7, 0, 0, 0];
        assert_eq!(effect_of(&code, memory(0x1000, 4)), Effect::Constant(7));
        assert_eq!(effect_of(&code, memory(0x1001, 1)), Effect::Constant(0));
        // mov ecx, 7 as a value of eight bytes
        let rcx = Location::Register { register: Register::RCX, offset: 0, len: 8 };
        assert_eq!(effect_of(&[0xb9, 7, 0, 0, 0], rcx), Effect::Constant(7));
        // xor eax, eax
        assert_eq!(effect_of(&[0x31, 0xc0], rax(0, 8)), Effect::Constant(0));
        // add [rdi], eax
        assert_eq!(effect_of(&[0x01, 0x07], memory(0x1000, 4)), Effect::Computed);
        // mov al, [rsi] writes a part of eax.
        assert_eq!(effect_of(&[0x8a, 0x06], rax(0, 4)), Effect::Partly);
        // cmp eax, [rsi]
        assert_eq!(effect_of(&[0x3b, 0x06], rax(0, 4)), Effect::None);
    }
}
