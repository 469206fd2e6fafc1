//! Functions that take a string apart at the bytes of a set (`strtok` and its like), made in pieces.
//!
//! They read the string several times, write a zero into it, and store how far they are: where one of
//! these accesses is a scheduling point, each of them is a separate access here, in the order of the C library.
//! The library does not protect the position of `strtok`, so calls that overlap lose or repeat tokens.

use crate::detect::access::peek;
use crate::instrument::binary::bulk::Caller;
use crate::instrument::binary::bulk_functions::{Position, TokenFunction};
use crate::instrument::binary::libc_variables::token_position;
use crate::instrument::binary::operand::LOWEST;
use crate::instrument::binary::strings::{Reader, extent};
use crate::sys::stops;

const RAX: usize = 0;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;

/// Which bytes are in a set.
type Set = [bool; 256];

/// Reads the string that has the bytes of a set.
fn set(caller: Caller, at: u64) -> Set {
    let mut set = [false; 256];
    let mut reader = Reader::text(caller, at, u64::MAX);
    while let Some(byte) = reader.next() {
        set[usize::from(byte)] = byte != 0;
    }
    set
}

/// The address of the first byte of a string that is not in the set, or with `of_set` false that is, or of
/// its end.
fn span(caller: Caller, text: u64, set: &Set, of_set: bool) -> u64 {
    let mut reader = Reader::text(caller, text, u64::MAX);
    while let Some(byte) = reader.next() {
        if byte == 0 || set[usize::from(byte)] != of_set {
            break;
        }
    }
    reader.at - 1
}

/// Reads a byte of the program.
fn byte(caller: Caller, at: u64) -> u8 {
    caller.reads(at, 1);
    stops::for_program(|| peek(at, 1)) as u8
}

/// The next token of `text`, or of the string where the last call ended: as `strtok_r`.
fn next(caller: Caller, text: u64, delimiters: u64, position: u64) -> u64 {
    let text = match text {
        0 => {
            caller.reads(position, 8);
            stops::for_program(|| peek(position, 8))
        }
        text => text,
    };
    let start = span(caller, text, &set(caller, delimiters), true);
    if byte(caller, start) == 0 {
        caller.write(position, 8, start);
        return 0;
    }
    let end = span(caller, start, &set(caller, delimiters), false);
    let ends_text = byte(caller, end) == 0;
    if !ends_text {
        caller.write(end, 1, 0);
    }
    caller.write(position, 8, if ends_text { end } else { end + 1 });
    start
}

/// As `strsep`.
fn separate(caller: Caller, position: u64, delimiters: u64) -> u64 {
    caller.reads(position, 8);
    let start = stops::for_program(|| peek(position, 8));
    if start == 0 {
        return 0;
    }
    let end = span(caller, start, &set(caller, delimiters), false);
    if byte(caller, end) == 0 {
        caller.write(position, 8, 0);
    } else {
        caller.write(end, 1, 0);
        caller.write(position, 8, end + 1);
    }
    start
}

/// Whether a piece of a string is a scheduling point.
fn has_point(caller: Caller, text: u64, writes: bool) -> bool {
    text >= LOWEST && caller.has_point(text, extent(text, u64::MAX), writes)
}

/// As [`in_pieces`], for functions that only read.
fn spans(function: TokenFunction, caller: Caller, general: &mut [u64; 16]) -> bool {
    let (text, delimiters) = (general[RDI], general[RSI]);
    if text < LOWEST || !has_point(caller, text, false) && !has_point(caller, delimiters, false) {
        return false;
    }
    let of_set = function == TokenFunction::Span { of_set: true };
    let found = span(caller, text, &set(caller, delimiters), of_set);
    general[RAX] = match function {
        TokenFunction::FindAny if byte(caller, found) == 0 => 0,
        TokenFunction::FindAny => found,
        _ => found - text,
    };
    true
}

/// Makes the call if one of its pieces is a scheduling point; true if it did.
pub(super) fn in_pieces(function: TokenFunction, caller: Caller, general: &mut [u64; 16]) -> bool {
    use TokenFunction as F;
    let [first, second, third] = [RDI, RSI, RDX].map(|number| general[number]);
    if second < LOWEST {
        return false;
    }
    let position = match function {
        F::Next(Position::Library) => token_position().unwrap_or_default(),
        F::Next(Position::Third) => third,
        F::Separate => first,
        F::Span { .. } | F::FindAny => return spans(function, caller, general),
    };
    if position < LOWEST {
        return false;
    }
    let has_point = |text: u64, writes: bool| has_point(caller, text, writes);
    let continues = || stops::for_program(|| peek(position, 8));
    let text = if function == F::Separate || first == 0 { continues() } else { first };
    let has_text = text >= LOWEST || function == F::Separate;
    let any =
        caller.has_point(position, 8, true) || has_point(text, true) || has_point(second, false);
    if !has_text || !any {
        return false;
    }
    general[RAX] = match function {
        F::Separate => separate(caller, position, second),
        _ => next(caller, first, second, position),
    };
    true
}
