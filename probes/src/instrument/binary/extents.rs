//! Arguments of library functions that lead to several ranges of memory: vectors of buffers, messages, the
//! arguments of a format, the environment.

use crate::detect::access::peek;
use crate::instrument::binary::calls::report_unexplored;
use crate::instrument::binary::operand::{LOWEST, Measure, Operand};
use std::ffi::c_char;

/// The registers of integer arguments in the System V ABI, numbered as in instruction encodings.
pub(super) const ARGUMENTS: [u8; 6] = [7, 6, 2, 1, 8, 9];

/// How many buffers a call may have (`IOV_MAX`), and how many messages and variables are followed.
const MOST: u64 = 1024;
/// The sizes of `struct iovec`, `struct msghdr` and `struct mmsghdr`.
const BUFFER: u64 = 16;
const MESSAGE: u64 = 64;
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

/// Calls `each` with address and size of every range that the operand leads to; false if it leads to a single
/// one, which the caller finds.
pub(super) fn several(
    operand: &Operand,
    arguments: &Arguments<'_>,
    each: &mut dyn FnMut(u64, u64),
) -> bool {
    let register = |number: u8| arguments.general[usize::from(number)];
    match operand.measure {
        Measure::Buffers(count) => buffers(register(operand.base), register(count), each),
        Measure::Message => message(register(operand.base), each),
        Measure::Messages(count) => {
            let first = register(operand.base);
            (0..(register(count) as u32 as u64).min(MOST))
                .for_each(|at| message(first + at * MESSAGE, each));
        }
        Measure::Format { first, list } => {
            let format = register(operand.base);
            let next = match list {
                true => VariableArguments::of_list(
                    arguments.general[usize::from(ARGUMENTS[first.min(5) as usize])],
                ),
                false => VariableArguments::of_call(first, arguments),
            };
            if format >= LOWEST && follow(format, next, operand.writes, each).is_none() {
                report_unexplored(
                    "printf",
                    "libc, with a format that is not known",
                    arguments.site,
                );
            }
        }
        Measure::Environment => {
            let variable = operand.displacement;
            each(variable, 8);
            let list = peek(variable, 8);
            if list >= LOWEST {
                let len = (0..MOST).find(|at| peek(list + 8 * at, 8) == 0).unwrap_or(MOST - 1);
                each(list, 8 * (len + 1));
            }
        }
        _ => return false,
    }
    true
}

fn buffers(first: u64, count: u64, each: &mut dyn FnMut(u64, u64)) {
    if first < LOWEST {
        return;
    }
    for at in 0..count.min(MOST) {
        let buffer = first + at * BUFFER;
        let (start, size) = (peek(buffer, 8), peek(buffer + 8, 8));
        if start >= LOWEST && size > 0 {
            each(start, size);
        }
    }
}

/// A `struct msghdr`: its address, its buffers, and its control data.
fn message(header: u64, each: &mut dyn FnMut(u64, u64)) {
    if header < LOWEST {
        return;
    }
    let word = |offset: u64| peek(header + offset, 8);
    let ranges = [(word(0), peek(header + 8, 4)), (word(32), word(40))];
    for (start, size) in ranges {
        if start >= LOWEST && size > 0 {
            each(start, size);
        }
    }
    buffers(word(16), word(24), each);
}

/// The place of the next argument of a variable number of arguments.
struct VariableArguments<'call> {
    /// In the registers' area: those of a call are read from `general`.
    general: u64,
    vector: u64,
    stack: u64,
    area: u64,
    call: Option<&'call [u64; 16]>,
}

impl<'call> VariableArguments<'call> {
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

    fn word(&mut self) -> u64 {
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

    fn skip_number(&mut self, is_long: bool) {
        if is_long {
            self.stack = self.stack.next_multiple_of(16) + 16;
        } else if self.vector < VECTOR_END {
            self.vector += 16;
        } else {
            self.stack += 8;
        }
    }
}

/// Follows a format of `printf`: the strings that it reads, or with `writes` the numbers that it writes
/// (`%n`). None if it has a form that is not known.
fn follow(
    format: u64,
    mut next: VariableArguments<'_>,
    writes: bool,
    each: &mut dyn FnMut(u64, u64),
) -> Option<()> {
    let mut at = format;
    let byte = |at: u64| peek(at, 1) as u8;
    loop {
        match byte(at) {
            0 => return Some(()),
            b'%' => at += 1,
            _ => {
                at += 1;
                continue;
            }
        }
        while b"-+ #0'I".contains(&byte(at)) {
            at += 1;
        }
        let mut number = |at: &mut u64| {
            if byte(*at) == b'*' {
                *at += 1;
                return next.word() as i32 as i64;
            }
            let mut value = 0i64;
            while byte(*at).is_ascii_digit() {
                value = value.saturating_mul(10).saturating_add(i64::from(byte(*at) - b'0'));
                *at += 1;
            }
            value
        };
        number(&mut at);
        let mut precision = None;
        if byte(at) == b'.' {
            at += 1;
            precision = u64::try_from(number(&mut at)).ok();
        }
        let size = at;
        while b"hlqjztL".contains(&byte(at)) {
            at += 1;
        }
        let is_long = byte(size) == b'L';
        let is_wide = byte(size) == b'l';
        let conversion = byte(at);
        at += 1;
        match conversion {
            b'%' | b'm' => {}
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b'p' => {
                next.word();
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => next.skip_number(is_long),
            b's' | b'S' => {
                let text = next.word();
                if text >= LOWEST && !writes {
                    let len = match conversion == b'S' || is_wide {
                        true => wide_length(text, precision.unwrap_or(u64::MAX)),
                        false => length(text, precision),
                    };
                    if len > 0 {
                        each(text, len);
                    }
                }
            }
            b'n' => {
                let to = next.word();
                let size = match at - 1 - size {
                    0 => 4,
                    2 if byte(size) == b'h' => 1,
                    _ if byte(size) == b'h' => 2,
                    _ => 8,
                };
                if to >= LOWEST && writes {
                    each(to, size);
                }
            }
            _ => return None,
        }
    }
}

/// The length in bytes of a C string of at most `most` bytes, including the zero if it is reached.
fn length(text: u64, most: Option<u64>) -> u64 {
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
