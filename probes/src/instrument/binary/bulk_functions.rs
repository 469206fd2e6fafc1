//! What copies, fills, or reads many bytes: instructions, and the functions of the C library that do.

use crate::instrument::binary::operand::Search;

/// What copies, fills, or reads many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bulk {
    None,
    Instruction(StringInstruction),
    /// A call of a function. `checked`: an argument behind the others says how much room there is.
    Call {
        function: Function,
        checked: bool,
    },
}

/// A string instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StringInstruction {
    pub(super) kind: Kind,
    /// The size of an element.
    pub(super) size: u8,
    /// Whether it is repeated as often as rcx says.
    pub(super) repeats: bool,
}

/// What a string instruction does with each element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Move,
    Store,
    /// It compares two elements in memory, until the search ends.
    Compare(Search),
    /// It compares an element in memory with rax.
    Scan(Search),
}

/// A function that is made in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// `memcpy` or `memmove`, which return the destination, or `mempcpy`, which returns the end of it.
    Copy {
        to_end: bool,
    },
    /// `memset`.
    Fill,
    String(StringFunction),
    Token(TokenFunction),
    Print(PrintFunction),
}

impl Bulk {
    /// By the name of a function.
    pub(super) fn of_function(name: &str) -> Bulk {
        let function = match name {
            "memcpy" | "memmove" | "__memcpy_chk" | "__memmove_chk" => {
                Function::Copy { to_end: false }
            }
            "mempcpy" | "__mempcpy_chk" => Function::Copy { to_end: true },
            "memset" | "__memset_chk" => Function::Fill,
            name => {
                let string = || StringFunction::named(name).map(Function::String);
                let token = || TokenFunction::named(name).map(Function::Token);
                let print = || PrintFunction::named(name).map(Function::Print);
                match string().or_else(token).or_else(print) {
                    Some(function) => function,
                    None => return Bulk::None,
                }
            }
        };
        Bulk::Call { function, checked: name.ends_with("_chk") }
    }
}

/// A function that reads or writes bytes until what it finds decides.
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

/// A function that takes a string apart at the bytes of a set, which is a string, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenFunction {
    /// How many bytes at the beginning of a string are (`strspn`), or are not (`strcspn`), in the set.
    Span { of_set: bool },
    /// `strpbrk`.
    FindAny,
    /// `strtok` and `strtok_r`.
    Next(Position),
    /// `strsep`.
    Separate,
}

/// Where a function that takes a string apart stores how far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// In a variable of the C library.
    Library,
    /// Where the third argument points.
    Third,
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

impl TokenFunction {
    fn named(name: &str) -> Option<TokenFunction> {
        use TokenFunction as F;
        Some(match name {
            "strspn" => F::Span { of_set: true },
            "strcspn" => F::Span { of_set: false },
            "strpbrk" => F::FindAny,
            "strtok" => F::Next(Position::Library),
            "strtok_r" | "__strtok_r" => F::Next(Position::Third),
            "strsep" => F::Separate,
            _ => return None,
        })
    }
}

/// A function that prints text into memory. Arguments are given by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrintFunction {
    pub(super) name: &'static str,
    /// How many bytes there is room for, as the program says.
    pub(super) size: Option<u8>,
    /// The same as the compiler found.
    pub(super) room: Option<u8>,
    pub(super) format: u8,
    /// The first argument that is printed, or the `va_list` of them.
    pub(super) first: u8,
    pub(super) is_list: bool,
    /// Whether the C library may begin by writing a zero.
    pub(super) erases_first: bool,
}

impl PrintFunction {
    fn named(name: &str) -> Option<PrintFunction> {
        let function = |name, (size, room), format, first, is_list| PrintFunction {
            name,
            size,
            room,
            format,
            first,
            is_list,
            erases_first: size.is_some() || room.is_some(),
        };
        Some(match name {
            "sprintf" => function("sprintf", (None, None), 1, 2, false),
            "vsprintf" => function("vsprintf", (None, None), 1, 2, true),
            "snprintf" => function("snprintf", (Some(1), None), 2, 3, false),
            "vsnprintf" => function("vsnprintf", (Some(1), None), 2, 3, true),
            "__sprintf_chk" => function("sprintf", (None, Some(2)), 3, 4, false),
            "__vsprintf_chk" => function("vsprintf", (None, Some(2)), 3, 4, true),
            "__snprintf_chk" => function("snprintf", (Some(1), Some(3)), 4, 5, false),
            "__vsnprintf_chk" => function("vsnprintf", (Some(1), Some(3)), 4, 5, true),
            _ => return None,
        })
    }
}
