//! The functions of the C library that read or write bytes until what they find decides.

/// Such a function, by what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringFunction {
    /// `strlen`, `strnlen`.
    Length { most: Most },
    /// `strcmp` and its like.
    CompareStrings { most: Most, folds: bool },
    /// `memcmp`.
    Compare,
    /// `memchr`.
    Find,
    /// `strchr`, `strrchr`, `strchrnul`.
    FindInString(Found),
    /// `strcpy`, which returns the destination, or `stpcpy`, which returns the end of it.
    Copy { to_end: bool },
    /// `strncpy`, `stpncpy`: at most as many bytes as the third argument says, and zeros up to there.
    CopyPadded { to_end: bool },
    /// `strcat`, `strncat`.
    Append { most: Most },
    /// `strtol` and its like.
    Number(Number),
}

/// Whether an argument says how many bytes at most take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Most {
    /// None does.
    Any,
    Second,
    Third,
}

/// What a search for a character in a string returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    /// The first one, or null.
    First,
    /// The last one, or null.
    Last,
    /// The first one, or the end of the string.
    FirstOrEnd,
}

/// Functions that convert text to a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// `strtol`.
    Signed,
    /// `strtoul`.
    Unsigned,
    /// `atoi` and `atol`.
    Decimal,
}

impl StringFunction {
    pub(super) fn named(name: &str) -> Option<StringFunction> {
        use StringFunction as F;
        Some(match name {
            "strlen" => F::Length { most: Most::Any },
            "strnlen" => F::Length { most: Most::Second },
            "strcmp" => F::CompareStrings { most: Most::Any, folds: false },
            "strncmp" => F::CompareStrings { most: Most::Third, folds: false },
            "strcasecmp" => F::CompareStrings { most: Most::Any, folds: true },
            "strncasecmp" => F::CompareStrings { most: Most::Third, folds: true },
            "memcmp" | "bcmp" => F::Compare,
            "memchr" => F::Find,
            "strchr" | "index" => F::FindInString(Found::First),
            "strrchr" | "rindex" => F::FindInString(Found::Last),
            "strchrnul" => F::FindInString(Found::FirstOrEnd),
            "strcpy" | "__strcpy_chk" => F::Copy { to_end: false },
            "stpcpy" | "__stpcpy_chk" => F::Copy { to_end: true },
            "strncpy" | "__strncpy_chk" => F::CopyPadded { to_end: false },
            "stpncpy" | "__stpncpy_chk" => F::CopyPadded { to_end: true },
            "strcat" | "__strcat_chk" => F::Append { most: Most::Any },
            "strncat" | "__strncat_chk" => F::Append { most: Most::Third },
            "strtol" | "strtoll" | "__isoc23_strtol" | "__isoc23_strtoll" => {
                F::Number(Number::Signed)
            }
            "strtoul" | "strtoull" | "__isoc23_strtoul" | "__isoc23_strtoull" => {
                F::Number(Number::Unsigned)
            }
            "atoi" | "atol" | "atoll" => F::Number(Number::Decimal),
            _ => return None,
        })
    }
}
