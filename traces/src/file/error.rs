//! The reasons why bytes are not a valid trace, and the limits of the format.

/// Incremented with every change of the format that an older version would misread.
///
/// Version 2: the user may have changed memory ([`crate::memory_change`]). Files without such
/// changes are still written as version 1.
pub const VERSION: u32 = 2;

/// The most steps of a trace. A few hundred kilobytes can expand to this many; the limit keeps
/// their memory below half a gigabyte.
pub const MAX_STEPS: usize = 1 << 22;

/// The most tasks of a trace. The runtime has room for fewer.
pub const MAX_TASKS: usize = 1 << 12;

/// The most objects of a trace. The runtime records no more.
pub const MAX_OBJECTS: usize = 1 << 16;

/// The most of each other part of a trace that has no limit by its nature: waits, stacks, modules,
/// past events.
pub const MAX_PARTS: usize = 1 << 14;

/// The key for author marks.
pub type Key = [u8; 32];

/// The reason why bytes are not a valid trace, and what the user can do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// The file has no bytes.
    #[error("the file is empty; record the trace again")]
    Empty,
    /// The file is not a trace.
    #[error("this is not a Heddle trace; name a file that ends in .heddle")]
    NotATrace,
    /// The file was written by a newer version.
    #[error(
        "this trace has format version {found}, and this Heddle reads versions up to {VERSION}; \
         update heddle"
    )]
    Newer {
        /// The version in the file.
        found: u32,
    },
    /// The end of the file is missing.
    #[error("the trace is cut short ({0}); copy it again, or record it again")]
    Truncated(&'static str),
    /// The checksum is wrong, or bytes outside the checksummed part are.
    #[error("the trace is damaged ({0}); copy it again, or record it again")]
    Damaged(&'static str),
    /// The checksum is right, but the content is inconsistent.
    #[error("the trace is inconsistent ({0}); it was not written by Heddle: record it again")]
    Malformed(String),
    /// The trace would need more memory than any valid trace.
    #[error("the trace is too large ({0}); record it again with a lower --max-steps")]
    TooLarge(String),
}
