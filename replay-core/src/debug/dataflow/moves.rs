//! The instructions that copy.

use super::location::{Location, State, register};
use iced_x86::{ConditionCode, EncodingKind, Instruction, Mnemonic, OpKind, Register};

/// Bytes that an instruction writes without computing them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) to: Location,
    pub(super) from: Source,
}

/// Where such bytes come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    At(Location),
    Value(u64),
    /// The sign of the bytes below.
    Extension,
}

const ZERO_FLAG: u64 = 1 << 6;
const DIRECTION: u64 = 1 << 10;

/// The largest vector register, in bytes.
const VECTOR: u64 = 64;
/// What an instruction without a VEX prefix writes at most.
const SSE: u64 = 16;

/// The operand of an instruction: its bytes, unless it is a constant.
fn operand(one: &Instruction, number: u32, state: &State) -> Option<Location> {
    match one.op_kind(number) {
        OpKind::Register => Some(register(one.op_register(number))),
        OpKind::Memory => {
            let address = one.virtual_address(number, 0, |it, _, _| Some(state.value(it)))?;
            Some(Location::Memory { address, len: one.memory_size().size() as u64 })
        }
        _ => None,
    }
}

fn source(one: &Instruction, number: u32, state: &State) -> Option<Source> {
    match operand(one, number, state) {
        Some(location) => Some(Source::At(location)),
        None => one.try_immediate(number).ok().map(Source::Value),
    }
}

/// A copy from one operand to the first, and what happens to the rest of the register.
fn copy(one: &Instruction, from: u32, state: &State, rest: Source) -> Vec<Move> {
    let (Some(to), Some(from)) = (operand(one, 0, state), source(one, from, state)) else {
        return Vec::new();
    };
    let size = match from {
        Source::At(from) => from.len().min(to.len()),
        _ => to.len(),
    };
    let from = match from {
        Source::At(from) => Source::At(from.part(0, size)),
        other => other,
    };
    let mut moves = vec![Move { to: to.part(0, size), from }];
    let Location::Register { register, offset: 0, len } = to else { return moves };
    // A register of 32 bits is extended with zeros to 64, a vector to the width of the instruction.
    let width = match (register.is_gpr(), len) {
        (true, 4) => 8,
        (true, len) => len,
        (false, len) if is_vex(one) => VECTOR.max(len),
        (false, len) => len,
    };
    let mut fill = |from: u64, to: u64, what: Source| {
        if from < to {
            let to = Location::Register { register, offset: from, len: to - from };
            moves.push(Move { to, from: what });
        }
    };
    fill(size, len, rest);
    fill(len.max(size), width, Source::Value(0));
    moves
}

/// Whether an instruction clears the upper part of the vector register that it writes.
fn is_vex(one: &Instruction) -> bool {
    one.code().encoding() != EncodingKind::Legacy
}

/// What an instruction copies: nothing, if it computes what it writes.
pub(super) fn moves(one: &Instruction, before: &State, after: &State) -> Vec<Move> {
    use Mnemonic as M;
    if one.op_mask() != Register::None {
        return Vec::new();
    }
    if one.is_string_instruction() {
        return string_moves(one, before, after);
    }
    let stack = |offset: i64| Location::Memory {
        address: before.value(Register::RSP).wrapping_add_signed(offset),
        len: 8,
    };
    let single = |to: Location, from: Source| vec![Move { to, from }];
    let zero = Source::Value(0);
    let is_memory = |number: u32| one.op_kind(number) == OpKind::Memory;
    match one.mnemonic() {
        M::Mov | M::Movzx | M::Movnti => copy(one, 1, before, zero),
        M::Movsx | M::Movsxd => copy(one, 1, before, Source::Extension),
        M::Movaps
        | M::Movups
        | M::Movapd
        | M::Movupd
        | M::Movdqa
        | M::Movdqu
        | M::Lddqu
        | M::Movntps
        | M::Movntpd
        | M::Movntdq
        | M::Movntdqa
        | M::Vmovaps
        | M::Vmovups
        | M::Vmovapd
        | M::Vmovupd
        | M::Vmovdqa
        | M::Vmovdqu
        | M::Vlddqu
        | M::Vmovdqa32
        | M::Vmovdqa64
        | M::Vmovdqu8
        | M::Vmovdqu16
        | M::Vmovdqu32
        | M::Vmovdqu64
        | M::Vmovntps
        | M::Vmovntpd
        | M::Vmovntdq
        | M::Vmovntdqa
        | M::Movd
        | M::Movq
        | M::Vmovd
        | M::Vmovq => {
            // What is copied to a whole vector register may be shorter than that.
            copy(one, 1, before, zero)
        }
        M::Movss | M::Movsd | M::Vmovss | M::Vmovsd => {
            let size = if matches!(one.mnemonic(), M::Movss | M::Vmovss) { 4 } else { 8 };
            scalar(one, size, before)
        }
        M::Cbw | M::Cwde | M::Cdqe => {
            let size = match one.mnemonic() {
                M::Cbw => 1,
                M::Cwde => 2,
                _ => 4,
            };
            let own = register(Register::RAX);
            let low = Source::At(own.part(0, size));
            let sign = Move { to: own.part(size, size), from: Source::Extension };
            let mut moves = vec![Move { to: own.part(0, size), from: low }, sign];
            if size == 2 {
                moves.push(Move { to: own.part(4, 4), from: zero });
            }
            moves
        }
        M::Push => match source(one, 0, before) {
            Some(from) => single(stack(-8), from),
            None => Vec::new(),
        },
        M::Pop => match operand(one, 0, before) {
            Some(to) if to.len() == 8 => single(to, Source::At(stack(0))),
            _ => Vec::new(),
        },
        M::Leave => {
            let address = before.value(Register::RBP);
            let from = Location::Memory { address, len: 8 };
            single(register(Register::RBP), Source::At(from))
        }
        M::Call => single(stack(-8), Source::Value(one.next_ip())),
        M::Xchg => {
            let mut moves = copy(one, 1, before, zero);
            if let (Some(one), Some(other)) = (operand(one, 0, before), operand(one, 1, before)) {
                moves.push(Move { to: other, from: Source::At(one) });
            }
            moves
        }
        M::Cmpxchg if after.flags & ZERO_FLAG != 0 => copy(one, 1, before, zero),
        M::Cmpxchg => match operand(one, 0, before) {
            Some(from) => {
                let to = register(Register::RAX).part(0, from.len());
                let mut moves = single(to, Source::At(from));
                // The memory is written with what it contained.
                moves.push(Move { to: from, from: Source::At(from) });
                moves
            }
            None => Vec::new(),
        },
        M::Xadd => match (operand(one, 0, before), operand(one, 1, before)) {
            (Some(from), Some(to)) => single(to, Source::At(from)),
            _ => Vec::new(),
        },
        M::Xor
        | M::Sub
        | M::Pxor
        | M::Xorps
        | M::Xorpd
        | M::Vpxor
        | M::Vxorps
        | M::Vxorpd
        | M::Vpxord
        | M::Vpxorq
            if is_cleared(one) =>
        {
            let to = register(one.op0_register());
            let len = match to {
                Location::Register { register, len: 4, .. } if register.is_gpr() => 8,
                Location::Register { register, .. } if !register.is_gpr() && is_vex(one) => VECTOR,
                to => to.len(),
            };
            single(to.part(0, len), zero)
        }
        M::Punpcklqdq | M::Unpcklpd | M::Movlhps => halves(one, before, (0, 0), (1, 0)),
        M::Vpunpcklqdq | M::Vunpcklpd | M::Vmovlhps => halves(one, before, (1, 0), (2, 0)),
        M::Punpckhqdq | M::Unpckhpd => halves(one, before, (0, 8), (1, 8)),
        M::Vpunpckhqdq | M::Vunpckhpd => halves(one, before, (1, 8), (2, 8)),
        M::Movhps | M::Movhpd if is_memory(1) => halves(one, before, (0, 0), (1, 0)),
        M::Movlps | M::Movlpd if is_memory(1) => halves(one, before, (1, 0), (0, 8)),
        M::Vmovhps | M::Vmovhpd if is_memory(2) => halves(one, before, (1, 0), (2, 0)),
        M::Vmovlps | M::Vmovlpd if is_memory(2) => halves(one, before, (2, 0), (1, 8)),
        M::Movhps | M::Movhpd | M::Vmovhps | M::Vmovhpd => stored(one, before, 8),
        M::Movlps | M::Movlpd | M::Vmovlps | M::Vmovlpd => stored(one, before, 0),
        M::Pshufd | M::Vpshufd => shuffled(one, before),
        M::Pinsrb | M::Pinsrw | M::Pinsrd | M::Pinsrq => inserted(one, before),
        M::Pextrb | M::Pextrd | M::Pextrq | M::Vpextrb | M::Vpextrd | M::Vpextrq => {
            let Some(to) = operand(one, 0, before) else { return Vec::new() };
            let size = to.len().min(element(one.mnemonic()));
            let count = SSE / size;
            stored(one, before, u64::from(one.immediate8()) % count * size)
        }
        M::Cmove
        | M::Cmovne
        | M::Cmova
        | M::Cmovae
        | M::Cmovb
        | M::Cmovbe
        | M::Cmovg
        | M::Cmovge
        | M::Cmovl
        | M::Cmovle
        | M::Cmovo
        | M::Cmovno
        | M::Cmovp
        | M::Cmovnp
        | M::Cmovs
        | M::Cmovns => {
            if holds(one.condition_code(), before.flags) {
                return copy(one, 1, before, zero);
            }
            // The register stays as it is, except that the upper half is cleared.
            let own = register(one.op0_register());
            let mut moves = single(own, Source::At(own));
            if own.len() == 4 {
                moves.push(Move { to: own.part(4, 4), from: zero });
            }
            moves
        }
        _ => Vec::new(),
    }
}

/// Whether an instruction combines a register with itself, so that all of it is zero.
fn is_cleared(one: &Instruction) -> bool {
    let last = one.op_count() - 1;
    let is_register = |number: u32| one.op_kind(number) == OpKind::Register;
    last >= 1
        && is_register(last)
        && is_register(last - 1)
        && one.op_register(last) == one.op_register(last - 1)
}

/// A scalar in a vector register: from memory it clears the rest, from a register it leaves the rest, or takes it
/// from another one.
fn scalar(one: &Instruction, size: u64, state: &State) -> Vec<Move> {
    let last = one.op_count() - 1;
    let (Some(to), Some(from)) = (operand(one, 0, state), operand(one, last, state)) else {
        return Vec::new();
    };
    let mut moves = vec![Move { to: to.part(0, size), from: Source::At(from.part(0, size)) }];
    let Location::Register { register: own, .. } = to else { return moves };
    let whole = if is_vex(one) { VECTOR } else { SSE };
    let rest =
        |from: u64, to: u64| Location::Register { register: own, offset: from, len: to - from };
    match (from, last) {
        (Location::Memory { .. }, _) => {
            moves.push(Move { to: rest(size, whole), from: Source::Value(0) });
        }
        (_, 2) => {
            if let Some(other) = operand(one, 1, state) {
                let other = Source::At(other.part(size, SSE - size));
                moves.push(Move { to: rest(size, SSE), from: other });
                moves.push(Move { to: rest(SSE, VECTOR), from: Source::Value(0) });
            }
        }
        _ => {}
    }
    moves
}

/// Two halves of a vector of 16 bytes, each from a byte of an operand on.
fn halves(one: &Instruction, state: &State, low: (u32, u64), high: (u32, u64)) -> Vec<Move> {
    let Some(to) = operand(one, 0, state).filter(|to| to.len() == SSE) else { return Vec::new() };
    let half = |(number, offset): (u32, u64)| {
        let from = operand(one, number, state)?;
        Some(Source::At(from.part(offset, 8)))
    };
    let (Some(low), Some(high)) = (half(low), half(high)) else { return Vec::new() };
    let mut moves =
        vec![Move { to: to.part(0, 8), from: low }, Move { to: to.part(8, 8), from: high }];
    if is_vex(one) {
        moves.push(Move { to: to.part(SSE, VECTOR - SSE), from: Source::Value(0) });
    }
    moves
}

/// The four elements of a vector of 16 bytes, each from the element of another one that two bits of a constant
/// name.
fn shuffled(one: &Instruction, state: &State) -> Vec<Move> {
    let (Some(to), Some(from)) = (operand(one, 0, state), operand(one, 1, state)) else {
        return Vec::new();
    };
    if to.len() != SSE {
        return Vec::new();
    }
    let element = |index: u64| {
        let chosen = u64::from(one.immediate8()) >> (2 * index) & 3;
        Move { to: to.part(4 * index, 4), from: Source::At(from.part(4 * chosen, 4)) }
    };
    let mut moves: Vec<Move> = (0..4).map(element).collect();
    if is_vex(one) {
        moves.push(Move { to: to.part(SSE, VECTOR - SSE), from: Source::Value(0) });
    }
    moves
}

/// The first operand gets bytes from `offset` of the second on.
fn stored(one: &Instruction, state: &State, offset: u64) -> Vec<Move> {
    let (Some(to), Some(from)) = (operand(one, 0, state), operand(one, 1, state)) else {
        return Vec::new();
    };
    let mut size = to.len();
    if let Location::Register { .. } = to {
        size = size.min(element(one.mnemonic()));
    }
    let mut moves = vec![Move { to: to.part(0, size), from: Source::At(from.part(offset, size)) }];
    if matches!(to, Location::Register { .. }) && size < 8 {
        moves.push(Move { to: to.part(size, 8 - size), from: Source::Value(0) });
    }
    moves
}

/// An element is inserted into a vector register; the rest stays as it is.
fn inserted(one: &Instruction, state: &State) -> Vec<Move> {
    let (Some(to), Some(from)) = (operand(one, 0, state), operand(one, 1, state)) else {
        return Vec::new();
    };
    let size = element(one.mnemonic());
    let offset = u64::from(one.immediate8()) % (SSE / size) * size;
    let own = |from: u64, to_: u64| {
        let part = to.part(from, to_ - from);
        Move { to: part, from: Source::At(part) }
    };
    let mut moves = vec![Move { to: to.part(offset, size), from: Source::At(from.part(0, size)) }];
    if offset > 0 {
        moves.push(own(0, offset));
    }
    if offset + size < SSE {
        moves.push(own(offset + size, SSE));
    }
    moves
}

/// The size of the element that an instruction inserts or extracts.
fn element(mnemonic: Mnemonic) -> u64 {
    use Mnemonic as M;
    match mnemonic {
        M::Pinsrb | M::Pextrb | M::Vpextrb => 1,
        M::Pinsrw => 2,
        M::Pinsrd | M::Pextrd | M::Vpextrd => 4,
        _ => 8,
    }
}

/// `movs`, `stos` and `lods`, repeated as often as the registers say.
fn string_moves(one: &Instruction, before: &State, after: &State) -> Vec<Move> {
    use Mnemonic as M;
    let size = match one.mnemonic() {
        M::Movsb | M::Stosb | M::Lodsb => 1,
        M::Movsw | M::Stosw | M::Lodsw => 2,
        M::Movsd | M::Stosd | M::Lodsd => 4,
        M::Movsq | M::Stosq | M::Lodsq => 8,
        _ => return Vec::new(),
    };
    let count = |state: &State| state.value(Register::RCX);
    let times = match one.has_rep_prefix() {
        true => count(before).wrapping_sub(count(after)),
        false => 1,
    };
    if times == 0 {
        return Vec::new();
    }
    let backwards = before.flags & DIRECTION != 0;
    let first = |start: u64| if backwards { start.wrapping_sub((times - 1) * size) } else { start };
    let at = |register: Register| Location::Memory {
        address: first(before.value(register)),
        len: times.saturating_mul(size),
    };
    let accumulator = register(Register::RAX).part(0, size);
    match one.mnemonic() {
        M::Movsb | M::Movsw | M::Movsd | M::Movsq => {
            vec![Move { to: at(Register::RDI), from: Source::At(at(Register::RSI)) }]
        }
        M::Stosb | M::Stosw | M::Stosd | M::Stosq => (0..times.min(1 << 16))
            .map(|index| Move {
                to: at(Register::RDI).part(index * size, size),
                from: Source::At(accumulator),
            })
            .collect(),
        _ => {
            let last = before.value(Register::RSI).wrapping_add((times - 1) * size);
            let from = Location::Memory { address: last, len: size };
            vec![Move { to: accumulator, from: Source::At(from) }]
        }
    }
}

/// Whether a condition holds with these flags.
fn holds(condition: ConditionCode, flags: u64) -> bool {
    use ConditionCode as C;
    let flag = |bit: u32| flags >> bit & 1 != 0;
    let (carry, parity, zero, sign, overflow) = (flag(0), flag(2), flag(6), flag(7), flag(11));
    match condition {
        C::None => true,
        C::o => overflow,
        C::no => !overflow,
        C::b => carry,
        C::ae => !carry,
        C::e => zero,
        C::ne => !zero,
        C::be => carry || zero,
        C::a => !carry && !zero,
        C::s => sign,
        C::ns => !sign,
        C::p => parity,
        C::np => !parity,
        C::l => sign != overflow,
        C::ge => sign == overflow,
        C::le => zero || sign != overflow,
        C::g => !zero && sign == overflow,
    }
}
