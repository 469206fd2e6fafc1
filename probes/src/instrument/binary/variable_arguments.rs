//! The arguments of a call, also those of a variable number, and the lengths of strings among them.

use crate::detect::access::peek;
use crate::instrument::binary::operand::LOWEST;
use std::ffi::c_char;

/// The registers of integer arguments in the System V ABI, numbered as in instruction encodings.
pub(super) const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// The ends of the two parts of a `va_list`'s register area.
const GENERAL_END: u64 = 48;
const VECTOR_END: u64 = 176;

/// The arguments of a call that is about to be made.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'call> {
    pub(super) general: &'call [u64; 16],
    /// The address of the first argument on the stack.
    pub(super) stack: u64,
    /// The address behind the call.
    pub(super) site: u64,
}

/// The place of the next argument of a variable number of arguments.
pub(super) struct VariableArguments<'call> {
    /// In the registers' area: those of a call are read from `general`.
    general: u64,
    vector: u64,
    stack: u64,
    area: u64,
    call: Option<&'call [u64; 16]>,
}

impl<'call> VariableArguments<'call> {
    /// The arguments from the one with number `first` on: the call's, or with `list` those of the `va_list` that
    /// is this argument.
    pub(super) fn new(
        first: u8,
        list: bool,
        arguments: &Arguments<'call>,
    ) -> VariableArguments<'call> {
        match list {
            true => VariableArguments::of_list(
                arguments.general[usize::from(ARGUMENTS[first.min(5) as usize])],
            ),
            false => VariableArguments::of_call(first, arguments),
        }
    }

    fn of_call(first: u8, arguments: &Arguments<'call>) -> VariableArguments<'call> {
        VariableArguments {
            general: 8 * u64::from(first),
            vector: GENERAL_END,
            stack: arguments.stack,
            area: 0,
            call: Some(arguments.general),
        }
    }

    /// A `va_list` of the System V ABI.
    fn of_list(list: u64) -> VariableArguments<'call> {
        VariableArguments {
            general: peek(list, 4),
            vector: peek(list + 4, 4),
            stack: peek(list + 8, 8),
            area: peek(list + 16, 8),
            call: None,
        }
    }

    /// The width or precision at this address of a format: digits, or an asterisk for the next argument.
    pub(super) fn number(&mut self, at: &mut u64) -> i64 {
        let byte = |at: u64| peek(at, 1) as u8;
        if byte(*at) == b'*' {
            *at += 1;
            return self.word() as i32 as i64;
        }
        let mut value = 0i64;
        while byte(*at).is_ascii_digit() {
            value = value.saturating_mul(10).saturating_add(i64::from(byte(*at) - b'0'));
            *at += 1;
        }
        value
    }

    pub(super) fn word(&mut self) -> u64 {
        if self.general < GENERAL_END {
            let at = self.general;
            self.general += 8;
            return match self.call {
                Some(general) => general[usize::from(ARGUMENTS[(at / 8) as usize])],
                None => peek(self.area + at, 8),
            };
        }
        self.stack += 8;
        peek(self.stack - 8, 8)
    }

    pub(super) fn skip_number(&mut self, is_long: bool) {
        self.floating(is_long, &|_| 0);
    }

    /// The bits of a floating-point number, of a `long double` in two words. `vectors` returns the low half of a
    /// vector register, from which the call's own arguments come.
    pub(super) fn floating(&mut self, is_long: bool, vectors: &dyn Fn(u8) -> u64) -> [u64; 2] {
        if is_long {
            let at = self.stack.next_multiple_of(16);
            self.stack = at + 16;
            return [peek(at, 8), peek(at + 8, 8)];
        }
        if self.vector < VECTOR_END {
            let at = self.vector;
            self.vector += 16;
            let value = match self.call {
                Some(_) => vectors(((at - GENERAL_END) / 16) as u8),
                None => peek(self.area + at, 8),
            };
            return [value, 0];
        }
        self.stack += 8;
        [peek(self.stack - 8, 8), 0]
    }
}

/// The length in bytes of a C string of at most `most` bytes, including the zero if it is reached.
pub(super) fn length(text: u64, most: Option<u64>) -> u64 {
    let text = text as *const c_char;
    match most {
        // SAFETY: the program is about to read the same bytes, up to the zero.
        None => unsafe { libc::strlen(text) as u64 + 1 },
        // SAFETY: as above, and no more than the program is about to read.
        Some(most) => unsafe { (libc::strnlen(text, most as usize) as u64 + 1).min(most) },
    }
}

/// The length in bytes of a wide string of at most `most` elements, including the zero.
pub(super) fn wide_length(address: u64, most: u64) -> u64 {
    if address < LOWEST {
        return 0;
    }
    let end = (0..most).find(|&at| peek(address + 4 * at, 4) == 0);
    4 * end.map_or(most, |at| at + 1)
}
