//! Which memory an instruction or a call accesses.

use crate::instrument::binary::library_states::Hidden;
use std::ffi::{CStr, c_char};

/// The extent of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// One element.
    Element,
    /// As many bytes as this register says.
    Register(u8),
    /// The C string at this register, including the zero.
    String(u8),
    /// The C string at the first register, of at most as many bytes as the second says.
    BoundedString(u8, u8),
    /// The wide string (`wchar_t`) at this register, including the zero.
    WideString(u8),
    /// The wide string at the first register, of at most as many elements as the second says.
    BoundedWideString(u8, u8),
    /// The product of two registers, in bytes.
    Product(u8, u8),
    /// The C string at the operand, up to where it differs from the one at the register `other`, of at most as many
    /// bytes as the register `most` says.
    Compared { other: u8, most: Option<u8>, folds: bool },
    /// As many elements as this register says, each of the operand's size.
    Elements(u8),
    /// As many bytes as the word says to which this register points.
    Pointed(u8),
    /// The state of the open file whose descriptor is in this register.
    Descriptor(u8),
    /// The same for a read of as many bytes, or to as many buffers, as the second register says.
    Taken { from: u8, len: u8 },
    /// The same for a write.
    Given(u8),
    /// The same for a call that closes the descriptor.
    Closed(u8),
    /// The key of thread-specific data in this register.
    Key(u8),
    /// The element of a string of bits that has the bit whose number is in this register.
    Bits(u8),
    /// The byte of a table whose index is in the lowest byte of this register.
    Table(u8),
    /// The elements of a vector instruction.
    Lanes(Lanes),
    /// As many bytes as the int says to which this register points.
    PointedInt(u8),
    /// The buffers of as many `struct iovec` as this register says.
    Buffers(u8),
    /// What a `struct msghdr` leads to.
    Message,
    /// What as many `struct mmsghdr` as this register says lead to.
    Messages(u8),
    /// The C strings of an array of as many pointers as this register says, or of one that ends with a null pointer.
    Texts(Option<u8>),
    /// The array of `struct option` that ends with an option without a name, and the names.
    Options,
    /// The numbers to which these options lead.
    OptionFlags,
    /// What the arguments after a format of `printf` lead to, from the argument with this number on; `list`: by
    /// a `va_list`.
    Format { first: u8, list: bool },
    /// What the arguments after a format of `scanf` lead to, as in [`Measure::Format`]. The text is at `text`, or
    /// comes from a stream.
    Scan { first: u8, list: bool, text: Option<u8> },
    /// What `sprintf` writes at the operand for this format.
    Printed { format: u8, first: u8, list: bool },
    /// The variable `environ` and the array to which it leads.
    Environment,
    /// As many elements as the word says to which the first register points, and so many more; the second register
    /// has the size of one.
    PointedProduct { count: u8, size: u8, more: u8 },
    /// As many bytes as this register says and so many more.
    Longer(u8, u8),
    /// The bytes at the first register up to the first that is equal to the second register, and at most as
    /// many as the third says.
    Until(u8, u8, u8),
    /// Behind the string at the operand, as many bytes as the string at this register has, of at most as many as
    /// the second says.
    Appended { text: u8, most: Option<u8>, wide: bool },
    /// The string to which the variable at the operand leads.
    Continued,
    /// The variable at the operand in which `strtok` keeps where it continues.
    TokenPosition,
    /// No memory: a use of state that the library does not protect, and whether it excludes others that do so.
    Unprotected { excludes: bool },
    /// The whole heap block at the operand.
    Block,
    /// The whole System V segment that is attached at the operand.
    Segment,
    /// No memory: the call has the number of a descriptor for a moment.
    Number,
    /// No memory of the program: a use of the stream of the operand, and whether the function locks it.
    StreamUse { locks: bool },
    /// The stream at the operand, and its open file.
    Stream,
    /// The stream to which the variable at the operand leads, and its open file.
    StandardStream,
    /// The open files of all descriptors.
    Descriptors,
    /// The open file with the path at the operand.
    Path,
    /// The same if it is a pipe.
    Ends,
    /// The descriptor in this register, and all others that may lead to the same open file: what only calls about
    /// descriptors observe, also of captured output.
    Slot(u8),
    /// The name of the calling thread, by the word of its control block.
    OwnName,
    /// No memory: a use of hidden state by the call of the operand's function, and whether it changes the state
    /// ([`super::library_states`]).
    Hidden { hidden: Hidden, changes: bool },
    /// The moment when all of these are known.
    HiddenKnown,
    /// All streams, and their open files, from the variable at the operand that leads to the first.
    AllStreams,
}

/// Addresses below this are treated as null pointers.
pub(super) const LOWEST: u64 = 4096;

/// The elements of memory that a vector instruction accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) count: u8,
    /// The vector register with the index of each element, and the size of one in bytes; none for
    /// consecutive elements.
    pub(super) index: Option<(u8, u8)>,
    pub(super) mask: Mask,
    /// The vector register that is loaded or stored.
    pub(super) data: u8,
    /// Whether the elements that take part are next to each other in memory (`vpcompress`, `vpexpand`).
    pub(super) dense: bool,
}

/// Which elements of a vector take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mask {
    /// Those with the highest bit set in this vector register.
    Vector(u8),
    /// Those whose bit is set in this mask register.
    Bits(u8),
}

/// A memory operand. A large program has hundreds of thousands, so they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    /// The numbers of general registers, or [`NONE`].
    pub(super) base: u8,
    pub(super) index: u8,
    pub(super) scale: u8,
    /// Whether the address is relative to the thread pointer (`%fs:`).
    pub(super) thread_local: bool,
    /// Whether the address is read from the word to which `base` points, or so many bytes behind that.
    pub(super) pointed: bool,
    pub(super) pointer_at: u8,
    pub(super) displacement: u64,
    /// The size of one element in bytes.
    pub(super) size: u64,
    pub(super) measure: Measure,
    pub(super) reads: bool,
    pub(super) writes: bool,
    /// Whether there is an access at all.
    pub(super) when: When,
    /// How the function that is called makes the access.
    pub(super) parts: Parts,
    /// The function that is called, where its name matters.
    pub(super) function: Option<FunctionName>,
    /// Whether its words of open files are objects of one step, with those of other such operands of the call.
    pub(super) is_joined: bool,
}

/// A function's name in the catalogue. It takes a word, because most operands have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FunctionName(&'static &'static str);

impl FunctionName {
    /// This name, which is never freed.
    pub(super) fn of(name: &'static str) -> FunctionName {
        FunctionName(Box::leak(Box::new(name)))
    }

    pub(super) fn name(self) -> &'static str {
        self.0
    }
}

impl Operand {
    /// The operand at address 0 that is neither read nor written.
    pub(super) const NOTHING: Operand = Operand {
        base: NONE,
        index: NONE,
        scale: 1,
        thread_local: false,
        pointed: false,
        pointer_at: 0,
        displacement: 0,
        size: 8,
        measure: Measure::Element,
        reads: false,
        writes: false,
        when: When::Always,
        parts: Parts::One,
        function: None,
        is_joined: false,
    };

    /// The name of the function that is called; empty where it does not matter.
    pub(super) fn function_name(&self) -> &'static str {
        self.function.map_or("", FunctionName::name)
    }

    /// Whether it is state of the library and not memory of the program.
    pub(super) fn is_library_state(&self) -> bool {
        !matches!(self.measure, Measure::TokenPosition | Measure::Continued)
            && self.has_no_address()
    }

    fn has_no_address(&self) -> bool {
        matches!(
            self.measure,
            Measure::Descriptor(_)
                | Measure::Taken { .. }
                | Measure::Given(_)
                | Measure::Closed(_)
                | Measure::Key(_)
                | Measure::Stream
                | Measure::Path
                | Measure::Ends
                | Measure::Slot(_)
                | Measure::Hidden { .. }
                | Measure::HiddenKnown
        ) || self.base == NONE
    }
}

/// How a function makes an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parts {
    /// As one.
    One,
    /// In aligned words of at most eight bytes.
    Words,
    /// In parts that are not known.
    Unknown,
}

/// A condition on an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// The lower half of this register has this value.
    Equal(u8, u32),
    /// It has one of these bits.
    Bits(u8, u32),
    /// It points to text that begins with this byte.
    Begins(u8, u8),
    /// It points to a format with this conversion.
    Converts(u8, u8),
    /// It is below the first or above the second value.
    Outside(u8, u32, u32),
    /// The word so many bytes behind where it points is not 0.
    Leads(u8, u8),
}

impl When {
    #[inline]
    pub(super) fn holds(self, general: &[u64; 16]) -> bool {
        self == When::Always || self.is_met(general)
    }

    fn is_met(self, general: &[u64; 16]) -> bool {
        match self {
            When::Always => true,
            // A null pointer has no bits at all.
            When::Equal(number, 0) => general[usize::from(number)] == 0,
            When::Equal(number, value) => general[usize::from(number)] as u32 == value,
            When::Bits(number, bits) => general[usize::from(number)] as u32 & bits != 0,
            When::Begins(number, byte) => {
                let text = general[usize::from(number)];
                // SAFETY: the program is about to pass the same text to a function that reads it.
                text >= LOWEST && unsafe { *(text as *const u8) } == byte
            }
            When::Converts(number, conversion) => {
                let format = general[usize::from(number)];
                // SAFETY: as above, and the function reads it up to its end.
                format >= LOWEST
                    && unsafe { converts(CStr::from_ptr(format as *const c_char), conversion) }
            }
            When::Leads(number, offset) => {
                let start = general[usize::from(number)];
                let word = (start + u64::from(offset)) as *const u64;
                // SAFETY: as above.
                start >= LOWEST && unsafe { word.read_unaligned() } != 0
            }
            When::Outside(number, low, high) => {
                !(low..=high).contains(&(general[usize::from(number)] as u32))
            }
        }
    }
}

/// Whether a format of `strftime` has a conversion, behind flags, a width, and modifiers.
fn converts(format: &CStr, conversion: u8) -> bool {
    let mut parts = format.to_bytes().split(|&byte| byte == b'%').skip(1);
    let is_before = |byte: &u8| b"_-0^#+EO:123456789".contains(byte);
    parts.any(|part| part.iter().find(|byte| !is_before(byte)) == Some(&conversion))
}

/// No register.
pub(super) const NONE: u8 = u8::MAX;

/// Where the address of a call or jump comes from that leads to no fixed place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// It leads to a fixed place, or is no call or jump.
    Fixed,
    /// A general register.
    Register(u8),
    /// The memory of the first operand.
    Memory,
}

/// How a repeated string instruction ends before the count in rcx is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    None,
    /// At the first element that differs (`repe`).
    WhileEqual,
    /// At the first element that is equal (`repne`).
    WhileDifferent,
}
