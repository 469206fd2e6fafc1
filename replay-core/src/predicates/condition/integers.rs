//! Integer types, and the type in which C computes.

use crate::explain::source::Language;

/// An integer type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Integer {
    pub(super) size: u64,
    pub(super) signed: bool,
}

pub(super) const INT: Integer = Integer { size: 4, signed: true };

/// The type in which C computes with a type.
pub(super) fn promoted(of: Integer) -> Integer {
    if of.size < 4 { INT } else { of }
}

/// The type in which C computes with two types.
pub(super) fn common(one: Integer, other: Integer) -> Integer {
    let (one, other) = (promoted(one), promoted(other));
    match one.size.cmp(&other.size) {
        std::cmp::Ordering::Less => other,
        std::cmp::Ordering::Greater => one,
        std::cmp::Ordering::Equal => Integer { size: one.size, signed: one.signed && other.signed },
    }
}

/// The integer types that need no debug information.
pub(super) fn builtin(name: &str, language: Language) -> Option<Integer> {
    let of = |size, signed| Some(Integer { size, signed });
    if language == Language::Rust {
        return match name {
            "i8" => of(1, true),
            "i16" => of(2, true),
            "i32" => of(4, true),
            "i64" | "isize" => of(8, true),
            "u8" | "bool" => of(1, false),
            "u16" => of(2, false),
            "u32" | "char" => of(4, false),
            "u64" | "usize" => of(8, false),
            _ => None,
        };
    }
    match name {
        "char" | "signed char" | "int8_t" => of(1, true),
        "unsigned char" | "uint8_t" => of(1, false),
        "short" | "int16_t" => of(2, true),
        "unsigned short" | "uint16_t" => of(2, false),
        "int" | "signed" | "int32_t" => of(4, true),
        "unsigned" | "unsigned int" | "uint32_t" => of(4, false),
        "long" | "long int" | "long long" | "int64_t" | "ssize_t" | "intptr_t" => of(8, true),
        "unsigned long" | "unsigned long long" | "uint64_t" | "size_t" | "uintptr_t" => {
            of(8, false)
        }
        _ => None,
    }
}
