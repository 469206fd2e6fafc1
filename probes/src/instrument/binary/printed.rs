//! How many bytes `sprintf` writes, by its format and arguments.

use crate::detect::access::peek;
use crate::instrument::binary::format::Conversion;
use crate::instrument::binary::operand::LOWEST;
use crate::instrument::binary::variable_arguments::{VariableArguments, length as text_length};

/// The most digits before the point of a floating-point number in decimal notation, and of a `long double`.
const DOUBLE: u64 = 309;
const LONG_DOUBLE: u64 = 4933;
/// What a floating-point number has besides its digits: sign, point, exponent, `0x`.
const REST: u64 = 12;

/// The length of the text with its zero: exact without floating-point numbers, with them the most that it can
/// be. None if the format has a form that is not known.
pub(super) fn length(format: u64, mut next: VariableArguments<'_>) -> Option<u64> {
    if format < LOWEST {
        return Some(0);
    }
    let byte = |at: u64| peek(at, 1) as u8;
    let (mut at, mut total) = (format, 1u64);
    loop {
        match byte(at) {
            0 => return Some(total),
            b'%' => {}
            _ => {
                (at, total) = (at + 1, total + 1);
                continue;
            }
        }
        let read = Conversion::read(at, &mut next);
        at = read.end;
        let Conversion { precision, modifier, width, kind: conversion, .. } = read;
        let (signed, alternative) = (read.has_sign || read.has_space, read.is_alternative);
        let len = match conversion {
            b'%' => 1,
            b'c' if modifier.1 == 0 => {
                next.word();
                1
            }
            b's' if modifier.1 == 0 => match next.word() {
                text if text < LOWEST => precision.unwrap_or(6).min(6),
                text => match precision {
                    None => text_length(text, None) - 1,
                    Some(most) => bounded(text, most),
                },
            },
            b'd' | b'i' => {
                let value = sign_extended(next.word(), modifier);
                let sign = u64::from(value < 0 || signed);
                digits(value.unsigned_abs(), 10, precision) + sign
            }
            b'u' => digits(zero_extended(next.word(), modifier), 10, precision),
            b'x' | b'X' => {
                let value = zero_extended(next.word(), modifier);
                digits(value, 16, precision) + if alternative && value != 0 { 2 } else { 0 }
            }
            b'o' => {
                let value = zero_extended(next.word(), modifier);
                let len = digits(value, 8, precision);
                let zero = alternative && value != 0 && digits(value, 8, None) == len;
                len.max(u64::from(alternative)) + u64::from(zero)
            }
            b'p' => match next.word() {
                0 => 5,
                value => digits(value, 16, None) + 2 + u64::from(signed),
            },
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => {
                let is_long = modifier.0 == b'L';
                next.skip_number(is_long);
                let digits = precision.unwrap_or(if conversion.eq_ignore_ascii_case(&b'a') {
                    28
                } else {
                    6
                });
                let before = match conversion.to_ascii_lowercase() {
                    b'f' if is_long => LONG_DOUBLE,
                    b'f' => DOUBLE,
                    _ => 1,
                };
                before + digits + REST
            }
            b'n' => {
                next.word();
                0
            }
            _ => return None,
        };
        total = total.saturating_add(if conversion == b'%' || conversion == b'n' {
            len
        } else {
            len.max(width)
        });
    }
}

/// The length of a string without its zero, at most `most`.
fn bounded(text: u64, most: u64) -> u64 {
    (0..most).find(|&at| peek(text + at, 1) == 0).unwrap_or(most)
}

/// A number of the type that a modifier says, such as `hh` or `l`.
fn sign_extended(value: u64, modifier: (u8, u64)) -> i64 {
    match modifier {
        (_, 0) => i64::from(value as i32),
        (b'h', 1) => i64::from(value as i16),
        (b'h', _) => i64::from(value as i8),
        _ => value as i64,
    }
}

fn zero_extended(value: u64, modifier: (u8, u64)) -> u64 {
    match modifier {
        (_, 0) => value & 0xffff_ffff,
        (b'h', 1) => value & 0xffff,
        (b'h', _) => value & 0xff,
        _ => value,
    }
}

/// How many digits a number has, at least as many as the precision says.
fn digits(value: u64, base: u32, precision: Option<u64>) -> u64 {
    let least = precision.unwrap_or(1);
    let len = value.checked_ilog(u64::from(base)).map_or(0, |log| u64::from(log) + 1);
    len.max(least)
}
