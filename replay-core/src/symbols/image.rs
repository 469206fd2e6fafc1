//! One ELF file with its symbols and line tables.

use super::cfi::{self, Row};
use super::debug_info::{self, Debug};
use super::elf_file::ElfFile;
use super::expressions::Expression;
use super::memory::Words;
use super::names;
use super::pointer_types::{InnerPointer, Type};
use super::separate_debug;
use super::table::{self, Table};
use super::typed;
use super::values::Located;
use super::variables::{Frame, Local};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

type Cache = HashMap<PathBuf, Arc<Image>>;

/// One ELF file. Everything expensive is computed on first use.
pub struct Image {
    file: Arc<ElfFile>,
    table: OnceLock<Table>,
    separate: OnceLock<Option<Arc<ElfFile>>>,
    /// The line tables; the inner option is none if they turned out to be unusable.
    debug: Mutex<Option<Option<Debug>>>,
    /// The local variables at the addresses that were asked for.
    locals: Mutex<HashMap<u64, Arc<[TypedLocal]>>>,
    /// The descriptions of types that were asked for.
    types: Mutex<HashMap<typed::TypeId, Option<typed::Described>>>,
    async_word: OnceLock<Option<i64>>,
}

/// A local variable: its name, its type, and where it is at an address.
pub(crate) type TypedLocal = (String, typed::TypeId, Option<typed::PlaceCode>);

/// The most addresses whose local variables are kept, and the most types.
const MOST_KEPT: usize = 4096;

impl Image {
    /// The image of a file, from the cache if the file has not changed.
    #[must_use]
    pub fn open(path: &Path) -> Option<Arc<Image>> {
        Image::open_at(path, path)
    }

    /// The image of a file that was at `path` and can be read at `at` now.
    pub(super) fn open_at(path: &Path, at: &Path) -> Option<Arc<Image>> {
        static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
        let file = ElfFile::open_at(path, at)?;
        let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = cache.get(path).filter(|image| Arc::ptr_eq(&image.file, &file)) {
            return Some(Arc::clone(image));
        }
        let image = Arc::new(Image {
            file,
            table: OnceLock::new(),
            separate: OnceLock::new(),
            debug: Mutex::new(None),
            locals: Mutex::default(),
            types: Mutex::default(),
            async_word: OnceLock::new(),
        });
        cache.insert(path.to_owned(), Arc::clone(&image));
        Some(image)
    }

    /// The build id: the GNU note's, in hexadecimal, or `file-` and a digest.
    #[must_use]
    pub fn build_id(&self) -> &str {
        self.file.build_id()
    }

    /// The file itself.
    #[cfg(test)]
    pub(super) fn file(&self) -> &ElfFile {
        &self.file
    }

    pub(super) fn layout(&self) -> &super::modules::Layout {
        &self.file.layout
    }

    /// The call frame information for an address as in the file.
    pub(super) fn row(&self, address: u64) -> Option<Row> {
        cfi::row(&self.file, address)
    }

    /// The range of the function around an address as in the file.
    pub(super) fn function(&self, address: u64) -> Option<Range<u64>> {
        cfi::function(&self.file, address)
    }

    /// The address in the file of a symbol that it exports.
    pub(super) fn exported(&self, name: &str) -> Option<u64> {
        table::exported(&self.file, name)
    }

    /// Whether the compiler made the code report its plain accesses by calls (`heddle build`).
    pub(crate) fn reports_writes(&self) -> bool {
        table::imports(&self.file, "__tsan_write")
    }

    /// The symbols, or those of the separate debug file if it has more.
    pub(super) fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let own = Table::of(&self.file);
            match self.separate() {
                Some(other) if !own.complete => Table::of(other).with(own),
                _ => own,
            }
        })
    }

    /// The code ranges of functions (also inlined ones) or source files that satisfy a predicate.
    pub(crate) fn parts(
        &self,
        function: &dyn Fn(&str) -> bool,
        file: &dyn Fn(&str) -> bool,
    ) -> Vec<Range<u64>> {
        let mut all = self.table().functions_called(&|name| function(&names::function(name)));
        let mut debug = self.debug.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(loaded) = debug.get_or_insert_with(|| Debug::of(&self.file, self.separate()))
        else {
            return all;
        };
        let wanted = |line: &debug_info::Line| {
            let name = line.function.as_deref();
            file(&line.file) || name.is_some_and(|name| function(&names::function(name)))
        };
        // As in `ask`.
        let found = std::panic::AssertUnwindSafe(|| loaded.parts(&wanted));
        match std::panic::catch_unwind(found) {
            Ok(found) => all.extend(found),
            Err(_) => *debug = Some(None),
        }
        all
    }

    /// The separate file with the debug information, if there is one.
    fn separate(&self) -> Option<&Arc<ElfFile>> {
        self.separate.get_or_init(|| separate_debug::find(&self.file)).as_ref()
    }

    /// The line entries of an address, innermost first; empty if there are none.
    pub(super) fn lines(&self, address: u64) -> Vec<debug_info::Line> {
        self.ask(|debug| debug.find(address))
    }

    /// The part of the static variable at `address` that is `offset` bytes into it, as in `.lock`.
    pub(super) fn part(&self, address: u64, offset: u64) -> Option<String> {
        self.ask(|debug| debug.part(address, offset))
    }

    /// The local variable of a frame that contains an address of the process.
    pub(super) fn local(
        &self,
        frame: &Frame<'_>,
        words: &Words<'_>,
        wanted: u64,
    ) -> Option<String> {
        self.ask(|debug| debug.local(frame, words, wanted))
    }

    /// The value of an expression over a static variable; see [`Debug::locate_static`].
    pub(super) fn locate_static(
        &self,
        expression: &Expression,
        moved: &dyn Fn(u64) -> Option<u64>,
        words: &Words<'_>,
    ) -> Option<Result<Located, String>> {
        self.ask(|debug| debug.locate_static(expression, moved, words))
    }

    /// The value of an expression over a local variable of a frame.
    pub(super) fn locate_local(
        &self,
        expression: &Expression,
        frame: &Frame<'_>,
        words: &Words<'_>,
    ) -> Option<Result<Located, String>> {
        self.ask(|debug| debug.locate_local(expression, frame, words))
    }

    /// The variables of a frame.
    pub(super) fn locals(&self, frame: &Frame<'_>, words: &Words<'_>) -> Vec<Local> {
        self.ask(|debug| debug.locals(frame, words))
    }

    /// The names and values of the variables of a frame.
    pub(super) fn frame_values(
        &self,
        frame: &Frame<'_>,
        words: &Words<'_>,
    ) -> debug_info::FrameValues {
        self.ask(|debug| debug.frame_values(frame, words))
    }

    /// The pointers in a value of a type.
    pub(super) fn pointers_in(&self, kind: Type) -> Arc<Vec<InnerPointer>> {
        self.ask(|debug| debug.pointers_in(kind))
    }

    /// The pointers in static variables.
    pub(super) fn static_pointers(&self) -> debug_info::StaticPointers {
        self.ask(Debug::static_pointers)
    }

    /// Whether a unit is written in Rust.
    pub(super) fn is_rust(&self, unit: gimli::DebugInfoOffset) -> bool {
        self.ask(|debug| debug.is_rust(unit))
    }

    /// The part at this offset behind a pointer to a type: the index of the element, and the path
    /// within it.
    pub(super) fn part_behind(&self, kind: Type, offset: u64) -> (u64, String) {
        self.ask(|debug| debug.part_behind(kind, offset))
    }

    /// The local variables at an address of the file: name, type, and the code that computes where
    /// each is, if the compiler stores it there. Those of inner scopes come last.
    pub(crate) fn typed_locals(&self, address: u64) -> Arc<[TypedLocal]> {
        let known =
            self.locals.lock().unwrap_or_else(PoisonError::into_inner).get(&address).cloned();
        if let Some(known) = known {
            return known;
        }
        let row = self.row(address);
        let all = self.ask(|debug| debug.typed_locals(address, row.as_ref().map(|row| &row.cfa)));
        let all: Arc<[TypedLocal]> =
            all.into_iter().map(|local| (local.name, local.kind, local.place)).collect();
        let mut locals = self.locals.lock().unwrap_or_else(PoisonError::into_inner);
        if locals.len() >= MOST_KEPT {
            locals.clear();
        }
        locals.insert(address, Arc::clone(&all));
        all
    }

    /// The description of a type.
    pub(crate) fn describe(&self, kind: typed::TypeId) -> Option<typed::Described> {
        let known = self.types.lock().unwrap_or_else(PoisonError::into_inner).get(&kind).cloned();
        known.unwrap_or_else(|| {
            let described = self.ask(|debug| debug.describe(kind));
            let mut types = self.types.lock().unwrap_or_else(PoisonError::into_inner);
            if types.len() >= MOST_KEPT {
                types.clear();
            }
            types.insert(kind, described.clone());
            described
        })
    }

    /// The type parameter of a generic type with this name.
    pub(crate) fn parameter(&self, kind: typed::TypeId, name: &str) -> Option<typed::TypeId> {
        self.ask(|debug| debug.parameter(kind, name))
    }

    /// The variables with static storage, by name, of the compilation units whose name contains a text; of all for
    /// an empty one. Thread-local ones have the offset from the thread pointer.
    pub(crate) fn typed_statics(&self, part: &str) -> Vec<(String, typed::StaticVariable)> {
        let end = self.file.thread_local_end();
        let all = self.ask(|debug| debug.typed_statics(part));
        let placed = all.into_iter().filter_map(|(name, variable)| {
            let address = match variable.thread_local {
                true => variable.address.wrapping_sub(end?),
                false => variable.address,
            };
            Some((name, typed::StaticVariable { address, ..variable }))
        });
        placed.collect()
    }

    /// Whether the file has a thread-local variable whose mangled name contains this text.
    pub(super) fn has_thread_local(&self, part: &str) -> bool {
        let has = |file: &ElfFile| table::has_thread_local(file, part);
        has(&self.file) || self.separate().is_some_and(|file| has(file))
    }

    /// Where a thread keeps the number of its asynchronous task, which `find` returns at the first call.
    pub(super) fn async_word(&self, find: impl FnOnce(&Image) -> Option<i64>) -> Option<i64> {
        *self.async_word.get_or_init(|| find(self))
    }

    /// The first type with this name.
    pub(crate) fn named_type(&self, name: &str) -> Option<typed::TypeId> {
        self.ask(|debug| debug.named_type(name))
    }

    /// The value of the first enumerator with this name.
    pub(crate) fn enumerator(&self, name: &str) -> Option<u64> {
        self.ask(|debug| debug.enumerator(name))
    }

    /// The rows of the line table in a range of addresses: the first address and the length, the file
    /// and the line.
    pub(crate) fn line_rows(&self, low: u64, high: u64) -> Vec<(u64, u64, String, u32)> {
        self.ask(|debug| debug.rows(low, high))
    }

    /// The code of inlined functions, by the lines of calls in source files that satisfy a predicate.
    pub(crate) fn inlined(&self, such: &dyn Fn(&str) -> bool) -> Vec<debug_info::InlinedCall> {
        self.ask(|debug| debug.inlined(such))
    }

    /// The ranges of the functions whose name in the source satisfies a predicate, by the symbols.
    pub(crate) fn functions_named(&self, such: &dyn Fn(&str) -> bool) -> Vec<Range<u64>> {
        self.table().functions_called(&|name| such(&names::function(name)))
    }

    /// The names of the functions at an address, innermost first, as in the source.
    pub(crate) fn function_names(&self, address: u64) -> Vec<String> {
        let lines = self.lines(address);
        lines
            .into_iter()
            .map(|line| line.function.map_or_else(String::new, |name| names::function(&name)))
            .collect()
    }

    /// The range of the function around an address of the file, by the unwinder's tables.
    pub(crate) fn function_range(&self, address: u64) -> Option<Range<u64>> {
        self.function(address)
    }

    /// The bytes of the file from an address on.
    pub(crate) fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let part = self.file.part_at(address)?;
        self.file.bytes().get(part.bytes)
    }

    /// Queries the debug information; the default value if it is missing or unreadable.
    fn ask<T: Default>(&self, question: impl FnOnce(&mut Debug) -> T) -> T {
        let mut debug = self.debug.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = debug.get_or_insert_with(|| Debug::of(&self.file, self.separate()));
        let Some(loaded) = loaded else { return T::default() };
        // The parsers are meant to survive corrupt input. If one panics, names are lost, but the
        // failure is still reported.
        let found = std::panic::AssertUnwindSafe(|| question(loaded));
        std::panic::catch_unwind(found).unwrap_or_else(|_| {
            *debug = Some(None);
            T::default()
        })
    }
}
