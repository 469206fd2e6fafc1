//! DWARF: line tables, inlined calls, variables.

use super::elf_file::{Bytes, ElfFile};
use super::expressions::Expression;
use super::memory::Words;
use super::pointer_types::{self, InnerPointer, Type};
use super::separate_debug;
use super::typed;
use super::values::{self, Located};
use super::variables::{self, Frame, Local, Slice, Statics, Storage};
use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{DwarfPackage, EndianSlice, LittleEndian, SectionId, UnitRef};
use object::{Object, ObjectSection};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Names with values, or why a value cannot be read.
pub type FrameValues = Vec<(String, Result<String, String>)>;

/// A function at an address, from the line tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The linkage name, if it is known.
    pub(super) function: Option<String>,
    pub(super) file: String,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// Code of a function that was inlined into another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InlinedCall {
    /// The addresses of some of its code.
    pub(crate) code: std::ops::Range<u64>,
    /// The source file of the call.
    pub(crate) file: String,
    /// The line of the call.
    pub(crate) line: u32,
    /// Whether the call is in the innermost source file for which was asked.
    pub(crate) is_innermost: bool,
    /// The call among others of its line: its column, and the linkage name of what is called.
    pub(crate) called: (u32, Option<String>),
    /// The number of functions that contain the call: the one with the line, and those into which that was
    /// inlined.
    pub(crate) callers: usize,
}

/// Pointers in static variables: the variable's address, the pointer within it, and the unit of its
/// type.
pub(super) type StaticPointers = Arc<Vec<(u64, InnerPointer, gimli::DebugInfoOffset)>>;

/// The debug information of one program or library.
pub(super) struct Debug {
    // Order of fields: borrowers are dropped before the data they borrow from.
    context: Context<Slice>,
    dwarf: Arc<gimli::Dwarf<Slice>>,
    statics: Option<Statics>,
    static_pointers: Option<StaticPointers>,
    pointers: HashMap<Type, Arc<Vec<InnerPointer>>>,
    /// The description of the function at an address.
    functions: HashMap<u64, Option<gimli::UnitOffset>>,
    package: Option<DwarfPackage<Slice>>,
    mapped: MappedData,
}

/// The data that the tables borrow from; only ever extended.
#[derive(Default)]
struct MappedData {
    files: Vec<Arc<Bytes>>,
    data: Vec<Vec<u8>>,
}

impl MappedData {
    /// A section of a file, empty if it does not exist.
    fn section(&mut self, image: &ElfFile, name: Option<&str>) -> Slice {
        let found = name.and_then(|name| {
            let elf = image.elf()?;
            elf.section_by_name(name)?.uncompressed_data().ok().map(|data| match data {
                Cow::Borrowed(data) => std::ptr::from_ref(data),
                Cow::Owned(data) => {
                    self.data.push(data);
                    let last: &[u8] = self.data.last().map_or(&[], |data| data);
                    std::ptr::from_ref(last)
                }
            })
        });
        let Some(found) = found else { return EndianSlice::new(&[], LittleEndian) };
        if !self.files.iter().any(|mapped| Arc::ptr_eq(mapped, &image.bytes)) {
            self.files.push(Arc::clone(&image.bytes));
        }
        // SAFETY: the bytes belong to a file or a vector that `self` holds on to until it is
        // dropped, neither of which ever changes or moves them; and slices do not leave `Debug`,
        // which drops its tables before it drops `self`.
        EndianSlice::new(unsafe { &*found }, LittleEndian)
    }

    fn dwarf(&mut self, image: &ElfFile) -> Option<gimli::Dwarf<Slice>> {
        let load = |id: SectionId| Ok::<_, gimli::Error>(self.section(image, Some(id.name())));
        gimli::Dwarf::load(load).ok()
    }

    /// The separate file named by a unit of a `-gsplit-dwarf` build.
    fn split(&mut self, load: &SplitDwarfLoad<Slice>) -> Option<Arc<gimli::Dwarf<Slice>>> {
        let mut path = PathBuf::new();
        for part in [load.comp_dir, load.path] {
            path.push(OsStr::from_bytes(part.map_or(&[][..], |part| part.slice())));
        }
        let image = ElfFile::open(&path)?;
        let section = |id: SectionId| Ok::<_, gimli::Error>(self.section(&image, id.dwo_name()));
        let mut dwarf = gimli::Dwarf::load(section).ok()?;
        let header = dwarf.units().next().ok()??;
        let unit = dwarf.unit(header).ok()?;
        if unit.dwo_id != Some(load.dwo_id) {
            return None;
        }
        dwarf.make_dwo(&load.parent);
        Some(Arc::new(dwarf))
    }
}

impl Debug {
    /// The debug information of a file, from the file itself or its separate debug file.
    pub(super) fn of(image: &ElfFile, separate: Option<&Arc<ElfFile>>) -> Option<Debug> {
        let source = separate.map_or(image, |separate| &**separate);
        let mut mapped = MappedData::default();
        let mut dwarf = mapped.dwarf(source)?;
        if let Some(supplement) = separate_debug::supplement(source)
            && let Some(sup) = mapped.dwarf(&supplement)
        {
            dwarf.set_sup(sup);
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let dwarf = Arc::new(dwarf);
        let context = Context::from_arc_dwarf(Arc::clone(&dwarf)).ok()?;
        let mut name = image.path.clone().into_os_string();
        name.push(".dwp");
        let package = ElfFile::open(&PathBuf::from(name)).and_then(|file| {
            let empty = EndianSlice::new(&[], LittleEndian);
            let load = |id: SectionId| Ok::<_, gimli::Error>(mapped.section(&file, id.dwo_name()));
            DwarfPackage::load(load, empty).ok()
        });
        Some(Debug {
            context,
            dwarf,
            statics: None,
            static_pointers: None,
            pointers: HashMap::new(),
            functions: HashMap::new(),
            package,
            mapped,
        })
    }

    /// The part of the static variable at `address` that is `offset` bytes into it.
    pub(super) fn part(&mut self, address: u64, offset: u64) -> Option<String> {
        let statics = self.statics.get_or_insert_with(|| Statics::of(&self.dwarf));
        statics.part(&self.dwarf, address, offset)
    }

    /// The value of an expression over a static variable; none if there is no such variable.
    /// `moved` maps an address of the file to one of the process.
    pub(super) fn locate_static(
        &mut self,
        expression: &Expression,
        moved: &dyn Fn(u64) -> Option<u64>,
        words: &Words<'_>,
    ) -> Option<Result<Located, String>> {
        let statics = self.statics.get_or_insert_with(|| Statics::of(&self.dwarf));
        let (address, at, kind) = statics.find(&expression.root)?;
        let unit = self.dwarf.unit(self.dwarf.unit_header(at).ok()?).ok()?;
        let place = Storage::Memory(moved(address)?);
        Some(values::locate(unit.unit_ref(&self.dwarf), kind, place, &expression.parts, words))
    }

    /// The value of an expression over a local variable of a frame; none if there is no such
    /// variable.
    pub(super) fn locate_local(
        &mut self,
        expression: &Expression,
        frame: &Frame<'_>,
        words: &Words<'_>,
    ) -> Option<Result<Located, String>> {
        let (unit, function) = self.function(frame.address)?;
        let (kind, place) =
            variables::local_called(unit, function, frame, words, &expression.root)?;
        Some(match place {
            Some(place) => values::locate(unit, kind, place, &expression.parts, words),
            None => Err("the compiler does not store it here".into()),
        })
    }

    /// The local variable of a frame that contains an address of the process.
    pub(super) fn local(
        &mut self,
        frame: &Frame<'_>,
        words: &Words<'_>,
        wanted: u64,
    ) -> Option<String> {
        let (unit, function) = self.function(frame.address)?;
        variables::local(unit, function, frame, words, wanted)
    }

    /// The variables of a frame; none if their types are in a separate file.
    pub(super) fn locals(&mut self, frame: &Frame<'_>, words: &Words<'_>) -> Vec<Local> {
        let found = self.function(frame.address).filter(|(unit, _)| unit.dwo_id.is_none());
        found
            .map(|(unit, function)| variables::locals(unit, function, frame, words))
            .unwrap_or_default()
    }

    /// The names and values of the variables of a frame; of several of one name, the innermost.
    pub(super) fn frame_values(&mut self, frame: &Frame<'_>, words: &Words<'_>) -> FrameValues {
        let Some((unit, function)) = self.function(frame.address) else { return Vec::new() };
        let mut values = FrameValues::new();
        for local in variables::locals(unit, function, frame, words) {
            let name = local.name.rsplit("::").next().unwrap_or_default().to_owned();
            let located = values::locate(unit, local.kind.1, local.place, &[], words);
            values.retain(|(known, _)| *known != name);
            values.push((name, located.map(|located| located.value)));
        }
        values
    }

    /// The function at an address: its unit and description. The result is cached for each address.
    fn function(&mut self, address: u64) -> Option<(UnitRef<'_, Slice>, gimli::UnitOffset)> {
        let mut looked = self.context.find_dwarf_and_unit(address);
        let unit = loop {
            match looked {
                LookupResult::Output(unit) => break unit?,
                LookupResult::Load { load, continuation } => {
                    let split = self.mapped.split(&load);
                    looked = continuation.resume(split);
                }
            }
        };
        let look = || variables::function_at(unit, address);
        let function = *self.functions.entry(address).or_insert_with(look);
        Some((unit, function?))
    }

    /// Evaluates a function on a unit of the file itself.
    fn with_unit<T>(
        &self,
        at: gimli::DebugInfoOffset,
        question: impl FnOnce(UnitRef<'_, Slice>) -> T,
    ) -> Option<T> {
        let unit = self.dwarf.unit(self.dwarf.unit_header(at).ok()?).ok()?;
        Some(question(unit.unit_ref(&self.dwarf)))
    }

    /// Whether a unit is written in Rust.
    pub(super) fn is_rust(&self, at: gimli::DebugInfoOffset) -> bool {
        let language = |unit: UnitRef<'_, Slice>| {
            let mut entries = unit.entries();
            let root = entries.next_dfs().ok()??;
            root.attr_value(gimli::DW_AT_language)
        };
        let rust = gimli::AttributeValue::Language(gimli::DW_LANG_Rust);
        self.with_unit(at, language).flatten() == Some(rust)
    }

    /// The pointers in a value of a type.
    pub(super) fn pointers_in(&mut self, kind: Type) -> Arc<Vec<InnerPointer>> {
        if let Some(known) = self.pointers.get(&kind) {
            return Arc::clone(known);
        }
        let found = self.with_unit(kind.0, |unit| pointer_types::inner(unit, kind.1));
        let found = Arc::new(found.unwrap_or_default());
        self.pointers.insert(kind, Arc::clone(&found));
        found
    }

    /// The pointers in static variables, each with its variable's address and unit.
    pub(super) fn static_pointers(&mut self) -> StaticPointers {
        if let Some(known) = &self.static_pointers {
            return Arc::clone(known);
        }
        let statics = self.statics.get_or_insert_with(|| Statics::of(&self.dwarf));
        let mut all: Vec<(u64, Type)> = statics.all().collect();
        all.sort_unstable_by_key(|&(address, _)| address);
        let mut found = Vec::new();
        for (address, kind) in all {
            let inner = self.pointers_in(kind);
            found.extend(inner.iter().map(|inner| (address, inner.clone(), kind.0)));
        }
        let found = Arc::new(found);
        self.static_pointers = Some(Arc::clone(&found));
        found
    }

    /// The part at this offset behind a pointer to a type: the index of the element, and the path
    /// within it.
    pub(super) fn part_behind(&self, kind: Type, offset: u64) -> (u64, String) {
        self.with_unit(kind.0, |unit| pointer_types::part(unit, kind.1, offset)).unwrap_or_default()
    }

    /// The local variables at an address; see [`typed::locals`].
    pub(super) fn typed_locals(
        &mut self,
        address: u64,
        cfa: Option<&super::cfi::Cfa>,
    ) -> Vec<typed::LocalVariable> {
        let found = self.function(address).filter(|(unit, _)| unit.dwo_id.is_none());
        found
            .map(|(unit, function)| typed::locals(unit, function, address, cfa))
            .unwrap_or_default()
    }

    /// The description of a type.
    pub(super) fn describe(&self, kind: typed::TypeId) -> Option<typed::Described> {
        self.with_unit(kind.0, |unit| typed::describe(unit, kind.1)).flatten()
    }

    /// The type parameter of a generic type with this name.
    pub(super) fn parameter(&self, kind: typed::TypeId, name: &str) -> Option<typed::TypeId> {
        self.with_unit(kind.0, |unit| typed::parameter(unit, kind.1, name)).flatten()
    }

    /// Visits every unit of the file.
    fn each_unit<T>(&self, mut question: impl FnMut(UnitRef<'_, Slice>) -> Option<T>) -> Option<T> {
        let mut units = self.dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = self.dwarf.unit(header)
                && let Some(found) = question(unit.unit_ref(&self.dwarf))
            {
                return Some(found);
            }
        }
        None
    }

    /// The variables with static storage, by name, of the units whose name contains a text.
    pub(super) fn typed_statics(&self, part: &str) -> Vec<(String, typed::StaticVariable)> {
        let mut all = Vec::new();
        let _: Option<()> = self.each_unit(|unit| {
            let contains = |name: Slice| name.to_string_lossy().contains(part);
            if !part.is_empty() && !unit.name.is_some_and(contains) {
                return None;
            }
            typed::each_static(unit, &mut |name, variable| all.push((name, variable)));
            None
        });
        all
    }

    /// The first type with this name.
    pub(super) fn named_type(&self, name: &str) -> Option<typed::TypeId> {
        self.each_unit(|unit| typed::named_type(unit, name))
    }

    /// The value of the first enumerator with this name.
    pub(super) fn enumerator(&self, name: &str) -> Option<u64> {
        self.each_unit(|unit| typed::enumerator(unit, name))
    }

    /// The rows of the line table: the first address and the length, the file and the line.
    pub(super) fn rows(&self, low: u64, high: u64) -> Vec<(u64, u64, String, u32)> {
        let Ok(rows) = self.context.find_location_range(low, high) else { return Vec::new() };
        let row = |(start, len, place): (u64, u64, addr2line::Location<'_>)| {
            Some((start, len, place.file?.to_owned(), place.line?))
        };
        rows.filter_map(row).collect()
    }

    /// The code ranges whose line entries, including inlined functions, satisfy a predicate.
    pub(super) fn parts(&mut self, such: &dyn Fn(&Line) -> bool) -> Vec<std::ops::Range<u64>> {
        let Ok(lines) = self.context.find_location_range(0, u64::MAX) else { return Vec::new() };
        let lines: Vec<_> = lines.map(|(start, len, _)| start..start.saturating_add(len)).collect();
        lines.into_iter().filter(|line| self.find(line.start).iter().any(such)).collect()
    }

    /// The code of inlined functions, by the lines of calls in source files that satisfy a predicate.
    pub(super) fn inlined(&mut self, such: &dyn Fn(&str) -> bool) -> Vec<InlinedCall> {
        let Ok(lines) = self.context.find_location_range(0, u64::MAX) else { return Vec::new() };
        let lines: Vec<_> = lines.map(|(start, len, _)| start..start.saturating_add(len)).collect();
        let mut found = Vec::new();
        for code in lines {
            let frames = self.find(code.start);
            let innermost = frames.iter().position(|frame| such(&frame.file));
            for (depth, frame) in frames.iter().enumerate().skip(1) {
                if such(&frame.file) {
                    found.push(InlinedCall {
                        code: code.clone(),
                        file: frame.file.clone(),
                        line: frame.line,
                        is_innermost: innermost == Some(depth),
                        called: (frame.column, frames[depth - 1].function.clone()),
                        callers: frames.len() - depth,
                    });
                }
            }
        }
        found
    }

    /// The functions at an address, innermost first.
    pub(super) fn find(&mut self, address: u64) -> Vec<Line> {
        let mut found = Vec::new();
        let mut looked = self.context.find_frames(address);
        let frames = loop {
            match looked {
                LookupResult::Output(frames) => break frames,
                LookupResult::Load { load, continuation } => {
                    let packed = self.package.as_ref().and_then(|package| {
                        package.find_cu(load.dwo_id, &load.parent).ok().flatten().map(Arc::new)
                    });
                    looked = continuation.resume(packed.or_else(|| self.mapped.split(&load)));
                }
            }
        };
        let Ok(mut frames) = frames else { return found };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|name| name.raw_name().ok());
            let place = frame.location.as_ref();
            found.push(Line {
                function: name.map(Cow::into_owned),
                file: place.and_then(|place| place.file).unwrap_or_default().to_owned(),
                line: place.and_then(|place| place.line).unwrap_or(0),
                column: place.and_then(|place| place.column).unwrap_or(0),
            });
            // Real inlining is never this deep, but corrupt tables can loop.
            if found.len() == 256 {
                break;
            }
        }
        found
    }
}
