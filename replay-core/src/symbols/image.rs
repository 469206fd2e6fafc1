//! One ELF file: where its parts go, its build id, and the way to its symbols and line tables.

use super::debug::Debug;
use super::maps::Mapping;
use super::pointees::{Inner, Type};
use super::table::Table;
use crate::Error;
use object::elf::{ET_DYN, ET_EXEC, FileHeader64, PT_GNU_EH_FRAME, PT_LOAD};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// The name of the code that the kernel puts into each process.
pub(super) const VDSO: &str = "[vdso]";
const PAGE: u64 = 4096;

/// Device, inode, size and time of the last change: the same file with the same content.
type Identity = (u64, u64, u64, i64, i64);
type Cache = HashMap<PathBuf, (Identity, Arc<Image>)>;
type Elf<'data> = ElfFile64<'data, LittleEndian, &'data [u8]>;

/// A build id for a file: the GNU note's, in hexadecimal, or `file-` and a digest of the content.
///
/// # Errors
/// Where the file cannot be read.
pub fn build_id(path: &Path) -> Result<String, Error> {
    let bytes = Bytes::map(path).map_err(Error::system(path.display().to_string()))?;
    Ok(build_id_of(&bytes))
}

fn build_id_of(bytes: &[u8]) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let elf = Elf::parse(bytes).ok();
    match elf.and_then(|elf| elf.build_id().ok().flatten()) {
        Some(id) if !id.is_empty() => hex(id),
        _ => format!("file-{}", hex(&blake3::hash(bytes).as_bytes()[..20])),
    }
}

/// Where the parts of a file go in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Whether it may be loaded anywhere; otherwise its addresses are those of the process.
    pub movable: bool,
    /// Its segments: offset in the file, address, size in the file, size in memory.
    pub segments: Vec<[u64; 4]>,
    /// See [`build_id`].
    pub build_id: String,
}

impl Layout {
    /// Bias and range of the file, one of whose parts is loaded as `mapping` says.
    #[must_use]
    pub fn place(&self, mapping: &Mapping) -> Option<(u64, Range<u64>)> {
        let down = |value: u64| value & !(PAGE - 1);
        let low = down(self.segments.iter().map(|segment| segment[1]).min()?);
        let high = self.segments.iter().filter_map(|segment| segment[1].checked_add(segment[3]));
        let high = high.max()?.checked_add(PAGE - 1).map(down)?;
        let bias = if self.movable {
            let from = self.segments.iter().find(|[offset, _, size, _]| {
                (down(*offset)..offset.saturating_add(*size)).contains(&mapping.offset)
            })?;
            let address = from[1].wrapping_add(mapping.offset).wrapping_sub(from[0]);
            mapping.range.start.wrapping_sub(address)
        } else {
            0
        };
        let range = bias.wrapping_add(low)..bias.wrapping_add(high);
        range.contains(&mapping.range.start).then_some((bias, range))
    }
}

/// A part of a file that is loaded at an address.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub(super) address: u64,
    pub(super) bytes: Range<usize>,
}

/// One ELF file. All that costs time is done when it is first asked for.
pub struct Image {
    pub(super) path: PathBuf,
    pub(super) layout: Layout,
    /// `.eh_frame_hdr`, `.eh_frame` and `.debug_frame`.
    pub(super) frames: [Part; 3],
    table: OnceLock<Table>,
    separate: OnceLock<Option<Arc<Image>>>,
    /// The line tables; the inner none once they turned out to be unusable.
    debug: Mutex<Option<Option<Debug>>>,
    pub(super) bytes: Arc<Bytes>,
}

impl Image {
    /// The image of a file, from the cache if it is still the same file.
    #[must_use]
    pub fn open(path: &Path) -> Option<Arc<Image>> {
        Image::open_at(path, path)
    }

    /// The image of what was `path` once and can be read at `at` now.
    pub(super) fn open_at(path: &Path, at: &Path) -> Option<Arc<Image>> {
        // One image for a path: what a rebuilt program was before is let go.
        static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
        if path == Path::new(VDSO) {
            return vdso();
        }
        let meta = std::fs::metadata(at).ok().filter(std::fs::Metadata::is_file)?;
        let identity = (meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, image)) = cache().get(path)
            && *known == identity
        {
            return Some(Arc::clone(image));
        }
        let image = Arc::new(Image::parse(path, Bytes::map(at).ok()?)?);
        cache().insert(path.to_owned(), (identity, Arc::clone(&image)));
        Some(image)
    }

    fn parse(path: &Path, bytes: Bytes) -> Option<Image> {
        let header = FileHeader64::<LittleEndian>::parse(&*bytes).ok()?;
        let kind = header.e_type(LittleEndian);
        let mut layout =
            Layout { movable: kind == ET_DYN, segments: Vec::new(), build_id: String::new() };
        let mut frames = [const { Part { address: 0, bytes: 0..0 } }; 3];
        for segment in header.program_headers(LittleEndian, &*bytes).unwrap_or_default() {
            let (offset, size) = segment.file_range(LittleEndian);
            let address = segment.p_vaddr(LittleEndian);
            let memory = segment.p_memsz(LittleEndian);
            let part = || part(&bytes, address, offset, size);
            match segment.p_type(LittleEndian) {
                PT_LOAD => layout.segments.push([offset, address, size, memory]),
                PT_GNU_EH_FRAME => frames[0] = part().unwrap_or_default(),
                _ => {}
            }
        }
        named_sections(&bytes, &mut frames);
        layout.build_id = build_id_of(&bytes);
        // An object file or a core is taken for its sections only.
        if kind != ET_DYN && kind != ET_EXEC {
            layout.segments.clear();
        }
        let mut image = Image {
            path: path.to_owned(),
            layout,
            frames,
            table: OnceLock::new(),
            separate: OnceLock::new(),
            debug: Mutex::new(None),
            bytes: Arc::new(bytes),
        };
        image.frames[1] = super::cfi::eh_frame(&image);
        Some(image)
    }

    /// Its GNU build id in hexadecimal, or `file-` and a digest.
    #[must_use]
    pub fn build_id(&self) -> &str {
        &self.layout.build_id
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content of the file from where `address` is loaded up to the end of its segment.
    pub(super) fn part_at(&self, address: u64) -> Option<Part> {
        let [offset, start, size, _] = *self.layout.segments.iter().find(|segment| {
            (segment[1]..segment[1].saturating_add(segment[2])).contains(&address)
        })?;
        let within = address - start;
        part(&self.bytes, address, offset.checked_add(within)?, size - within)
    }

    pub(super) fn elf(&self) -> Option<Elf<'_>> {
        Elf::parse(self.bytes()).ok()
    }

    /// The symbols, or those of the separate debug file where that has more.
    pub(super) fn table(&self) -> &Table {
        self.table.get_or_init(|| {
            let own = Table::of(self);
            match self.separate() {
                Some(other) if !own.complete => Table::of(other).with(own),
                _ => own,
            }
        })
    }

    /// The parts of its code that belong to such functions (inlined ones, too) or come from such
    /// source files.
    pub(crate) fn parts(
        &self,
        function: &dyn Fn(&str) -> bool,
        file: &dyn Fn(&str) -> bool,
    ) -> Vec<std::ops::Range<u64>> {
        let mut all =
            self.table().functions_called(&|name| function(&super::names::function(name)));
        let mut debug = self.debug.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(loaded) = debug.get_or_insert_with(|| Debug::of(self)) else { return all };
        let wanted = |line: &super::debug::Line| {
            let name = line.function.as_deref();
            file(&line.file) || name.is_some_and(|name| function(&super::names::function(name)))
        };
        // As in `lines`.
        let found = std::panic::AssertUnwindSafe(|| loaded.parts(&wanted));
        match std::panic::catch_unwind(found) {
            Ok(found) => all.extend(found),
            Err(_) => *debug = Some(None),
        }
        all
    }

    /// The file with the debug information, where that is another one.
    pub(super) fn separate(&self) -> Option<&Arc<Image>> {
        self.separate.get_or_init(|| super::separate::find(self)).as_ref()
    }

    /// What the line tables say of an address, innermost first; empty where they say nothing.
    pub(super) fn lines(&self, address: u64) -> Vec<super::debug::Line> {
        self.ask(|debug| debug.find(address))
    }

    /// The part of the static variable at `address` that lies `offset` bytes in it, as in `.lock`.
    pub(super) fn part(&self, address: u64, offset: u64) -> Option<String> {
        self.ask(|debug| debug.part(address, offset))
    }

    /// The local variable of a frame that covers an address of the process.
    pub(super) fn local(
        &self,
        frame: &super::variables::Frame<'_>,
        words: &super::memory::Words<'_>,
        wanted: u64,
    ) -> Option<String> {
        self.ask(|debug| debug.local(frame, words, wanted))
    }

    /// What an expression over a static variable comes to; see [`Debug::static_value`].
    pub(super) fn static_value(
        &self,
        expression: &super::expressions::Expression,
        moved: &dyn Fn(u64) -> Option<u64>,
        words: &super::memory::Words<'_>,
    ) -> Option<Result<String, String>> {
        self.ask(|debug| debug.static_value(expression, moved, words))
    }

    /// What an expression over a local variable that a frame sees comes to.
    pub(super) fn local_value(
        &self,
        expression: &super::expressions::Expression,
        frame: &super::variables::Frame<'_>,
        words: &super::memory::Words<'_>,
    ) -> Option<Result<String, String>> {
        self.ask(|debug| debug.local_value(expression, frame, words))
    }

    /// The variables of a frame.
    pub(super) fn locals(
        &self,
        frame: &super::variables::Frame<'_>,
        words: &super::memory::Words<'_>,
    ) -> Vec<super::variables::Local> {
        self.ask(|debug| debug.locals(frame, words))
    }

    /// The pointers in a value of a type.
    pub(super) fn pointers_in(&self, kind: Type) -> Arc<Vec<Inner>> {
        self.ask(|debug| debug.pointers_in(kind))
    }

    /// The pointers in static variables.
    pub(super) fn static_pointers(&self) -> super::debug::StaticPointers {
        self.ask(Debug::static_pointers)
    }

    /// Whether a unit is written in Rust.
    pub(super) fn is_rust(&self, unit: gimli::DebugInfoOffset) -> bool {
        self.ask(|debug| debug.is_rust(unit))
    }

    /// What lies so many bytes behind a pointer to a type: which element, and the way from there.
    pub(super) fn part_behind(&self, kind: Type, offset: u64) -> (u64, String) {
        self.ask(|debug| debug.part_behind(kind, offset))
    }

    /// What the debug information says; nothing where there is none, or none that can be read.
    fn ask<T: Default>(&self, question: impl FnOnce(&mut Debug) -> T) -> T {
        let mut debug = self.debug.lock().unwrap_or_else(PoisonError::into_inner);
        let loaded = debug.get_or_insert_with(|| Debug::of(self));
        let Some(loaded) = loaded else { return T::default() };
        // The parsers are written to survive corrupt input. Should one not: names are a comfort,
        // and no reason to lose the failure that is being shown.
        let found = std::panic::AssertUnwindSafe(|| question(loaded));
        std::panic::catch_unwind(found).unwrap_or_else(|_| {
            *debug = Some(None);
            T::default()
        })
    }
}

/// The sections with call frame information, where the file has sections.
fn named_sections(bytes: &[u8], frames: &mut [Part; 3]) {
    let Ok(elf) = Elf::parse(bytes) else { return };
    for section in elf.sections() {
        let slot = match section.name_bytes() {
            Ok(b".eh_frame_hdr") => 0,
            Ok(b".eh_frame") => 1,
            Ok(b".debug_frame") => 2,
            _ => continue,
        };
        if let Some((offset, size)) = section.file_range()
            && let Some(part) = part(bytes, section.address(), offset, size)
        {
            frames[slot] = part;
        }
    }
}

fn part(bytes: &[u8], address: u64, offset: u64, size: u64) -> Option<Part> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    (end <= bytes.len()).then_some(Part { address, bytes: start..end })
}

/// The kernel's own module. It is the same in all processes, so this one's will do.
fn vdso() -> Option<Arc<Image>> {
    static VDSO_IMAGE: OnceLock<Option<Arc<Image>>> = OnceLock::new();
    let load = || {
        use std::os::unix::fs::FileExt;
        let maps = super::maps::read(i32::try_from(std::process::id()).ok()?).ok()?;
        let range = maps.into_iter().find(|mapping| mapping.path == VDSO)?.range;
        let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, range.start).ok()?;
        Image::parse(Path::new(VDSO), Bytes::Owned(bytes)).map(Arc::new)
    };
    VDSO_IMAGE.get_or_init(load).clone()
}

/// The content of a file.
pub(super) enum Bytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    fn map(path: &Path) -> std::io::Result<Bytes> {
        let file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(Bytes::Owned(Vec::new()));
        }
        // SAFETY: the mapping is private and only read. Whoever writes into the file meanwhile
        // makes us read nonsense, which every reader of it survives; linkers replace files instead
        // of writing into them, and the kernel keeps a program that runs from being written to.
        unsafe { memmap2::Mmap::map(&file) }.map(Bytes::Mapped)
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}
