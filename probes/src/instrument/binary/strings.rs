//! Functions on strings and byte ranges, made in pieces.
//!
//! The C library reads a string word after word, and other threads run in between. Where a piece of what
//! such a function accesses is a scheduling point, the function is therefore made here: it reads and
//! writes one piece of at most eight bytes after the other, each a separate access.

use crate::detect::access::peek;
use crate::instrument::binary::bulk::{Caller, aligned};
use crate::instrument::binary::bulk_functions::{Found, Most, Number, StringFunction};
use crate::instrument::binary::operand::LOWEST;
use crate::sys::real::real;
use crate::sys::stops;
use std::ffi::c_char;

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;

/// The longest number that is read in pieces; others are one access.
const LONGEST: usize = 256;

/// Bytes that the running task reads one after the other, in pieces.
pub(super) struct Reader {
    caller: Caller,
    /// The next byte, and the end of the bytes.
    pub(super) at: u64,
    end: u64,
    /// Whether the bytes end with a zero.
    is_text: bool,
    /// How many bytes are read at once.
    unit: u64,
    /// What was read of the current word, and the address behind it.
    piece: [u8; 8],
    read: u64,
    start: u64,
}

impl Reader {
    fn bytes(caller: Caller, at: u64, len: u64) -> Reader {
        let end = at.saturating_add(len);
        Reader { caller, at, end, is_text: false, unit: 8, piece: [0; 8], read: at, start: at }
    }

    /// A string of at most so many bytes.
    pub(super) fn text(caller: Caller, at: u64, most: u64) -> Reader {
        Reader { is_text: true, ..Reader::bytes(caller, at, most) }
    }

    /// The same byte after byte.
    fn in_bytes(self) -> Reader {
        Reader { unit: 1, ..self }
    }

    /// The next byte; none at the end. A zero that ends the bytes is one of them.
    pub(super) fn next(&mut self) -> Option<u8> {
        if self.at >= self.end {
            return None;
        }
        if self.at == self.read {
            self.read_piece();
        }
        let byte = self.piece[(self.at - self.start) as usize];
        self.at += 1;
        if self.is_text && byte == 0 {
            self.end = self.at;
        }
        Some(byte)
    }

    /// Reads the rest of the current word, also behind the end of a string. What the string is when the task
    /// arrives here does not decide what it reads, since another task may run first.
    fn read_piece(&mut self) {
        // A vector load reads the rest of a word of text at once.
        let word = ((self.at & !7) + 8).min(self.end) - self.at;
        let size = if self.is_text { word } else { aligned(self.at, word) }.min(self.unit);
        self.caller.reads(self.at, size);
        self.piece = stops::for_program(|| peek(self.at, size)).to_ne_bytes();
        (self.start, self.read) = (self.at, self.at + size);
    }

    /// The byte before the next one, read again.
    fn again(&self) -> u8 {
        self.caller.reads(self.at - 1, 1);
        stops::for_program(|| peek(self.at - 1, 1)) as u8
    }

    /// Reads to the end of the string: the address of its zero, or behind the last byte that takes part.
    pub(super) fn find_end(&mut self) -> u64 {
        loop {
            match self.next() {
                None => return self.at,
                Some(0) => return self.at - 1,
                Some(_) => {}
            }
        }
    }
}

/// Bytes that the running task writes one after the other, in pieces.
struct Writer {
    caller: Caller,
    start: u64,
    at: u64,
    /// How many bytes there is room for, as the compiler found.
    room: u64,
    piece: [u8; 8],
}

impl Writer {
    fn new(caller: Caller, to: u64, room: u64) -> Writer {
        Writer { caller, start: to, at: to, room, piece: [0; 8] }
    }

    fn push(&mut self, byte: u8) {
        if self.room == 0 {
            // As the C library does: it ends the process.
            real!(__chk_fail() as fn() -> ());
        }
        self.room -= 1;
        self.piece[(self.at - self.start) as usize] = byte;
        self.at += 1;
        if self.at.is_multiple_of(8) {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let mut value = u64::from_ne_bytes(self.piece);
        while self.at > self.start {
            let size = aligned(self.start, self.at - self.start);
            self.caller.write(self.start, size, value);
            value = value.checked_shr(8 * size as u32).unwrap_or(0);
            self.start += size;
        }
    }
}

/// How two sequences of bytes compare: as the C library returns it, except for the absolute value. It reads the bytes
/// that differ once more.
fn compare(mut one: Reader, mut other: Reader, folds: bool) -> u64 {
    let folded = |byte: u8| match folds {
        // SAFETY: `tolower` reads the locale's table at a byte's value.
        true => unsafe { libc::tolower(byte.into()) },
        false => byte.into(),
    };
    loop {
        let (Some(a), Some(b)) = (one.next(), other.next()) else { return 0 };
        if folded(a) != folded(b) {
            let difference = folded(one.again()) - folded(other.again());
            return u64::from(difference.cast_unsigned());
        }
    }
}

/// Copies a string, and returns the address of its zero.
fn copy(mut from: Reader, mut to: Writer) -> u64 {
    while let Some(byte) = from.next() {
        to.push(byte);
    }
    to.flush();
    to.at - 1
}

/// Copies a string of at most `most` bytes, fills the rest with zeros, and returns the address of the first zero,
/// or behind the last byte.
fn copy_padded(mut from: Reader, mut to: Writer, most: u64) -> u64 {
    let (start, mut end) = (to.at, None);
    for at in 0..most {
        let byte = if end.is_none() { from.next().unwrap_or(0) } else { 0 };
        if byte == 0 && end.is_none() {
            end = Some(start + at);
        }
        to.push(byte);
    }
    to.flush();
    end.unwrap_or(start + most)
}

/// Copies a string of at most so many bytes as the reader has, and ends it with a zero.
fn append(mut from: Reader, mut to: Writer) {
    while let Some(byte) = from.next().filter(|&byte| byte != 0) {
        to.push(byte);
    }
    to.push(0);
    to.flush();
}

/// The number at the beginning of a string, by the C library's function. What it has to read is read before:
/// strings beyond [`LONGEST`] are not made in pieces.
fn number(mut reader: Reader, end: u64, base: u64, how: Number) -> u64 {
    let (caller, text, mut copy) = (reader.caller, reader.at, [0u8; LONGEST]);
    // White space, a sign, and digits of any base up to 36.
    let belongs = |&byte: &u8| {
        byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+-\x0b".contains(&byte)
    };
    for to in &mut copy[..LONGEST - 1] {
        match reader.next().filter(belongs) {
            Some(byte) => *to = byte,
            None => break,
        }
    }
    let mut behind: *mut c_char = std::ptr::null_mut();
    // SAFETY: the copy ends with a zero, and `behind` is a local; both outlive the call.
    let value = unsafe {
        let (copy, base) = (copy.as_ptr().cast(), base as i32);
        match how {
            Number::Unsigned => libc::strtoul(copy, &raw mut behind, base),
            _ => libc::strtol(copy, &raw mut behind, base).cast_unsigned(),
        }
    };
    if end >= LOWEST {
        let offset = behind as u64 - copy.as_ptr() as u64;
        caller.write(end, 8, text + offset);
    }
    value
}

/// The address of the first byte with this value; 0 if there is none.
fn find(mut reader: Reader, byte: u8) -> u64 {
    while let Some(next) = reader.next() {
        if next == byte {
            return reader.at - 1;
        }
    }
    0
}

/// The address of a character in a string; it may be the zero at the end.
fn find_in_string(mut reader: Reader, byte: u8, what: Found) -> u64 {
    let mut found = 0;
    while let Some(next) = reader.next() {
        if next == byte {
            found = reader.at - 1;
            if what != Found::Last {
                return found;
            }
        }
    }
    if what == Found::FirstOrEnd { reader.at - 1 } else { found }
}

/// How many bytes of a string of at most `most` bytes there are now, with the zero.
pub(super) fn extent(text: u64, most: u64) -> u64 {
    // SAFETY: the program is about to read this string; if it is not mapped, this faults as its own read
    // would.
    let len = stops::for_program(|| unsafe {
        match most {
            u64::MAX => libc::strlen(text as *const c_char),
            most => libc::strnlen(text as *const c_char, most as usize),
        }
    });
    (len as u64 + 1).min(most)
}

/// Makes the call if one of its pieces is a scheduling point; true if it did.
pub(super) fn in_pieces(
    function: StringFunction,
    caller: Caller,
    checked: bool,
    general: &mut [u64; 16],
) -> bool {
    use StringFunction as F;
    let [first, second, third, fourth] = [RDI, RSI, RDX, RCX].map(|number| general[number]);
    if first < LOWEST {
        return false;
    }
    let most = |most: Most| match most {
        Most::Any => u64::MAX,
        Most::Second => second,
        Most::Third => third,
    };
    let has_point = |at: u64, len: u64, writes: bool| {
        at >= LOWEST && len > 0 && caller.has_point(at, len, writes)
    };
    let reads = |at: u64, len: u64| has_point(at, len, false);
    let text = |at: u64, most: u64| at >= LOWEST && most > 0 && reads(at, extent(at, most));
    // The argument behind the others says how much room there is.
    let room = |argument: u64| if checked { argument } else { u64::MAX };
    general[RAX] = match function {
        F::Length { most: limit } if text(first, most(limit)) => {
            Reader::text(caller, first, most(limit)).find_end() - first
        }
        F::CompareStrings { most: limit, folds }
            if text(first, most(limit)) || text(second, most(limit)) =>
        {
            let of = |at| Reader::text(caller, at, most(limit));
            compare(of(first), of(second), folds)
        }
        F::Compare if reads(first, third) || reads(second, third) => {
            let of = |at| Reader::bytes(caller, at, third);
            compare(of(first), of(second), false)
        }
        F::Find if reads(first, third) => find(Reader::bytes(caller, first, third), second as u8),
        F::FindInString(found) if text(first, u64::MAX) => {
            find_in_string(Reader::text(caller, first, u64::MAX), second as u8, found)
        }
        F::Number(how)
            if text(first, u64::MAX) && extent(first, LONGEST as u64) < LONGEST as u64 =>
        {
            let (end, base) = if how == Number::Decimal { (0, 10) } else { (second, third) };
            number(Reader::text(caller, first, u64::MAX).in_bytes(), end, base, how)
        }
        F::Copy { to_end } if second >= LOWEST => {
            let len = extent(second, u64::MAX);
            if !reads(second, len) && !has_point(first, len, true) {
                return false;
            }
            let from = Reader::text(caller, second, u64::MAX);
            let end = copy(from, Writer::new(caller, first, room(third)));
            if to_end { end } else { first }
        }
        F::CopyPadded { to_end } if text(second, third) || has_point(first, third, true) => {
            if room(fourth) < third {
                return false;
            }
            let from = Reader::text(caller, second, third);
            let end = copy_padded(from, Writer::new(caller, first, u64::MAX), third);
            if to_end { end } else { first }
        }
        F::Append { most: limit } if second >= LOWEST => {
            let (known, added) = (extent(first, u64::MAX), extent(second, most(limit)));
            if !reads(first, known)
                && !reads(second, added)
                && !has_point(first + known - 1, added + 1, true)
            {
                return false;
            }
            let end = Reader::text(caller, first, u64::MAX).find_end();
            let room = room(if limit == Most::Any { third } else { fourth });
            let to = Writer::new(caller, end, room.saturating_sub(end - first));
            append(Reader::text(caller, second, most(limit)), to);
            first
        }
        _ => return false,
    };
    true
}
