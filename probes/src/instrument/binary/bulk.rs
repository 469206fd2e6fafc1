//! Copies and fills, in pieces.
//!
//! The hardware and the C library copy in pieces, between which other threads run. Where a piece is a
//! scheduling point, the copy is therefore made here, one naturally aligned piece of at most eight bytes
//! after the other, each read and each write a separate access. Elsewhere the instruction or the
//! function itself runs at full speed.

use crate::detect::access::{Access, is_point, peek};
use crate::instrument::binary::monitored::plain;
use crate::instrument::binary::operand::Bulk;
use crate::instrument::binary::strings;
use crate::sys::stops;

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;
const DIRECTION: u64 = 1 << 10;

/// What was made in pieces instead of being run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    Instruction,
    Call,
}

/// Whether any aligned word of a range is a scheduling point for this access.
pub(super) fn has_point(site: u64, start: u64, len: u64, writes: bool) -> bool {
    let end = start.saturating_add(len);
    (start & !7..end).step_by(8).any(|word| {
        let (from, to) = (word.max(start), (word + 8).min(end));
        is_point(&access(site, from, to - from, writes))
    })
}

pub(super) fn access(site: u64, address: u64, size: u64, writes: bool) -> Access {
    Access { address, size, writes, atomic: false, proven: false, site }
}

/// Writes a piece of at most eight bytes.
pub(super) fn write(site: u64, address: u64, size: u64, value: u64) {
    plain(&access(site, address, size, true));
    // SAFETY: the program is about to write these bytes itself; a fault here is the program's.
    stops::for_program(|| unsafe {
        std::ptr::copy_nonoverlapping(
            (&raw const value).cast::<u8>(),
            address as *mut u8,
            size as usize,
        );
    });
}

/// Makes the copy, fill or read in pieces if one of them is a scheduling point: then the program continues behind
/// what this returns.
pub(super) fn in_pieces(
    bulk: Bulk,
    site: u64,
    general: &mut [u64; 16],
    flags: u64,
) -> Option<Done> {
    let (to, from) = (general[RDI], general[RSI]);
    let (len, element, reads) = match bulk {
        Bulk::None => return None,
        Bulk::Strings(function) => {
            return strings::in_pieces(function, site, general).then_some(Done::Call);
        }
        Bulk::RepeatedMove(size) => (general[RCX].checked_mul(size.into())?, Some(size), true),
        Bulk::RepeatedStore(size) => (general[RCX].checked_mul(size.into())?, Some(size), false),
        Bulk::Copy | Bulk::CopyToEnd => (general[RDX], None, true),
        Bulk::Fill => (general[RDX], None, false),
    };
    // A single piece that is only written is one access, and backwards repetition is rare: both run as they
    // are. A piece that is copied is read before it is written.
    let backwards = element.is_some() && flags & DIRECTION != 0;
    if len == 0
        || len <= 8 && !reads
        || backwards
        || to.checked_add(len).is_none()
        || from.checked_add(len).is_none()
    {
        return None;
    }
    if !(has_point(site, to, len, true) || reads && has_point(site, from, len, false)) {
        return None;
    }
    let descends = reads && element.is_none() && to > from && to < from + len;
    let pattern = match bulk {
        Bulk::Fill => u64::from(from as u8) * 0x0101_0101_0101_0101,
        Bulk::RepeatedStore(size) => repeated(general[RAX], size),
        _ => 0,
    };
    let mut done = 0;
    while done < len {
        let (offset, size) = piece(to, len, done, descends);
        let value = if reads {
            plain(&access(site, from + offset, size, false));
            stops::for_program(|| peek(from + offset, size))
        } else {
            pattern.rotate_right(8 * (offset % 8) as u32)
        };
        write(site, to + offset, size, value);
        done += size;
    }
    match element {
        Some(_) => {
            general[RDI] = to + len;
            general[RSI] = if reads { from + len } else { from };
            general[RCX] = 0;
            Some(Done::Instruction)
        }
        None => {
            let end = if bulk == Bulk::CopyToEnd { len } else { 0 };
            general[RAX] = to + end;
            Some(Done::Call)
        }
    }
}

/// The next piece: its offset and size. Pieces end at multiples of eight of the destination.
fn piece(to: u64, len: u64, done: u64, descends: bool) -> (u64, u64) {
    if descends {
        let end = len - done;
        let start = ((to + end - 1) & !7).max(to) - to;
        return (start, end - start);
    }
    let end = ((to + done) & !7) + 8;
    (done, end.min(to + len) - (to + done))
}

/// The value of a register of `size` bytes, repeated over eight bytes.
fn repeated(value: u64, size: u8) -> u64 {
    match size {
        1 => u64::from(value as u8) * 0x0101_0101_0101_0101,
        2 => u64::from(value as u16) * 0x0001_0001_0001_0001,
        4 => u64::from(value as u32) * 0x0000_0001_0000_0001,
        _ => value,
    }
}
