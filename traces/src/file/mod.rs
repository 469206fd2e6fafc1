//! Trace files: one recorded execution as bytes, to be kept, sent and run again.
//!
//! [`encode`] and [`decode`] are pure; opening files is somebody else's work. A file is
//!
//! ```text
//! magic, format version
//! HEAD  how the execution came about     MessagePack with named fields, never compressed
//! TABL  tasks, modules, objects, failure MessagePack with named fields
//! STEP  steps, choices, enabled sets     columns
//! OUTP  what the program printed         bytes
//! checksum of all of the above           blake3
//! author mark of the same                blake3 with a key, or zeros
//! ```
//!
//! A field that is added to a type in here needs `#[serde(default)]` to keep older files
//! readable; a change that older versions would misread counts [`VERSION`] up.
//!
//! Nothing in a file is believed: a length is compared with what is there before anything is
//! allocated for it, and an index with the table that it points into ([`check`]). The checksum
//! tells of damage, the author mark of who wrote the file: only who has the key can make it.

mod check;
mod columns;
mod container;
mod steps;

pub use check::check;

use crate::{Execution, Failure, Frame, Header, Module, Object, Site, TaskRecord, Trace};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Counts the changes of the format that an older version would misread.
///
/// 2: memory may be changed on the way ([`crate::memory_change`]). Files in which none is are version 1.
pub const VERSION: u32 = 2;
/// The most steps of a trace. A few hundred kilobytes can stand for so many, and this keeps what
/// they grow to below half a gigabyte.
pub const MAX_STEPS: usize = 1 << 22;
/// The most bytes of a file. More than [`MAX_STEPS`] of the worst sort would need.
pub const MAX_FILE: u64 = 256 << 20;

/// How deep the tables may be nested. Ours need 8; a crafted file must not exhaust the stack.
const MAX_DEPTH: usize = 24;

/// The key behind an author mark.
pub type Key = [u8; 32];

/// Why bytes are not a trace, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// There are none.
    #[error("the file is empty; record the trace again")]
    Empty,
    /// Something else altogether.
    #[error("this is not a Heddle trace; name a file that ends in .heddle")]
    NotATrace,
    /// From the future.
    #[error(
        "this trace has format version {found}, and this Heddle reads versions up to {VERSION}; \
         update heddle"
    )]
    Newer {
        /// The version that the file names.
        found: u32,
    },
    /// The end is missing.
    #[error("the trace is cut short ({0}); copy it again, or record it again")]
    Truncated(&'static str),
    /// The checksum is wrong, or what surrounds it.
    #[error("the trace is damaged ({0}); copy it again, or record it again")]
    Damaged(&'static str),
    /// The bytes are as somebody wrote them, but they make no sense.
    #[error(
        "the trace contradicts itself ({0}); it was not written by a sound Heddle: record it again"
    )]
    Malformed(String),
    /// It would need more memory than any real trace does.
    #[error("the trace is too large ({0}); record it again with a lower --max-steps")]
    TooLarge(String),
}

/// A trace that came out of a file, with the means to ask who wrote it.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The trace. Its checksum was right and every index in it is.
    pub trace: Trace,
    body: &'a [u8],
    mark: &'a [u8; 32],
}

impl Decoded<'_> {
    /// Whether the file was written with this key, and not changed by anyone without it.
    #[must_use]
    pub fn written_with(&self, key: &Key) -> bool {
        // A mark of zeros stands for none. Comparing hashes takes the same time wherever they
        // differ.
        *self.mark != [0; 32] && blake3::keyed_hash(key, self.body) == *self.mark
    }
}

/// The trace as the bytes of a file, marked as the key's owner's if there is a key.
///
/// A trace that contradicts itself or has more than [`MAX_STEPS`] gives bytes that [`decode`]
/// refuses: whoever writes a file decodes it first.
#[must_use]
pub fn encode(trace: &Trace, key: Option<&Key>) -> Vec<u8> {
    // Every field is named, so that one that is added to a type cannot be forgotten here.
    let Trace { header, execution, failure, output } = trace;
    let Execution { tasks, modules, objects, places, steps: _, data: _, enabled: _ } = execution;
    let tables = TablesRef { tasks, modules, objects, places, failure };
    let version = if header.options.changes.is_empty() { 1 } else { VERSION };
    let mut writer = container::Writer::new(version);
    writer.plain(container::HEAD, &pack(header));
    writer.section(container::TABLES, &pack(&tables));
    writer.section(container::STEPS, &steps::write(execution));
    writer.section(container::OUTPUT, output);
    writer.seal(key)
}

/// The trace in the bytes of a file.
///
/// # Errors
/// Where the bytes are no whole, undamaged and sensible trace.
pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, FileError> {
    let mut reader = container::Reader::new(bytes)?;
    let header: Header = unpack(&reader.section(container::HEAD)?, "the header")?;
    let tables: Tables = unpack(&reader.section(container::TABLES)?, "the tables")?;
    let recorded = steps::read(&reader.section(container::STEPS)?)?;
    let output = reader.section(container::OUTPUT)?.into_owned();
    let (body, mark) = reader.end()?;
    let trace = Trace {
        header,
        execution: Execution {
            tasks: tables.tasks,
            modules: tables.modules,
            objects: tables.objects,
            places: tables.places,
            steps: recorded.steps,
            data: recorded.data,
            enabled: recorded.enabled,
        },
        failure: tables.failure,
        output,
    };
    check(&trace)?;
    Ok(Decoded { trace, body, mark })
}

/// Everything that is small, as written.
#[derive(Serialize)]
struct TablesRef<'a> {
    tasks: &'a [TaskRecord],
    modules: &'a [Module],
    objects: &'a [Object],
    places: &'a [(Site, Vec<Frame>)],
    failure: &'a Option<Failure>,
}

/// The same, as read.
#[derive(Deserialize)]
struct Tables {
    tasks: Vec<TaskRecord>,
    modules: Vec<Module>,
    objects: Vec<Object>,
    places: Vec<(Site, Vec<Frame>)>,
    failure: Option<Failure>,
}

fn pack(value: &impl Serialize) -> Vec<u8> {
    // The only errors are a writer's, and a vector has none.
    rmp_serde::to_vec_named(value).expect("plain data always serialises")
}

fn unpack<T: DeserializeOwned>(bytes: &[u8], what: &str) -> Result<T, FileError> {
    let mut deserializer = rmp_serde::Deserializer::new(bytes);
    deserializer.set_max_depth(MAX_DEPTH);
    let value = T::deserialize(&mut deserializer)
        .map_err(|error| FileError::Malformed(format!("{what}: {error}")))?;
    if !deserializer.get_ref().is_empty() {
        return Err(FileError::Malformed(format!("{what}: bytes are left over")));
    }
    Ok(value)
}

#[cfg(test)]
mod tests;
