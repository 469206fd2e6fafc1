//! The frame of a trace file: magic, version, sections with their lengths, checksum and mark.

use super::{FileError, Key, VERSION};
use std::borrow::Cow;

/// A byte that is no text, the name, and a line end that a careless copy would change.
pub(super) const MAGIC: &[u8; 8] = b"\x89heddle\n";
/// The sections, in the order in which they stand.
pub(super) const HEAD: &[u8; 4] = b"HEAD";
pub(super) const TABLES: &[u8; 4] = b"TABL";
pub(super) const STEPS: &[u8; 4] = b"STEP";
pub(super) const OUTPUT: &[u8; 4] = b"OUTP";

/// How many sections there are.
const SECTIONS: usize = 4;
/// Tag, stored length, full length.
const FRAME: usize = 4 + 8 + 8;
/// Checksum and mark.
const TAIL: usize = 32 + 32;
/// No byte of LZ4 stands for more than this many.
const MAX_RATIO: u64 = 255;

/// The most bytes of a section when expanded. In the tables, 4 bytes may make a value of 100.
fn limit(tag: &[u8; 4]) -> u64 {
    if tag == STEPS { 128 << 20 } else { 32 << 20 }
}

/// Puts a file together.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    pub(super) fn new(version: u32) -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        Writer(bytes)
    }

    /// A section as it is. Equal lengths say so.
    pub(super) fn plain(&mut self, tag: &[u8; 4], content: &[u8]) {
        self.frame(tag, content, content.len());
    }

    /// A section, compressed where that makes it smaller.
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

    /// The finished file.
    pub(super) fn seal(self, key: Option<&Key>) -> Vec<u8> {
        let mut bytes = self.0;
        let checksum = blake3::hash(&bytes);
        let mark = key.map_or([0; 32], |key| *blake3::keyed_hash(key, &bytes).as_bytes());
        bytes.extend(checksum.as_bytes());
        bytes.extend(mark);
        bytes
    }
}

/// Takes a file apart.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    body: &'a [u8],
    mark: &'a [u8; 32],
    /// What was not taken yet.
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Looks at everything but the sections' contents: what it is, whether it is whole, and
    /// whether it is as it was written.
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
            // What the older one lacks is read as nothing.
            1..=VERSION => {}
            0 => return Err(FileError::Damaged("its format version is 0")),
            found => return Err(FileError::Newer { found }),
        }
        let rest = at;
        // Whether the end is missing is told before the checksum is looked for: "cut short" is
        // a better answer than "damaged".
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

    /// The content of the next section, which has to be this one.
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
        // Below the limit, so it fits; and memory is only taken for what the input can give.
        if full > (stored as u64).saturating_mul(MAX_RATIO) {
            return Err(broken());
        }
        let expanded = lz4_flex::block::decompress(content, full as usize).map_err(|_| broken())?;
        if expanded.len() as u64 != full {
            return Err(broken());
        }
        Ok(Cow::Owned(expanded))
    }

    /// After the last section: what the mark is made of, and the mark.
    pub(super) fn end(self) -> Result<(&'a [u8], &'a [u8; 32]), FileError> {
        if !self.rest.is_empty() {
            return Err(FileError::Malformed("a section too many".into()));
        }
        Ok((self.body, self.mark))
    }
}

pub(super) const CUT: FileError = FileError::Truncated("its end is missing");

/// Tag, stored length and full length of the section that begins here.
fn frame(at: &[u8]) -> Result<(&[u8; 4], usize, u64), FileError> {
    let (tag, at) = at.split_first_chunk::<4>().ok_or(CUT)?;
    let (stored, at) = at.split_first_chunk::<8>().ok_or(CUT)?;
    let (full, _) = at.split_first_chunk::<8>().ok_or(CUT)?;
    let stored = usize::try_from(u64::from_le_bytes(*stored)).map_err(|_| CUT)?;
    Ok((tag, stored, u64::from_le_bytes(*full)))
}
