//! Copies and fills, in pieces.
//!
//! The hardware and the C library copy in pieces, between which other threads run. Where a piece is a
//! scheduling point, the copy is therefore made here, one naturally aligned piece of 1, 2, 4 or 8 bytes
//! after the other, each read and each write a separate access. Elsewhere the instruction or the
//! function itself runs at full speed.

use crate::detect::access::{Access, is_point, peek};
use crate::instrument::binary::bulk_functions::{Bulk, Function};
use crate::instrument::binary::monitored::plain;
use crate::instrument::binary::{printing, strings, tokens};
use crate::schedule::access_points::visit;
use crate::sys::stops;

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;

/// The code that copies, fills or reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller {
    /// The address behind the instruction.
    pub(crate) site: u64,
    /// Whether it is compiler-instrumented: then its accesses are known to be no atomic operations.
    pub(crate) is_compiled: bool,
}

impl Caller {
    pub(super) fn access(self, address: u64, size: u64, writes: bool) -> Access {
        let Caller { site, is_compiled } = self;
        Access { address, size, writes, atomic: false, proven: is_compiled, site, in_parts: false }
    }

    /// Whether any aligned word of a range is a scheduling point for this access.
    pub(super) fn has_point(self, start: u64, len: u64, writes: bool) -> bool {
        let end = start.saturating_add(len);
        (start & !7..end).step_by(8).any(|word| {
            let (from, to) = (word.max(start), (word + 8).min(end));
            is_point(&self.access(from, to - from, writes))
        })
    }

    fn visit(self, address: u64, size: u64, writes: bool) {
        let access = self.access(address, size, writes);
        if self.is_compiled { visit(access) } else { plain(&access) }
    }

    /// The running task is about to read a piece.
    pub(super) fn reads(self, address: u64, size: u64) {
        self.visit(address, size, false);
    }

    /// Writes a piece of at most eight bytes.
    pub(super) fn write(self, address: u64, size: u64, value: u64) {
        self.visit(address, size, true);
        // SAFETY: the program is about to write these bytes itself; a fault here is the program's.
        stops::for_program(|| unsafe {
            std::ptr::copy_nonoverlapping(
                (&raw const value).cast::<u8>(),
                address as *mut u8,
                size as usize,
            );
        });
    }
}

/// A call or an instruction that is about to run.
pub(super) struct Call<'a> {
    pub(super) general: &'a mut [u64; 16],
    pub(super) flags: &'a mut u64,
    /// The address of the first argument on the stack.
    pub(super) stack: u64,
    /// The low half of a vector register.
    pub(super) vectors: &'a dyn Fn(u8) -> u64,
}

/// What was made in pieces instead of being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Instruction,
    Call,
}

/// Makes the copy, fill or read in pieces if one of them is a scheduling point: then the program continues behind
/// what this returns.
pub(super) fn in_pieces(bulk: Bulk, caller: Caller, call: &mut Call<'_>) -> Option<Done> {
    if let Bulk::Call { function: Function::Print(function), .. } = bulk {
        return printing::in_pieces(function, caller, call).then_some(Done::Call);
    }
    let Call { general, flags, .. } = call;
    let (to, from) = (general[RDI], general[RSI]);
    match bulk {
        Bulk::None | Bulk::Call { function: Function::Print(_), .. } => None,
        Bulk::Call { function: Function::String(function), checked } => {
            strings::in_pieces(function, caller, checked, general).then_some(Done::Call)
        }
        Bulk::Call { function: Function::Token(function), .. } => {
            tokens::in_pieces(function, caller, general).then_some(Done::Call)
        }
        Bulk::Call { function, checked } => {
            let len = general[RDX];
            // The function ends the process if there is no room.
            if checked && general[RCX] < len {
                return None;
            }
            let (is_made, end) = match function {
                Function::Copy { to_end } => (copy(caller, to, from, len), to_end),
                _ => (fill(caller, to, from as u8, len), false),
            };
            is_made.then(|| {
                general[RAX] = if end { to + len } else { to };
                Done::Call
            })
        }
        Bulk::Instruction(instruction) => {
            instruction.in_elements(caller, general, flags).then_some(Done::Instruction)
        }
    }
}

/// Copies as `memmove` does if a piece is a scheduling point; true if it did.
pub(crate) fn copy(caller: Caller, to: u64, from: u64, len: u64) -> bool {
    let descends = to > from && to < from.saturating_add(len);
    Transfer { to, len, source: Source::Memory(from), descends }.in_pieces(caller)
}

/// Fills as `memset` does if a piece is a scheduling point; true if it did.
pub(crate) fn fill(caller: Caller, to: u64, value: u8, len: u64) -> bool {
    let pattern = repeated(value.into(), 1);
    Transfer { to, len, source: Source::Pattern(pattern), descends: false }.in_pieces(caller)
}

/// A copy or a fill.
struct Transfer {
    to: u64,
    len: u64,
    source: Source,
    /// Whether the last piece is the first one.
    descends: bool,
}

enum Source {
    Memory(u64),
    /// Eight bytes that are repeated from the destination's beginning on.
    Pattern(u64),
}

impl Transfer {
    fn in_pieces(&self, caller: Caller) -> bool {
        let (to, len) = (self.to, self.len);
        let has_point = match self.source {
            Source::Memory(from) => {
                from.checked_add(len).is_some() && to.checked_add(len).is_some() && {
                    caller.has_point(to, len, true) || caller.has_point(from, len, false)
                }
            }
            // A single piece that is only written is one access, and runs as it is.
            Source::Pattern(_) => {
                to.checked_add(len).is_some()
                    && piece(to, len, 0, false).1 < len
                    && caller.has_point(to, len, true)
            }
        };
        let mut done = 0;
        while has_point && done < len {
            let (offset, size) = piece(to, len, done, self.descends);
            let value = match self.source {
                Source::Memory(from) => {
                    caller.reads(from + offset, size);
                    stops::for_program(|| peek(from + offset, size))
                }
                Source::Pattern(pattern) => pattern.rotate_right(8 * (offset % 8) as u32),
            };
            caller.write(to + offset, size, value);
            done += size;
        }
        has_point
    }
}

/// The next piece: its offset and size. It is the largest that is aligned in the destination.
pub(super) fn piece(to: u64, len: u64, done: u64, descends: bool) -> (u64, u64) {
    let rest = len - done;
    let boundary = if descends { to + rest } else { to + done };
    let size = aligned(boundary, rest);
    (if descends { rest - size } else { done }, size)
}

/// The size of the largest aligned piece of at most `most` bytes that begins or ends at a boundary.
pub(super) fn aligned(boundary: u64, most: u64) -> u64 {
    let fits = 1 << most.max(1).ilog2();
    (1 << boundary.trailing_zeros().min(3)).min(fits)
}

/// The value of a register of `size` bytes, repeated over eight bytes.
pub(super) fn repeated(value: u64, size: u8) -> u64 {
    match size {
        1 => u64::from(value as u8) * 0x0101_0101_0101_0101,
        2 => u64::from(value as u16) * 0x0001_0001_0001_0001,
        4 => u64::from(value as u32) * 0x0000_0001_0000_0001,
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(to: u64, len: u64, descends: bool) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let mut done = 0;
        while done < len {
            let next = piece(to, len, done, descends);
            done += next.1;
            found.push(next);
        }
        found
    }

    #[test]
    fn pieces_are_aligned_in_the_destination() {
        assert_eq!(pieces(16, 7, false), [(0, 4), (4, 2), (6, 1)]);
        assert_eq!(pieces(19, 14, false), [(0, 1), (1, 4), (5, 8), (13, 1)]);
        assert_eq!(pieces(19, 14, true), [(13, 1), (5, 8), (1, 4), (0, 1)]);
        assert_eq!(pieces(8, 8, true), [(0, 8)]);
        assert_eq!(pieces(6, 2, false), [(0, 2)]);
    }
}
