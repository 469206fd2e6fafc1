//! The conversions in a format of `printf`.

use crate::detect::access::peek;
use crate::instrument::binary::variable_arguments::VariableArguments;

/// A conversion, such as `%-8.*ld`, with the arguments that its width and its precision take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conversion {
    /// Where it begins, and the address behind it.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The flags `-`, `+`, a space, `#` and `0`.
    pub(super) is_left: bool,
    pub(super) has_sign: bool,
    pub(super) has_space: bool,
    pub(super) is_alternative: bool,
    pub(super) has_zeros: bool,
    pub(super) width: u64,
    pub(super) precision: Option<u64>,
    /// The first byte of the modifier, such as the `l` in `%ld`, and its length.
    pub(super) modifier: (u8, u64),
    /// The byte that says what is converted.
    pub(super) kind: u8,
}

impl Conversion {
    /// The conversion whose percent sign is at `start`.
    pub(super) fn read(start: u64, next: &mut VariableArguments<'_>) -> Conversion {
        let byte = |at: u64| peek(at, 1) as u8;
        let flags = start + 1;
        let mut at = flags;
        while b"-+ #0".contains(&byte(at)) {
            at += 1;
        }
        let end_of_flags = at;
        let has = |flag: u8| (flags..end_of_flags).any(|at| byte(at) == flag);
        let width = next.number(&mut at);
        let mut precision = None;
        if byte(at) == b'.' {
            at += 1;
            precision = u64::try_from(next.number(&mut at)).ok();
        }
        let size = at;
        while b"hlqjztL".contains(&byte(at)) {
            at += 1;
        }
        Conversion {
            start,
            end: at + 1,
            // A negative width as an argument is the flag and a width.
            is_left: has(b'-') || width < 0,
            has_sign: has(b'+'),
            has_space: has(b' '),
            is_alternative: has(b'#'),
            has_zeros: has(b'0'),
            width: width.unsigned_abs(),
            precision,
            modifier: (byte(size), at - size),
            kind: byte(at),
        }
    }

    /// Whether it is of a floating-point number.
    pub(super) fn is_floating(&self) -> bool {
        b"aAeEfFgG".contains(&self.kind)
    }

    /// Whether it is of an integer or a pointer.
    pub(super) fn is_integer(&self) -> bool {
        b"diuxXop".contains(&self.kind)
    }
}
