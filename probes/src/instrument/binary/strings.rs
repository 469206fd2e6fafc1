//! Functions on strings and byte ranges, made in pieces.
//!
//! The C library reads a string word after word, and other threads run in between. Where a piece of what
//! such a function accesses is a scheduling point, the function is therefore made here: it reads and
//! writes one naturally aligned piece of at most eight bytes after the other, each a separate access.

use crate::detect::access::peek;
use crate::instrument::binary::bulk::{access, has_point, write};
use crate::instrument::binary::monitored::plain;
use crate::instrument::binary::operand::{LOWEST, Number, StringFunction};
use crate::sys::stops;
use std::ffi::c_char;

const RAX: usize = 0;
const RDX: usize = 2;
const RSI: usize = 6;
const RDI: usize = 7;

/// The longest number that is read in pieces; others are one access.
const LONGEST: usize = 256;

/// Bytes that the running task reads one after the other, in pieces.
struct Reader {
    site: u64,
    /// The next byte, and the end of the bytes.
    at: u64,
    end: u64,
    /// Whether the bytes end with a zero.
    is_text: bool,
    /// What was read of the current word, and the address behind it.
    piece: [u8; 8],
    read: u64,
    start: u64,
}

impl Reader {
    fn new(site: u64, at: u64, len: u64, is_text: bool) -> Reader {
        let end = at.saturating_add(len);
        Reader { site, at, end, is_text, piece: [0; 8], read: at, start: at }
    }

    fn text(site: u64, at: u64) -> Reader {
        Reader::new(site, at, u64::MAX, true)
    }

    /// The next byte; none at the end. A zero that ends the bytes is one of them.
    fn next(&mut self) -> Option<u8> {
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
        let size = ((self.at & !7) + 8).min(self.end) - self.at;
        plain(&access(self.site, self.at, size, false));
        self.piece = stops::for_program(|| peek(self.at, size)).to_ne_bytes();
        (self.start, self.read) = (self.at, self.at + size);
    }
}

/// How two sequences of bytes compare: as the C library returns it, except for the absolute value.
fn compare(mut one: Reader, mut other: Reader) -> u64 {
    loop {
        let (Some(a), Some(b)) = (one.next(), other.next()) else { return 0 };
        if a != b {
            return u64::from((i32::from(a) - i32::from(b)).cast_unsigned());
        }
    }
}

/// Copies a string, and returns the address of its zero.
fn copy(site: u64, to: u64, from: u64) -> u64 {
    let mut reader = Reader::text(site, from);
    let (mut piece, mut start, mut at) = ([0; 8], to, to);
    while let Some(byte) = reader.next() {
        piece[(at - start) as usize] = byte;
        at += 1;
        if at.is_multiple_of(8) {
            write(site, start, at - start, u64::from_ne_bytes(piece));
            start = at;
        }
    }
    if at > start {
        write(site, start, at - start, u64::from_ne_bytes(piece));
    }
    at - 1
}

/// The number at the beginning of a string, by the C library's function. What it has to read is read before:
/// strings beyond [`LONGEST`] are not made in pieces.
fn number(site: u64, text: u64, end: u64, base: u64, how: Number) -> u64 {
    let (mut reader, mut copy) = (Reader::text(site, text), [0u8; LONGEST]);
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
        write(site, end, 8, text + offset);
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

/// Whether a piece of a string is a scheduling point for reads, or for writes to the same number of bytes at
/// `to`.
fn text_has_point(site: u64, text: u64, to: Option<u64>) -> bool {
    if text < LOWEST {
        return false;
    }
    // SAFETY: the program is about to read this string; if it is not mapped, this faults as its own read
    // would.
    let len = unsafe { libc::strlen(text as *const c_char) } as u64 + 1;
    has_point(site, text, len, false) || to.is_some_and(|to| has_point(site, to, len, true))
}

/// Whether a string is no longer than a number that is read in pieces.
fn is_short(text: u64) -> bool {
    // SAFETY: as in `text_has_point`, which accepted the string.
    unsafe { libc::strnlen(text as *const c_char, LONGEST) < LONGEST }
}

/// Makes the call if one of its pieces is a scheduling point; true if it did.
pub(super) fn in_pieces(function: StringFunction, site: u64, general: &mut [u64; 16]) -> bool {
    use StringFunction as F;
    let [first, second, third] = [general[RDI], general[RSI], general[RDX]];
    if first < LOWEST {
        return false;
    }
    let range = |at: u64, len: u64| at >= LOWEST && has_point(site, at, len, false);
    general[RAX] = match function {
        F::Length if text_has_point(site, first, None) => {
            let mut reader = Reader::text(site, first);
            while reader.next().is_some() {}
            reader.at - first - 1
        }
        F::CompareStrings
            if text_has_point(site, first, None) || text_has_point(site, second, None) =>
        {
            compare(Reader::text(site, first), Reader::text(site, second))
        }
        F::Compare if range(first, third) || range(second, third) => {
            let bytes = |at| Reader::new(site, at, third, false);
            compare(bytes(first), bytes(second))
        }
        F::Find if range(first, third) => {
            find(Reader::new(site, first, third, false), second as u8)
        }
        F::FindInString if text_has_point(site, first, None) => {
            find(Reader::text(site, first), second as u8)
        }
        F::Number(how) if text_has_point(site, first, None) && is_short(first) => {
            let (end, base) = if how == Number::Decimal { (0, 10) } else { (second, third) };
            number(site, first, end, base, how)
        }
        F::Copy if text_has_point(site, second, Some(first)) => {
            copy(site, first, second);
            first
        }
        F::CopyToEnd if text_has_point(site, second, Some(first)) => copy(site, first, second),
        _ => return false,
    };
    true
}
