//! Names in an ELF file: of its symbols, and of the libraries that it is linked to.

use object::LittleEndian;
use object::elf::{self, FileHeader64, SectionType};
use object::read::elf::{Dyn, FileHeader, SectionTable, Sym};

const LE: LittleEndian = LittleEndian;
type Header = FileHeader64<LittleEndian>;

fn sections(data: &[u8]) -> Option<SectionTable<'_, Header>> {
    Header::parse(data).ok()?.sections(LE, data).ok()
}

/// The first result of `found` for the symbols of these tables: it is given the name, and whether the
/// file defines the symbol.
pub(super) fn find_symbol<T>(
    data: &[u8],
    tables: &[SectionType],
    found: impl Fn(&[u8], bool) -> Option<T>,
) -> Option<T> {
    let sections = sections(data)?;
    tables.iter().find_map(|&table| {
        let symbols = sections.symbols(LE, data, table).ok()?;
        symbols.iter().find_map(|symbol| {
            let name = symbol.name(LE, symbols.strings()).ok()?;
            found(name, !symbol.is_undefined(LE))
        })
    })
}

/// Whether the file uses one of these functions of a library.
pub(super) fn imports(data: &[u8], names: &[&[u8]]) -> bool {
    let imported = |name: &[u8], defined: bool| (!defined && names.contains(&name)).then_some(());
    find_symbol(data, &[elf::SHT_DYNSYM], imported).is_some()
}

/// The names of the libraries that the file is linked to; none if it has no such table.
pub(super) fn needed(data: &[u8]) -> Option<Vec<&[u8]>> {
    let sections = sections(data)?;
    let (entries, strings) = sections.dynamic(LE, data).ok()??;
    let strings = sections.strings(LE, data, strings).ok()?;
    let names = entries.iter().filter(|entry| entry.d_tag(LE) == elf::DT_NEEDED);
    Some(names.filter_map(|entry| strings.get(entry.d_val(LE) as u32).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_program_are_found() {
        let own = std::env::current_exe().expect("a path");
        let data = std::fs::read(own).expect("it can be read");
        assert!(imports(&data, &[b"no_such_function", b"pthread_create"]));
        assert!(!imports(&data, &[b"no_such_function"]));
        assert!(needed(&data).expect("an ELF file").contains(&&b"libc.so.6"[..]));
        assert_eq!(needed(b"#!/bin/sh"), None);
    }
}
