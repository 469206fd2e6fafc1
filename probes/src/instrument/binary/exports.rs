//! The functions and variables that a module exports, read from its hash table.
//!
//! The loader's own lookup (`dlsym`) allocates memory for the message of each name that it does not find, and
//! frees it at a later lookup: in the program's heap, where that would move the program's blocks.

use crate::instrument::binary::image::Image;
use std::ffi::CStr;

const NAMES: u64 = 5;
const SYMBOLS: u64 = 6;
/// The tags of GNU's hash table, and of the version of each symbol.
const HASHES: u64 = 0x6fff_fef5;
const VERSIONS: u64 = 0x6fff_fff0;
/// A symbol with this bit is not the default version, so that no program can be linked to it.
const HIDDEN: u16 = 0x8000;
const VARIABLE: u8 = 1;
const FUNCTION: u8 = 2;
/// A function that returns the address of the implementation for this processor.
const INDIRECT: u8 = 10;
const SYMBOL_LEN: u64 = 24;

/// An exported function or variable.
pub(super) struct Export {
    pub(super) name: &'static CStr,
    /// None if the loader chooses the implementation.
    pub(super) address: Option<u64>,
}

impl Image {
    /// The functions that the module exports. Empty if it has no table of the GNU kind.
    pub(super) fn exports(&self) -> Vec<Export> {
        self.symbols(&[FUNCTION, INDIRECT])
    }

    /// The address of a variable that the module exports.
    pub(super) fn variable(&self, name: &CStr) -> Option<u64> {
        self.symbols(&[VARIABLE]).into_iter().find(|variable| variable.name == name)?.address
    }

    /// The exported symbols of these kinds.
    fn symbols(&self, kinds: &[u8]) -> Vec<Export> {
        let place = |tag| self.place(tag);
        let (Some(names), Some(symbols), Some(hashes)) =
            (place(NAMES), place(SYMBOLS), place(HASHES))
        else {
            return Vec::new();
        };
        let versions = place(VERSIONS);
        let count = self.symbol_count(hashes).unwrap_or(0);
        let export = |index: u64| {
            let symbol = self.bytes(symbols + SYMBOL_LEN * index)?.get(..SYMBOL_LEN as usize)?;
            let kind = symbol[4] & 0xf;
            let section = u16::from_le_bytes([symbol[6], symbol[7]]);
            if section == 0 || !kinds.contains(&kind) {
                return None;
            }
            if let Some(versions) = versions
                && u16::from_le_bytes(*self.bytes(versions + 2 * index)?.first_chunk()?) & HIDDEN
                    != 0
            {
                return None;
            }
            let name = self.bytes(names + u64::from(u32::from_le_bytes(*symbol.first_chunk()?)))?;
            let value = u64::from_le_bytes(*symbol[8..].first_chunk()?);
            Some(Export {
                name: CStr::from_bytes_until_nul(name).ok()?,
                address: (kind != INDIRECT).then_some(self.base() + value),
            })
        };
        (0..count).filter_map(export).collect()
    }

    /// How many symbols the hash table covers: the end of the chain that begins last.
    fn symbol_count(&self, hashes: u64) -> Option<u64> {
        let word = |at: u64| Some(u32::from_le_bytes(*self.bytes(at)?.first_chunk()?));
        let (buckets, first, filter) = (word(hashes)?, word(hashes + 4)?, word(hashes + 8)?);
        let table = hashes + 16 + 8 * u64::from(filter);
        let chains = table + 4 * u64::from(buckets);
        let mut last = 0;
        for bucket in 0..u64::from(buckets) {
            last = last.max(word(table + 4 * bucket)?);
        }
        let mut at = u64::from(last.checked_sub(first)?);
        // The lowest bit marks the end of a chain.
        while word(chains + 4 * at)? & 1 == 0 {
            at += 1;
        }
        Some(u64::from(first) + at + 1)
    }
}
