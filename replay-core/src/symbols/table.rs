//! The symbols of a file, sorted by address.

use super::elf_file::ElfFile;
use object::LittleEndian;
use object::elf::{
    SHF_EXECINSTR, STB_LOCAL, STT_FUNC, STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT, STT_TLS,
};
use object::read::elf::{SectionHeader, Sym};

const ENDIAN: LittleEndian = LittleEndian;

/// A symbol: its linkage name and its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Symbol<'a> {
    pub(super) name: &'a str,
    pub(super) address: u64,
}

/// Functions and variables by address.
#[derive(Debug, Default)]
pub(super) struct Table {
    functions: Vec<Entry>,
    variables: Vec<Entry>,
    /// All names, one after the other.
    names: String,
    /// Whether it was read from the full symbol table, not only from the dynamic one.
    pub(super) complete: bool,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    start: u64,
    /// The end; without a size, the start of the next symbol or the end of the section.
    end: u64,
    name: (u32, u32),
    /// The lowest rank is the best name for an address.
    rank: u8,
}

impl Table {
    /// The symbols of a file.
    pub(super) fn of(image: &ElfFile) -> Table {
        let mut table = Table::default();
        let Some(elf) = image.elf() else { return table };
        let full = elf.elf_symbol_table();
        table.complete = !full.is_empty();
        let from = if table.complete { full } else { elf.elf_dynamic_symbol_table() };
        let sections = elf.elf_section_table();
        for symbol in from.iter() {
            let kind = symbol.st_type();
            // Skip symbols that are defined elsewhere or are not addresses.
            let Some(section) = symbol.st_shndx(ENDIAN).index() else { continue };
            if !matches!(kind, STT_FUNC | STT_GNU_IFUNC | STT_OBJECT | STT_NOTYPE) {
                continue;
            }
            let section = sections.section(object::SectionIndex(usize::from(section))).ok();
            let code =
                section.is_some_and(|section| section.sh_flags(ENDIAN).contains(SHF_EXECINSTR));
            // Untyped symbols in data are the linker's marks (`_end`, `__bss_start`).
            let function = match kind {
                STT_OBJECT => false,
                STT_NOTYPE if !code => continue,
                _ => true,
            };
            let Ok(name) = symbol.name(ENDIAN, from.strings()).map(String::from_utf8_lossy) else {
                continue;
            };
            // `stdout@GLIBC_2.2.5`: the version is not part of the name in the source.
            let name = name.split('@').next().unwrap_or_default();
            if name.is_empty() || name.starts_with("$") || name.starts_with(".L") {
                continue;
            }
            let start = symbol.st_value(ENDIAN);
            let limit = section.map_or(u64::MAX, |section| {
                section.sh_addr(ENDIAN).saturating_add(section.sh_size(ENDIAN))
            });
            let size = symbol.st_size(ENDIAN);
            let end = if size == 0 { limit.max(start) } else { start.saturating_add(size) };
            let untyped = u8::from(kind == STT_NOTYPE);
            let rank = untyped * 8
                + u8::from(size == 0) * 4
                + u8::from(symbol.st_bind() == STB_LOCAL) * 2
                + u8::from(name.starts_with("__"));
            let at = table.names.len() as u32;
            table.names.push_str(name);
            let entry = Entry { start, end, name: (at, name.len() as u32), rank };
            if function { &mut table.functions } else { &mut table.variables }.push(entry);
        }
        table.finish();
        table
    }

    /// Adds the symbols of another table at addresses where this one has none.
    pub(super) fn with(mut self, other: Table) -> Table {
        let base = self.names.len() as u32;
        self.names.push_str(&other.names);
        let moved = |entry: Entry| Entry { name: (entry.name.0 + base, entry.name.1), ..entry };
        self.functions.extend(other.functions.into_iter().map(moved));
        self.variables.extend(other.variables.into_iter().map(moved));
        self.finish();
        self
    }

    fn finish(&mut self) {
        for entries in [&mut self.functions, &mut self.variables] {
            // A stable sort, so that the result depends only on the file.
            entries.sort_by_key(|entry| (entry.start, entry.rank, entry.name.1));
            entries.dedup_by_key(|entry| entry.start);
        }
        for index in 0..self.functions.len().saturating_sub(1) {
            let next = self.functions[index + 1].start;
            let entry = &mut self.functions[index];
            if entry.rank & 4 != 0 {
                entry.end = entry.end.min(next);
            }
        }
        // A variable without a size is assumed to have at most one word.
        for entry in &mut self.variables {
            if entry.rank & 4 != 0 {
                entry.end = entry.start.saturating_add(8);
            }
        }
    }

    /// The function at an address.
    pub(super) fn function(&self, address: u64) -> Option<Symbol<'_>> {
        self.find(&self.functions, address)
    }

    /// The variable at an address.
    pub(super) fn variable(&self, address: u64) -> Option<Symbol<'_>> {
        self.find(&self.variables, address)
    }

    /// The address ranges of functions whose linkage names satisfy a predicate.
    pub(super) fn functions_called(
        &self,
        such: &dyn Fn(&str) -> bool,
    ) -> Vec<std::ops::Range<u64>> {
        let name = |entry: &Entry| {
            let start = entry.name.0 as usize;
            self.names.get(start..start + entry.name.1 as usize).unwrap_or_default()
        };
        let called = self.functions.iter().filter(|entry| such(name(entry)));
        called.map(|entry| entry.start..entry.end).collect()
    }

    fn find(&self, entries: &[Entry], address: u64) -> Option<Symbol<'_>> {
        let after = entries.partition_point(|entry| entry.start <= address);
        // Symbols may overlap; the innermost one at the address is used.
        let entry = entries[..after].iter().rev().take(16).find(|entry| address < entry.end)?;
        let start = entry.name.0 as usize;
        let name = self.names.get(start..start + entry.name.1 as usize)?;
        Some(Symbol { name, address: entry.start })
    }
}

/// Whether the file uses a function of other files whose name begins like this.
pub(super) fn imports(image: &ElfFile, begin: &str) -> bool {
    let Some(elf) = image.elf() else { return false };
    let symbols = elf.elf_dynamic_symbol_table();
    symbols.iter().any(|symbol| {
        symbol.st_shndx(ENDIAN).index().is_none()
            && symbol
                .name(ENDIAN, symbols.strings())
                .is_ok_and(|name| name.starts_with(begin.as_bytes()))
    })
}

/// Whether the file has a thread-local variable whose name contains this text.
pub(super) fn has_thread_local(image: &ElfFile, part: &str) -> bool {
    let Some(elf) = image.elf() else { return false };
    let symbols = elf.elf_symbol_table();
    symbols.iter().any(|symbol| {
        let name = || symbol.name(ENDIAN, symbols.strings()).map(String::from_utf8_lossy);
        symbol.st_type() == STT_TLS && name().is_ok_and(|name| name.contains(part))
    })
}

/// The address of an exported symbol of exactly this name. (The table stores one name per address.)
pub(super) fn exported(image: &ElfFile, name: &str) -> Option<u64> {
    let elf = image.elf()?;
    let symbols = elf.elf_dynamic_symbol_table();
    let found = symbols.iter().find(|symbol| {
        symbol.st_shndx(ENDIAN).index().is_some()
            && symbol.name(ENDIAN, symbols.strings()).is_ok_and(|found| found == name.as_bytes())
    });
    found.map(|symbol| symbol.st_value(ENDIAN))
}
