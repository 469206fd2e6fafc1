//! Which variables of the environment a program can read, from its files: a trace keeps the values of
//! those alone.
//!
//! To read a variable by name, a program has to have the name: as a constant in its file or in one of
//! its libraries. Names that the C library and the loader read are constants in theirs. A program that
//! refers to the environment as a whole (`environ`), or hands it to another program, may read any.

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SectionFlags};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use traces::Module;

/// Variables that the loader or the C library may read although no file contains the whole name.
const PREFIXES: [&str; 4] = ["LD_", "LC_", "MALLOC_", "GLIBC_"];

/// The same, by their whole name.
const NAMES: [&str; 6] = ["LANG", "LANGUAGE", "NLSPATH", "PATH", "RUST_BACKTRACE", "TZ"];

/// A longer stride means more pairs, and more positions that are no names.
const LONGEST_STRIDE: usize = 4;

/// Functions and variables by which a program reads the environment without names.
const WHOLE: [&[u8]; 9] = [
    b"environ",
    b"__environ",
    b"_environ",
    b"execl",
    b"execlp",
    b"execv",
    b"execvp",
    b"popen",
    b"system",
];

/// The variables that the program of these modules cannot read by name; none if it refers to the
/// environment as a whole, or a file cannot be read.
pub(crate) fn unread(
    names: impl IntoIterator<Item = OsString>,
    modules: &[Module],
) -> Option<BTreeSet<OsString>> {
    let mut left: BTreeSet<OsString> = names.into_iter().filter(|name| !is_known(name)).collect();
    for module in examined_modules(modules) {
        let file = file_name(module);
        let found = examined(module, &left)?;
        if found.refers_to_whole && !is_system(&file) {
            return None;
        }
        left.retain(|name| !found.names.contains(name));
    }
    Some(left)
}

fn is_known(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    PREFIXES.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()))
        || NAMES.iter().any(|known| known.as_bytes() == bytes)
        // A single letter is in every file. Traces name variables as text.
        || bytes.len() < 2
        || std::str::from_utf8(bytes).is_err()
}

/// Whether the program of these modules may read this variable: by its name, or with the whole environment. Files that
/// cannot be read may contain the name.
pub(crate) fn may_read(name: &str, modules: &[Module]) -> bool {
    let name = BTreeSet::from([OsString::from(name)]);
    examined_modules(modules).any(|module| {
        let reads = |found: Found| {
            !found.names.is_empty() || found.refers_to_whole && !is_system(&file_name(module))
        };
        examined(module, &name).is_none_or(reads)
    })
}

/// The modules whose files are examined: the runtime reads no variables, and modules without a path are the kernel's.
fn examined_modules(modules: &[Module]) -> impl Iterator<Item = &Module> {
    modules.iter().filter(|module| {
        !file_name(module).starts_with("heddle-runtime-") && Path::new(&module.path).is_absolute()
    })
}

/// Whether a file is the C library or the loader, which refer to the whole environment for the program.
fn is_system(file: &str) -> bool {
    file.starts_with("libc.so") || file.starts_with("ld-linux")
}

fn file_name(module: &Module) -> Cow<'_, str> {
    Path::new(&module.path).file_name().unwrap_or_default().to_string_lossy()
}

/// What a file contains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found {
    /// Those of the names that it contains.
    names: BTreeSet<OsString>,
    refers_to_whole: bool,
}

/// Files that were examined: path, build id, and the names that were searched for. A search with many
/// failures asks for the same files each time.
type Examined = BTreeMap<(String, String, BTreeSet<OsString>), Found>;
static EXAMINED: Mutex<Examined> = Mutex::new(BTreeMap::new());

fn examined(module: &Module, names: &BTreeSet<OsString>) -> Option<Found> {
    let key = (module.path.clone(), module.build_id.clone(), names.clone());
    let lock = || EXAMINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = lock().get(&key) {
        return Some(found.clone());
    }
    let file = File::open(&module.path).ok()?;
    // SAFETY: the mapping is private and only read. A process that writes to the file meanwhile makes
    // the search see other bytes, which it compares and nothing else.
    let bytes = unsafe { memmap2::Mmap::map(&file) }.ok()?;
    let found = examine(&bytes, names)?;
    lock().insert(key, found.clone());
    Some(found)
}

fn examine(bytes: &[u8], names: &BTreeSet<OsString>) -> Option<Found> {
    let file = ElfFile64::<LittleEndian>::parse(bytes).ok()?;
    let refers_to_whole = file
        .dynamic_symbols()
        .any(|symbol| symbol.name_bytes().is_ok_and(|name| WHOLE.contains(&name)));
    let mut found = Found { names: BTreeSet::new(), refers_to_whole };
    let is_loaded = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => (sh_flags & object::elf::SHF_ALLOC).0 != 0,
        _ => true,
    };
    let mut is_any = false;
    for section in file.sections() {
        is_any = true;
        // Debug information names variables that the program never uses.
        if is_loaded(section.flags())
            && let Ok(data) = section.data()
        {
            search(data, names, &mut found.names);
        }
    }
    if !is_any {
        search(bytes, names, &mut found.names);
    }
    Some(found)
}

/// Pairs of bytes: a bit for each, so that all fit into the processor's first cache.
struct Pairs([u64; 1 << 10]);

impl Pairs {
    fn insert(&mut self, pair: u16) {
        self.0[usize::from(pair >> 6)] |= 1 << (pair & 63);
    }

    fn contains(&self, pair: u16) -> bool {
        self.0[usize::from(pair >> 6)] >> (pair & 63) & 1 != 0
    }
}

/// Adds the names that occur in the data.
fn search(data: &[u8], names: &BTreeSet<OsString>, found: &mut BTreeSet<OsString>) {
    // Of each name one pair of its bytes is at a multiple of the stride, wherever the name is. Most of these
    // positions are dismissed by their pair.
    let missing = || names.iter().filter(|name| name.len() > 1 && !found.contains(*name));
    let stride = missing().map(|name| name.len() - 1).min().unwrap_or(1).min(LONGEST_STRIDE);
    let mut by_pair: BTreeMap<u16, Vec<(&OsString, usize)>> = BTreeMap::new();
    let mut pairs = Pairs([0; 1 << 10]);
    for name in missing() {
        for (offset, pair) in name.as_bytes().windows(2).take(stride).enumerate() {
            let pair = u16::from_le_bytes([pair[0], pair[1]]);
            by_pair.entry(pair).or_default().push((name, offset));
            pairs.insert(pair);
        }
    }
    for at in (0..data.len().saturating_sub(1)).step_by(stride) {
        let pair = u16::from_le_bytes([data[at], data[at + 1]]);
        if pairs.contains(pair) {
            let here = by_pair.get(&pair).into_iter().flatten();
            let here = here.filter(|(name, offset)| {
                at.checked_sub(*offset)
                    .is_some_and(|start| data[start..].starts_with(name.as_bytes()))
            });
            found.extend(here.map(|(name, _)| (*name).clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<OsString> {
        list.iter().map(OsString::from).collect()
    }

    #[test]
    fn names_are_found_wherever_they_are() {
        let mut found = BTreeSet::new();
        let data = b"\0HOME\0xTARGET_COLOURx\0COLOU";
        search(data, &names(&["HOME", "TARGET_COLOUR", "COLOUR", "COLOURS", "XX"]), &mut found);
        assert_eq!(found, names(&["HOME", "TARGET_COLOUR", "COLOUR"]));
    }

    #[test]
    fn names_are_found_at_every_offset() {
        for list in [&["HOME", "PWDS"][..], &["LONGER_NAMES", "HOMES"], &["PWD", "HOME"], &["XY"]] {
            for (name, offset) in
                list.iter().flat_map(|name| (0..9).map(move |offset| (name, offset)))
            {
                let mut found = BTreeSet::new();
                search(&[&vec![b'H'; offset], name.as_bytes()].concat(), &names(list), &mut found);
                assert_eq!(found, names(&[name]), "at {offset}");
                let shorter = &name[..name.len() - 1];
                found.clear();
                search(&[&vec![0; offset], shorter.as_bytes()].concat(), &names(list), &mut found);
                assert_eq!(found, names(&[]), "{shorter} at {offset}");
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_keeps_every_value() {
        let module = Module { path: "/there/is/no/such/file".into(), build_id: String::new() };
        assert_eq!(unread([OsString::from("ANY_NAME")], &[module]), None);
        let library = Module { path: "linux-vdso.so.1".into(), build_id: String::new() };
        let left = unread(["ANY_NAME", "LD_X", "_", "TZ"].map(OsString::from), &[library]);
        assert_eq!(left, Some(names(&["ANY_NAME"])));
    }

    #[test]
    fn this_program_contains_the_names_of_this_test() {
        let program = std::env::current_exe().expect("a path");
        let bytes = std::fs::read(program).expect("readable");
        // Parts of a name might be adjacent in the file.
        let absent: String = "EMAN_TNESBA".chars().rev().collect();
        let found = examine(&bytes, &names(&["THIS_NAME_IS_A_CONSTANT", &absent]));
        let found = found.expect("an ELF file");
        assert_eq!(found.names, names(&["THIS_NAME_IS_A_CONSTANT"]));
    }
}
