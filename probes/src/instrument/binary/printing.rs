//! Functions that print text into memory (`snprintf` and its like), made in pieces.
//!
//! The C library writes the text between two conversions, then what the next one makes of its argument, and so on, and
//! in the end the zero; a string is read when its turn comes. Other threads run in between. Where one of these
//! accesses is a scheduling point, the call is therefore made here: the library converts each number, into memory of
//! the runtime, and its parts are written one after the other, as the library does: sign, prefix, padding, digits.

use crate::detect::access::peek;
use crate::instrument::binary::bulk::{Call, Caller, piece};
use crate::instrument::binary::bulk_functions::PrintFunction;
use crate::instrument::binary::format::Conversion;
use crate::instrument::binary::operand::LOWEST;
use crate::instrument::binary::parts;
use crate::instrument::binary::printed;
use crate::instrument::binary::strings::Reader;
use crate::instrument::binary::variable_arguments::{
    ARGUMENTS, Arguments, VariableArguments, length as text_length,
};
use crate::sys::real::real;
use crate::sys::stops;
use std::ffi::CStr;

const RAX: usize = 0;

/// The longest text of one number. A call that prints a longer one is a single step.
const LONGEST: usize = 512;
/// The exponent of a `long double` that no `double` has, with its bias.
const LARGE_EXPONENT: u64 = 16_383 + 1024;
/// The longest conversion in a format.
const LONGEST_CONVERSION: u64 = 24;
/// The largest result: the functions return an `int`.
const MOST: u64 = i32::MAX as u64;

/// Prints in pieces if one of them is a scheduling point; true if it did.
pub(super) fn in_pieces(function: PrintFunction, caller: Caller, call: &mut Call<'_>) -> bool {
    let argument = |number: u8| call.general[usize::from(ARGUMENTS[usize::from(number)])];
    let (to, format) = (argument(0), argument(function.format));
    let room = function.size.map_or(u64::MAX, argument);
    let known_room = function.room.map_or(u64::MAX, argument);
    if format < LOWEST || room > 0 && to < LOWEST {
        return false;
    }
    let arguments = Arguments { general: call.general, stack: call.stack, site: caller.site };
    let arguments = || VariableArguments::new(function.first, function.is_list, &arguments);
    let length = printed::length(format, arguments());
    // A text of unknown length may be as long as there is room.
    let written = length.unwrap_or(if room == u64::MAX { 1 << 16 } else { room }).min(room);
    let survey = Survey::of(caller, format, arguments());
    if !caller.has_point(to, written, true) && !survey.has_point {
        return false;
    }
    if function.size.is_some() && room > known_room {
        return false; // The library ends the process.
    }
    // It does so, too, if the text is longer than the compiler found that there is room for.
    let fits = length.is_some_and(|length| length.min(room) <= known_room && length <= MOST);
    if !fits || !survey.is_known {
        parts::met_call(function.name, caller.site);
        return false;
    }
    let mut output = Output { caller, to, room, len: 0 };
    if room > 0 && function.erases_first && is_old() {
        caller.write(to, 1, 0);
    }
    let mut next = arguments();
    let mut at = format;
    loop {
        let start = at;
        while !matches!(byte(at), 0 | b'%') {
            at += 1;
        }
        output.copy(start, at - start);
        if byte(at) == 0 {
            break;
        }
        let conversion = Conversion::read(at, &mut next);
        output.convert(&conversion, &mut next, call.vectors);
        at = conversion.end;
    }
    output.end();
    call.general[RAX] = output.len;
    true
}

fn byte(at: u64) -> u8 {
    peek(at, 1) as u8
}

/// Up to 2.36, the C library's functions begin by writing a zero, and copy short texts byte after byte.
fn is_old() -> bool {
    // SAFETY: the function returns a constant string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_bytes();
    let minor = version.split(|&byte| byte == b'.').nth(1).unwrap_or_default();
    let minor = minor.iter().take_while(|byte| byte.is_ascii_digit());
    minor.fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0')) < 37
}

/// How many bytes of a text of this length are copied at once (up to 2.36 by `_IO_default_xsputn`).
fn largest_piece(len: u64) -> u64 {
    const SHORT: u64 = 20;
    if len <= SHORT && is_old() { 1 } else { 8 }
}

/// What decides whether a call is made in pieces.
struct Survey {
    /// Whether all conversions are made here.
    is_known: bool,
    /// Whether one of the strings that it reads, or the format, has a scheduling point.
    has_point: bool,
}

impl Survey {
    fn of(caller: Caller, format: u64, mut next: VariableArguments<'_>) -> Survey {
        let mut survey = Survey { is_known: true, has_point: false };
        let mut at = format;
        loop {
            match byte(at) {
                0 => break,
                b'%' => {}
                _ => {
                    at += 1;
                    continue;
                }
            }
            let conversion = Conversion::read(at, &mut next);
            let is_short = conversion.end - conversion.start <= LONGEST_CONVERSION
                && conversion.precision.is_none_or(|digits| digits <= 64);
            at = conversion.end;
            match conversion.kind {
                b'%' if conversion.end - conversion.start == 2 => {}
                b's' if conversion.modifier.1 == 0 && !conversion.has_zeros => {
                    let text = next.word();
                    if text >= LOWEST {
                        let read = text_length(text, conversion.precision);
                        survey.has_point |= caller.has_point(text, read, false);
                    }
                }
                b'c' if conversion.modifier.1 == 0 && !conversion.has_zeros => _ = next.word(),
                _ if conversion.is_integer() && is_short => _ = next.word(),
                _ if conversion.is_floating() && is_short => {
                    let is_long = conversion.modifier.0 == b'L';
                    let [_, exponent] = next.floating(is_long, &|_| 0);
                    // A larger number than a double may have thousands of digits.
                    let is_large = exponent & 0x7fff >= LARGE_EXPONENT;
                    survey.is_known &=
                        !(is_long && is_large && conversion.kind.eq_ignore_ascii_case(&b'f'));
                }
                _ => {
                    survey.is_known = false;
                    return survey;
                }
            }
        }
        survey.has_point |= caller.has_point(format, at + 1 - format, false);
        survey
    }
}

/// The memory that a call prints to.
struct Output {
    caller: Caller,
    to: u64,
    room: u64,
    /// How many bytes were printed, also those for which there was no room.
    len: u64,
}

impl Output {
    /// How many of the next bytes there is room for. The last byte is for the zero.
    fn fitting(&self, len: u64) -> u64 {
        len.min(self.room.saturating_sub(1).saturating_sub(self.len))
    }

    /// Prints bytes that come from memory of the program.
    fn copy(&mut self, from: u64, len: u64) {
        let (most, start) = (self.fitting(len), self.to + self.len);
        let largest = largest_piece(most);
        let mut done = 0;
        while done < most {
            let size = piece(start, most, done, false).1.min(largest);
            self.caller.reads(from + done, size);
            let value = stops::for_program(|| peek(from + done, size));
            self.caller.write(start + done, size, value);
            done += size;
        }
        self.len += len;
    }

    /// Prints bytes that no other task can change.
    fn print(&mut self, text: &[u8]) {
        let (most, start) = (self.fitting(text.len() as u64), self.to + self.len);
        let largest = largest_piece(most);
        let mut done = 0;
        while done < most {
            let size = piece(start, most, done, false).1.min(largest);
            let value = peek(text.as_ptr() as u64 + done, size);
            self.caller.write(start + done, size, value);
            done += size;
        }
        self.len += text.len() as u64;
    }

    fn pad(&mut self, with: u8, mut count: u64) {
        while count > 0 {
            let now = count.min(8);
            self.print(&[with; 8][..now as usize]);
            count -= now;
        }
    }

    /// Prints what a conversion makes of its argument.
    fn convert(
        &mut self,
        conversion: &Conversion,
        next: &mut VariableArguments<'_>,
        vectors: &dyn Fn(u8) -> u64,
    ) {
        match conversion.kind {
            b'%' => self.print(b"%"),
            b'c' => {
                let character = next.word() as u8;
                self.padded(conversion, 1, |output| output.print(&[character]));
            }
            b's' => self.string(conversion, next.word()),
            _ => {
                let argument = match conversion.is_floating() {
                    true => next.floating(conversion.modifier.0 == b'L', vectors),
                    false => [next.word(), 0],
                };
                let mut text = [0; LONGEST];
                let len = number(conversion, argument, &mut text);
                self.number(conversion, &text[..len]);
            }
        }
    }

    /// Prints something of this length, with spaces before or behind it.
    fn padded(&mut self, conversion: &Conversion, len: u64, print: impl FnOnce(&mut Output)) {
        let padding = conversion.width.saturating_sub(len);
        self.pad(b' ', if conversion.is_left { 0 } else { padding });
        print(self);
        self.pad(b' ', if conversion.is_left { padding } else { 0 });
    }

    fn string(&mut self, conversion: &Conversion, text: u64) {
        let most = conversion.precision.unwrap_or(u64::MAX);
        if text < LOWEST {
            let null: &[u8] = if most < 6 { b"" } else { b"(null)" };
            self.padded(conversion, null.len() as u64, |output| output.print(null));
            return;
        }
        let len = Reader::text(self.caller, text, most).find_end() - text;
        self.padded(conversion, len, |output| output.copy(text, len));
    }

    /// Prints a number, of which this is the text without padding.
    fn number(&mut self, conversion: &Conversion, text: &[u8]) {
        let sign = text.iter().take_while(|byte| b"+- ".contains(byte)).count();
        let (sign, rest) = text.split_at(sign);
        let has_prefix = matches!(rest, [b'0', b'x' | b'X', ..]);
        let (prefix, digits) = rest.split_at(if has_prefix { 2 } else { 0 });
        let padding = conversion.width.saturating_sub(text.len() as u64);
        let is_number = digits.first().is_some_and(u8::is_ascii_hexdigit)
            && !digits.starts_with(b"inf")
            && (conversion.is_floating() || conversion.precision.is_none());
        let with_zeros = conversion.has_zeros && !conversion.is_left && is_number;
        let (before, zeros, behind) = match (conversion.is_left, with_zeros) {
            (true, _) => (0, 0, padding),
            (false, true) => (0, padding, 0),
            (false, false) => (padding, 0, 0),
        };
        self.pad(b' ', before);
        self.print(sign);
        for byte in prefix {
            self.print(&[*byte]);
        }
        self.pad(b'0', zeros);
        self.print(digits);
        self.pad(b' ', behind);
    }

    /// Writes the zero.
    fn end(&self) {
        if let Some(last) = self.room.checked_sub(1) {
            self.caller.write(self.to + self.len.min(last), 1, 0);
        }
    }
}

/// Converts a number without padding, as the C library does; returns the length of the text.
fn number(conversion: &Conversion, argument: [u64; 2], text: &mut [u8; LONGEST]) -> usize {
    /// `va_list` of the System V ABI, and the registers to which it refers.
    #[repr(C)]
    struct List {
        general_offset: u32,
        vector_offset: u32,
        on_stack: u64,
        registers: u64,
    }
    #[repr(C, align(16))]
    struct Registers([u64; 2]);
    let mut format = [0u8; 48];
    let mut len = 0;
    let mut push = |byte: u8| {
        format[len] = byte;
        len += 1;
    };
    push(b'%');
    let flags = [
        (conversion.has_sign, b'+'),
        (conversion.has_space, b' '),
        (conversion.is_alternative, b'#'),
    ];
    flags.iter().filter(|(is_set, _)| *is_set).for_each(|&(_, flag)| push(flag));
    if let Some(precision) = conversion.precision {
        push(b'.');
        // The survey let at most 64 pass.
        push(b'0' + (precision / 10) as u8);
        push(b'0' + (precision % 10) as u8);
    }
    let modifier = conversion.end - 1 - conversion.modifier.1;
    (modifier..conversion.end).for_each(|at| push(byte(at)));
    let registers = Registers(argument);
    let values = &raw const registers as u64;
    // All registers are used up: the argument is on the stack, aligned as a `long double` is.
    let list = List { general_offset: 48, vector_offset: 176, on_stack: values, registers: values };
    let (list, to, format) = (&raw const list as u64, text.as_mut_ptr() as u64, format.as_ptr());
    let printed =
        real!(vsnprintf(to, LONGEST as u64, format as u64, list) as fn(u64, u64, u64, u64) -> i32);
    usize::try_from(printed).unwrap_or(0).min(LONGEST - 1)
}
