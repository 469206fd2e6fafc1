//! The frame of a trace file: magic, version, sections with their lengths, checksum and mark.

use super::error::{FileError, Key, VERSION};
use std::borrow::Cow;

/// A byte that is not valid text, the name, and a line end, which a copy in text mode would change.
pub(super) const MAGIC: &[u8; 8] = b"\x89heddle\n";
/// The sections, in the order of the file.
pub(super) const HEAD: &[u8; 4] = b"HEAD";
pub(super) const TABLES: &[u8; 4] = b"TABL";
pub(super) const STEPS: &[u8; 4] = b"STEP";
pub(super) const OUTPUT: &[u8; 4] = b"OUTP";

/// The number of sections.
const SECTIONS: usize = 4;
/// The size of a section's frame: tag, stored length, full length.
const FRAME: usize = 4 + 8 + 8;
/// The size of the file's tail: checksum and mark.
const TAIL: usize = 32 + 32;
/// LZ4 expands by at most this factor.
const MAX_RATIO: u64 = 255;

/// The maximum size of an expanded section. In the tables, 4 bytes can expand to a value of 100
/// bytes.
fn limit(tag: &[u8; 4]) -> u64 {
    if tag == STEPS { 128 << 20 } else { 32 << 20 }
}

/// Writes the sections of a file.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(version: u32) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        Writer(bytes)
    }

    /// Writes a section uncompressed, which the reader recognises by equal lengths.
    pub(super) fn plain(&mut self, tag: &[u8; 4], content: &[u8]) {
        self.frame(tag, content, content.len());
    }

    /// Writes a section, compressed if that makes it smaller.
    pub(super) fn section(&mut self, tag: &[u8; 4], content: &[u8]) {
        let compressed = lz4_flex::block::compress(content);
        if compressed.len() < content.len() {
            self.frame(tag, &compressed, content.len());
        } else {
            self.plain(tag, content);
        }
    }

    pub(super) fn frame(&mut self, tag: &[u8; 4], stored: &[u8], full: usize) {
        self.0.extend(tag);
        self.0.extend((stored.len() as u64).to_le_bytes());
        self.0.extend((full as u64).to_le_bytes());
        self.0.extend(stored);
    }

    /// Appends checksum and mark, and returns the file.
    pub(super) fn seal(self, key: Option<&Key>) -> Vec<u8> {
        let mut bytes = self.0;
        let checksum = blake3::hash(&bytes);
        let mark = key.map_or([0; 32], |key| *blake3::keyed_hash(key, &bytes).as_bytes());
        bytes.extend(checksum.as_bytes());
        bytes.extend(mark);
        bytes
    }
}

/// Reads the sections of a file.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    body: &'a [u8],
    mark: &'a [u8; 32],
    /// The bytes that were not read yet.
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks everything except the contents of the sections: magic, version, lengths and checksum.
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, FileError> {
        if bytes.is_empty() {
            return Err(FileError::Empty);
        }
        let Some(after_magic) = bytes.strip_prefix(MAGIC) else {
            let start = MAGIC.starts_with(bytes);
            return Err(if start { CUT } else { FileError::NotATrace });
        };
        let (version, mut at) = after_magic.split_first_chunk().ok_or(CUT)?;
        match u32::from_le_bytes(*version) {
            // Fields that older versions lack get their defaults.
            1..=VERSION => {}
            0 => return Err(FileError::Damaged("its format version is 0")),
            found => return Err(FileError::Newer { found }),
        }
        let rest = at;
        // A missing end is detected before the checksum is computed: "cut short" is a more precise
        // error than "damaged".
        for _ in 0..SECTIONS {
            let (_, stored, _) = frame(at)?;
            at = at.get(FRAME..).and_then(|at| at.get(stored..)).ok_or(CUT)?;
        }
        let body = &bytes[..bytes.len() - at.len()];
        let (checksum, mark) = at.split_first_chunk::<32>().ok_or(CUT)?;
        let mark = match <&[u8; TAIL - 32]>::try_from(mark) {
            Ok(mark) => mark,
            Err(_) if mark.len() < TAIL - 32 => return Err(CUT),
            Err(_) => return Err(FileError::Damaged("something follows its end")),
        };
        if blake3::hash(body) != *checksum {
            return Err(FileError::Damaged("its checksum is wrong"));
        }
        Ok(Reader { body, mark, rest: &rest[..rest.len() - at.len()] })
    }

    /// The content of the next section, which must have this tag.
    pub(super) fn section(&mut self, tag: &[u8; 4]) -> Result<Cow<'a, [u8]>, FileError> {
        let name = || String::from_utf8_lossy(tag);
        let (found, stored, full) = frame(self.rest)?;
        if found != tag {
            return Err(FileError::Malformed(format!("section {} is missing", name())));
        }
        let (content, rest) =
            self.rest.get(FRAME..).and_then(|at| at.split_at_checked(stored)).ok_or(CUT)?;
        self.rest = rest;
        if full > limit(tag) {
            return Err(FileError::TooLarge(format!("section {} has {full} bytes", name())));
        }
        if full == stored as u64 {
            return Ok(Cow::Borrowed(content));
        }
        let broken = || FileError::Malformed(format!("section {} does not expand", name()));
        // The length is below the limit. Memory is allocated only for what the stored bytes can
        // expand to.
        if full > (stored as u64).saturating_mul(MAX_RATIO) {
            return Err(broken());
        }
        let expanded = lz4_flex::block::decompress(content, full as usize).map_err(|_| broken())?;
        if expanded.len() as u64 != full {
            return Err(broken());
        }
        Ok(Cow::Owned(expanded))
    }

    /// Call after the last section, of which there are as many as [`Reader::new`] found. Returns the bytes that
    /// the author mark covers, and the mark.
    pub(super) fn end(self) -> (&'a [u8], &'a [u8; 32]) {
        debug_assert!(self.rest.is_empty());
        (self.body, self.mark)
    }
}

pub(super) const CUT: FileError = FileError::Truncated("its end is missing");

/// The tag, stored length and full length of the section at the start of `at`.
fn frame(at: &[u8]) -> Result<(&[u8; 4], usize, u64), FileError> {
    let (tag, at) = at.split_first_chunk::<4>().ok_or(CUT)?;
    let (stored, at) = at.split_first_chunk::<8>().ok_or(CUT)?;
    let (full, _) = at.split_first_chunk::<8>().ok_or(CUT)?;
    let stored = usize::try_from(u64::from_le_bytes(*stored)).map_err(|_| CUT)?;
    Ok((tag, stored, u64::from_le_bytes(*full)))
}
