//! String instructions (`movs`, `stos`, `cmps`, `scas`), made element by element.
//!
//! A repeated string instruction can be interrupted after each element (Intel SDM 1, 7.3.9.3), and other processors
//! see its accesses one after the other. Where one of them is a scheduling point, the elements are therefore moved or
//! compared here, each access a separate one. Words that no other task uses are moved whole.

use crate::detect::access::peek;
use crate::instrument::binary::bulk::{Caller, repeated};
use crate::instrument::binary::bulk_functions::{Kind, StringInstruction};
use crate::instrument::binary::effective_address::address;
use crate::instrument::binary::operand::{Operand, Search};
use crate::state::world::world;
use crate::sys::stops;
use std::arch::asm;

const RAX: usize = 0;
const RCX: usize = 1;
const RSI: usize = 6;
const RDI: usize = 7;
const DIRECTION: u64 = 1 << 10;
/// The flags that a comparison sets: carry, parity, adjust, zero, sign, overflow.
const COMPARED: u64 = 0x8d5;

impl StringInstruction {
    /// Makes the instruction here if one of its accesses is a scheduling point; true if it did.
    pub(super) fn in_elements(
        self,
        caller: Caller,
        general: &mut [u64; 16],
        flags: &mut u64,
    ) -> bool {
        let size = u64::from(self.size);
        let descends = *flags & DIRECTION != 0;
        let most = if self.repeats { general[RCX] } else { 1 };
        let count = match self.kind {
            Kind::Move | Kind::Store => most,
            Kind::Compare(search) => {
                let (one, other) = (general[RSI], general[RDI]);
                let element = |start: u64, at: u64| read(step(start, at, size, descends), size);
                let differ = |at| element(one, at) != element(other, at);
                ending_at(most, search, differ)
            }
            Kind::Scan(search) => {
                let value = low(general[RAX], size);
                let differs = |at| read(step(general[RDI], at, size, descends), size) != value;
                ending_at(most, search, differs)
            }
        };
        let Some(len) = count.checked_mul(size).filter(|&len| len > 0) else { return false };
        let lowest = |start: u64| if descends { start.wrapping_sub(len - size) } else { start };
        let has_point = |register: usize, writes: bool| {
            let start = lowest(general[register]);
            start.checked_add(len).is_some() && caller.has_point(start, len, writes)
        };
        let is_met = match self.kind {
            Kind::Move => has_point(RSI, false) || has_point(RDI, true),
            // A single element that is only written is one access.
            Kind::Store => count > 1 && has_point(RDI, true),
            Kind::Compare(_) => has_point(RSI, false) || has_point(RDI, false),
            Kind::Scan(_) => has_point(RDI, false),
        };
        if is_met {
            let mut run = Run { caller, general, size, descends };
            match self.kind {
                Kind::Move | Kind::Store => run.transfer(self, count),
                Kind::Compare(search) | Kind::Scan(search) => {
                    run.search(self, search, most, flags);
                }
            }
        }
        is_met
    }
}

/// The address and the length of an operand of a string instruction that is repeated, which has these operands.
pub(super) fn extent(
    operand: &Operand,
    (operands, search): (&[Operand], Search),
    general: &[u64; 16],
    flags: u64,
) -> Option<(u64, u64)> {
    let descends = flags & DIRECTION != 0;
    let element =
        |of: &Operand, at: u64| read(step(address(of, general), at, of.size, descends), of.size);
    let differ = |at: u64| match operands {
        [one, other] => element(one, at) != element(other, at),
        [one] => element(one, at) != low(general[RAX], one.size),
        _ => search == Search::WhileEqual,
    };
    let count = match search {
        Search::None => general[RCX],
        _ => ending_at(general[RCX], search, differ),
    };
    let len = operand.size.checked_mul(count).filter(|&len| len > 0)?;
    let start = address(operand, general);
    Some((if descends { start - (len - operand.size) } else { start }, len))
}

/// Whether the running task is between the two accesses to an element, where no signal arrives.
fn within_element(is_within: bool) {
    world().task().in_instruction.set(is_within);
}

/// The address of an element.
fn step(start: u64, at: u64, size: u64, descends: bool) -> u64 {
    let offset = at.wrapping_mul(size);
    if descends { start.wrapping_sub(offset) } else { start.wrapping_add(offset) }
}

/// How many elements are compared, at most `most`, until a search ends.
fn ending_at(most: u64, search: Search, differ: impl Fn(u64) -> bool) -> u64 {
    let ends = |&at: &u64| differ(at) == (search == Search::WhileEqual);
    (0..most).find(ends).map_or(most, |last| last + 1)
}

/// The value of an element. A fault is the program's.
fn read(address: u64, size: u64) -> u64 {
    stops::for_program(|| peek(address, size))
}

/// The low bytes of a register.
fn low(value: u64, size: u64) -> u64 {
    if size == 8 { value } else { value & ((1 << (8 * size)) - 1) }
}

/// An instruction that is made here.
struct Run<'a> {
    caller: Caller,
    general: &'a mut [u64; 16],
    size: u64,
    descends: bool,
}

impl Run<'_> {
    fn transfer(&mut self, instruction: StringInstruction, count: u64) {
        let moves = instruction.kind == Kind::Move;
        let pattern = repeated(self.general[RAX], instruction.size);
        let mut rest = count;
        while rest > 0 {
            let (from, to) = (self.general[RSI], self.general[RDI]);
            let elements = if self.is_quiet_word(moves, rest) { 8 / self.size } else { 1 };
            let size = elements * self.size;
            let value = if moves { self.read(from, size) } else { pattern };
            within_element(moves);
            self.caller.write(to, size, value);
            within_element(false);
            self.pass(elements, moves, true);
            rest -= elements;
            if instruction.repeats {
                self.general[RCX] = rest;
            }
        }
    }

    /// Whether the next elements are a word that can be moved at once: no other task uses it, and none of it is read
    /// after it is written.
    fn is_quiet_word(&self, moves: bool, rest: u64) -> bool {
        let (from, to) = (self.general[RSI], self.general[RDI]);
        let has_word =
            !self.descends && to.is_multiple_of(8) && rest.saturating_mul(self.size) >= 8;
        let reads_written = moves && to.wrapping_sub(from) < 8;
        let is_point = |start, writes| self.caller.has_point(start, 8, writes);
        if !has_word || reads_written || is_point(to, true) {
            return false;
        }
        !moves || !is_point(from, false)
    }

    fn search(
        &mut self,
        instruction: StringInstruction,
        search: Search,
        most: u64,
        flags: &mut u64,
    ) {
        let compares = matches!(instruction.kind, Kind::Compare(_));
        for rest in (0..most).rev() {
            let one = match compares {
                true => self.read(self.general[RSI], self.size),
                false => low(self.general[RAX], self.size),
            };
            within_element(compares);
            let other = self.read(self.general[RDI], self.size);
            within_element(false);
            self.pass(1, compares, true);
            if instruction.repeats {
                self.general[RCX] = rest;
            }
            *flags = *flags & !COMPARED | compared(one, other, self.size) & COMPARED;
            if (one != other) == (search == Search::WhileEqual) {
                break;
            }
        }
    }

    fn read(&self, address: u64, size: u64) -> u64 {
        self.caller.reads(address, size);
        read(address, size)
    }

    /// Moves the pointers behind so many elements.
    fn pass(&mut self, elements: u64, source: bool, destination: bool) {
        for (register, moves) in [(RSI, source), (RDI, destination)] {
            if moves {
                let at = self.general[register];
                self.general[register] = step(at, elements, self.size, self.descends);
            }
        }
    }
}

/// The flags after a comparison of two elements of this size.
fn compared(one: u64, other: u64, size: u64) -> u64 {
    let flags: u64;
    macro_rules! compare {
        ($class:ident, $type:ty, $modifier:literal) => {
            // SAFETY: compares registers, and reads the flags by the stack.
            unsafe {
                asm!(
                    concat!("cmp {one", $modifier, "}, {other", $modifier, "}"),
                    "pushfq",
                    "pop {flags}",
                    one = in($class) one as $type,
                    other = in($class) other as $type,
                    flags = lateout(reg) flags,
                )
            }
        };
    }
    match size {
        1 => compare!(reg_byte, u8, ""),
        2 => compare!(reg, u16, ":x"),
        4 => compare!(reg, u32, ":e"),
        _ => compare!(reg, u64, ""),
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARRY: u64 = 1;
    const ZERO: u64 = 1 << 6;
    const SIGN: u64 = 1 << 7;
    const OVERFLOW: u64 = 1 << 11;

    #[test]
    fn comparisons_set_the_flags_of_their_size() {
        let of = |one, other, size| compared(one, other, size) & (CARRY | ZERO | SIGN | OVERFLOW);
        assert_eq!(of(5, 5, 1), ZERO);
        assert_eq!(of(4, 5, 1), CARRY | SIGN);
        assert_eq!(of(0x80, 1, 1), OVERFLOW);
        assert_eq!(of(0x80, 1, 2), 0);
        assert_eq!(of(0x8000_0000, 1, 4), OVERFLOW);
        assert_eq!(of(0x1_0000_0000, 1, 8), 0);
    }

    #[test]
    fn a_search_ends_behind_the_element_that_decides() {
        let text = b"aaab";
        let differs = |at: u64| text[at as usize] != b'a';
        assert_eq!(ending_at(4, Search::WhileEqual, differs), 4);
        assert_eq!(ending_at(4, Search::WhileDifferent, differs), 1);
        assert_eq!(ending_at(2, Search::WhileEqual, differs), 2);
        assert_eq!(ending_at(0, Search::WhileEqual, differs), 0);
    }
}
