//! What the arguments after a format of `scanf` lead to.

use crate::detect::access::peek;
use crate::instrument::binary::operand::LOWEST;
use crate::instrument::binary::variable_arguments::VariableArguments;

/// Calls `each` with every range that a call may write. A conversion to a string writes at most as many bytes as
/// its width says, or as the text has, `text`. None if the format has a form that is not known, or a string of
/// unknown length.
pub(super) fn follow(
    format: u64,
    mut next: VariableArguments<'_>,
    text: Option<u64>,
    each: &mut dyn FnMut(u64, u64),
) -> Option<()> {
    if format < LOWEST {
        return Some(());
    }
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
        let mut is_stored = true;
        let mut allocates = false;
        while b"*'I".contains(&byte(at)) {
            is_stored &= byte(at) != b'*';
            at += 1;
        }
        let mut width = None;
        while byte(at).is_ascii_digit() {
            let digit = u64::from(byte(at) - b'0');
            width = Some(width.unwrap_or(0u64).saturating_mul(10).saturating_add(digit));
            at += 1;
        }
        if byte(at) == b'$' {
            return None;
        }
        if byte(at) == b'm' {
            allocates = true;
            at += 1;
        }
        let size = at;
        while b"hlqjztL".contains(&byte(at)) {
            at += 1;
        }
        let modifier = (byte(size), at - size);
        let conversion = byte(at);
        at += 1;
        let element = if modifier.0 == b'l' && at - 1 != size { 4 } else { 1 };
        let most = match conversion {
            b'%' => continue,
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' => match modifier {
                (_, 0) => 4,
                (b'h', 1) => 2,
                (b'h', _) => 1,
                _ => 8,
            },
            b'p' => 8,
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => match modifier {
                (_, 0) => 4,
                (b'L', _) => 16,
                _ => 8,
            },
            b'c' | b'C' | b's' | b'S' | b'[' => {
                if conversion == b'[' {
                    at = end_of_set(at);
                }
                let element = if conversion.is_ascii_uppercase() { 4 } else { element };
                let longest = match conversion.to_ascii_lowercase() {
                    b'c' => width.unwrap_or(1),
                    _ => width.map_or(text, |width| Some(width.saturating_add(1)))?,
                };
                longest.min(text.map_or(u64::MAX, |text| text.saturating_add(1))) * element
            }
            _ => return None,
        };
        if is_stored {
            let to = next.word();
            if to >= LOWEST {
                each(to, if allocates { 8 } else { most });
            }
        }
    }
}

/// The place behind a set of characters (`[^]a-z]`).
fn end_of_set(mut at: u64) -> u64 {
    let byte = |at: u64| peek(at, 1) as u8;
    at += u64::from(byte(at) == b'^');
    at += u64::from(byte(at) == b']');
    while byte(at) != b']' && byte(at) != 0 {
        at += 1;
    }
    at + u64::from(byte(at) == b']')
}
