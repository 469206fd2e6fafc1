//! The symbols of a module's own functions, in its file: the loader does not map them.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most bytes of a table that is read: all programs but the largest have less.
const MOST: u64 = 256 << 20;

/// The type of the section with all symbols (`SHT_SYMTAB`).
const SYMBOLS: u32 = 2;
/// The type of a symbol that names a function (`STT_FUNC`).
const FUNCTION: u8 = 2;
/// The bytes of a symbol's entry.
const ENTRY: usize = 24;

/// The headers of a file's sections.
pub(super) struct Sections {
    file: File,
    headers: Vec<u8>,
    /// Where the names of sections begin.
    names: u64,
}

impl Sections {
    pub(super) fn of(file: File) -> Option<Sections> {
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        let half = |at: usize| u64::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let (table, count, names) = (word(&header, 40)?, half(60), half(62));
        let mut headers = vec![0; usize::try_from(count * 64).ok()?];
        file.read_exact_at(&mut headers, table).ok()?;
        let names = word(headers.chunks_exact(64).nth(names as usize)?, 24)?;
        Some(Sections { file, headers, names })
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.headers.chunks_exact(64)
    }

    /// The address and size of the section with this name, which ends in a zero.
    pub(super) fn range(&self, name: &[u8; 6]) -> Option<(u64, u64)> {
        let is_named = |section: &&[u8]| {
            let mut text = [0; 6];
            let at = self.names + u64::from(number(section, 0));
            self.file.read_exact_at(&mut text, at).is_ok() && &text == name
        };
        let section = self.all().find(is_named)?;
        Some((word(section, 16)?, word(section, 32)?))
    }

    /// The addresses of the functions whose symbols are wanted, each with the result of `wanted`; none if the
    /// file has no symbols.
    pub(super) fn functions<T>(
        &self,
        wanted: impl Fn(&[u8]) -> Option<T>,
    ) -> Option<Vec<(u64, T)>> {
        let table = self.all().find(|section| number(section, 4) == SYMBOLS)?;
        let texts = self.all().nth(number(table, 40) as usize)?;
        let (symbols, names) = (self.contents(table)?, self.contents(texts)?);
        let functions = symbols.chunks_exact(ENTRY).filter(|symbol| symbol[4] & 0xf == FUNCTION);
        let found = functions.filter_map(|symbol| {
            let name = names.get(number(symbol, 0) as usize..)?;
            let found = wanted(name.split(|&byte| byte == 0).next()?)?;
            Some((word(symbol, 8)?, found))
        });
        Some(found.collect())
    }

    fn contents(&self, section: &[u8]) -> Option<Vec<u8>> {
        let size = word(section, 32).filter(|&size| size <= MOST)?;
        let mut bytes = vec![0; size as usize];
        self.file.read_exact_at(&mut bytes, word(section, 24)?).ok()?;
        Some(bytes)
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}
