//! Trace files: a recorded execution as bytes, to be stored, shared and replayed.
//!
//! [`encode`] and [`decode`] are pure functions on bytes; callers open the files. A file is
//!
//! ```text
//! magic, format version
//! HEAD  circumstances of the execution   MessagePack with named fields, never compressed
//! TABL  tasks, modules, objects, failure MessagePack with named fields
//! STEP  steps, choices, enabled sets     columns
//! OUTP  output of the program            bytes
//! checksum of all of the above           blake3
//! author mark of the same                blake3 with a key, or zeros
//! ```
//!
//! A field that is added to a serialised type needs `#[serde(default)]`, so that older files remain
//! readable. A change that older versions would misread increments [`VERSION`].
//!
//! No content of a file is trusted: a length is compared with the number of bytes in the file before
//! memory is allocated for it, and an index with the size of its table ([`check`]). The checksum
//! detects damage. The author mark identifies the author: it cannot be computed without the key.

mod check;
mod columns;
mod container;
mod error;
mod steps;

pub use check::check;
pub use error::{FileError, Key, MAX_OBJECTS, MAX_PARTS, MAX_STEPS, MAX_TASKS, VERSION};

use crate::{
    AsyncChange, AsyncTask, DeadlineNote, Execution, Failure, Frame, Header, Module, Object, Site,
    TaskRecord, Trace,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The most bytes of a file: more than [`MAX_STEPS`] incompressible steps need.
pub const MAX_FILE: u64 = 256 << 20;

/// The maximum nesting of the tables. Valid files need 8 levels; a crafted file must not exhaust
/// the stack.
const MAX_DEPTH: usize = 24;

/// A trace that was read from a file, and the check of its author mark.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The trace. Its checksum was right, and every index in it is valid.
    pub trace: Trace,
    body: &'a [u8],
    mark: &'a [u8; 32],
}

impl Decoded<'_> {
    /// Whether the file was written with this key and has not been changed since without it.
    #[must_use]
    pub fn written_with(&self, key: &Key) -> bool {
        // A mark of zeros means that there is none. The comparison of hashes takes constant time.
        *self.mark != [0; 32] && blake3::keyed_hash(key, self.body) == *self.mark
    }
}

/// The trace as the bytes of a file, with an author mark if there is a key.
///
/// A trace that is inconsistent or has more than [`MAX_STEPS`] gives bytes that [`decode`] rejects:
/// code that writes a file decodes it first.
#[must_use]
pub fn encode(trace: &Trace, key: Option<&Key>) -> Vec<u8> {
    // Destructuring names every field, so that a new field cannot be forgotten here.
    let Trace { header, execution, failure, output } = trace;
    let Execution { tasks, modules, objects, places, deadlines, .. } = execution;
    let Execution { async_tasks, async_changes, .. } = execution;
    // The rest of the execution is in the section of steps.
    let Execution { steps: _, data: _, enabled: _, .. } = execution;
    let tables = TablesRef {
        tasks,
        modules,
        objects,
        places,
        deadlines,
        async_tasks,
        async_changes,
        failure,
    };
    let is_plain = header.options.changes.is_empty() && header.options.predicates.is_empty();
    let version = if is_plain { 1 } else { VERSION };
    let mut writer = container::Writer::new(version);
    writer.plain(container::HEAD, &pack(header));
    writer.section(container::TABLES, &pack(&tables));
    writer.section(container::STEPS, &steps::write(execution));
    writer.section(container::OUTPUT, output);
    writer.seal(key)
}

/// Reads a trace from the bytes of a file.
///
/// # Errors
///
/// If the bytes are not a complete, undamaged and consistent trace.
pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, FileError> {
    let mut reader = container::Reader::new(bytes)?;
    let header: Header = unpack(&reader.section(container::HEAD)?, "the header")?;
    let tables: Tables = unpack(&reader.section(container::TABLES)?, "the tables")?;
    let recorded = steps::read(&reader.section(container::STEPS)?)?;
    let output = reader.section(container::OUTPUT)?.into_owned();
    let (body, mark) = reader.end();
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
            deadlines: tables.deadlines,
            async_tasks: tables.async_tasks,
            async_changes: tables.async_changes,
        },
        failure: tables.failure,
        output,
    };
    check(&trace)?;
    Ok(Decoded { trace, body, mark })
}

/// The contents of the two MessagePack sections, for writing.
#[derive(Serialize)]
struct TablesRef<'a> {
    tasks: &'a [TaskRecord],
    modules: &'a [Module],
    objects: &'a [Object],
    places: &'a [(Site, Vec<Frame>)],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    deadlines: &'a [DeadlineNote],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    async_tasks: &'a [AsyncTask],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    async_changes: &'a [AsyncChange],
    failure: &'a Option<Failure>,
}

/// The same contents, for reading.
#[derive(Deserialize)]
struct Tables {
    tasks: Vec<TaskRecord>,
    modules: Vec<Module>,
    objects: Vec<Object>,
    places: Vec<(Site, Vec<Frame>)>,
    #[serde(default)]
    deadlines: Vec<DeadlineNote>,
    #[serde(default)]
    async_tasks: Vec<AsyncTask>,
    #[serde(default)]
    async_changes: Vec<AsyncChange>,
    failure: Option<Failure>,
}

fn pack(value: &impl Serialize) -> Vec<u8> {
    // Only the writer could fail, and writing to a vector does not.
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
