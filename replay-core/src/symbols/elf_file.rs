//! One ELF file: its bytes, where its parts are loaded, and its build id.

use super::maps::{self, VDSO};
use super::modules::Layout;
use crate::Error;
use gimli::{BaseAddresses, EhFrameHdr, Pointer};
use object::elf::{ET_DYN, ET_EXEC, FileHeader64, PT_GNU_EH_FRAME, PT_LOAD, PT_TLS};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection};
use std::collections::HashMap;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

/// Device, inode, size and time of the last change: the same file with the same content.
type Identity = (u64, u64, u64, i64, i64);
type Cache = HashMap<PathBuf, (Identity, Arc<ElfFile>)>;
type Elf<'data> = ElfFile64<'data, LittleEndian, &'data [u8]>;

/// A build id for a file: the GNU note's, in hexadecimal, or `file-` and a digest of the content.
///
/// # Errors
/// If the file cannot be read.
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

/// A part of a file that is loaded at an address.
#[derive(Debug, Clone, Default)]
pub(super) struct Part {
    pub(super) address: u64,
    pub(super) bytes: Range<usize>,
}

/// One ELF file.
pub(super) struct ElfFile {
    pub(super) path: PathBuf,
    pub(super) layout: Layout,
    /// `.eh_frame_hdr`, `.eh_frame` and `.debug_frame`.
    pub(super) frames: [Part; 3],
    pub(super) bytes: Arc<Bytes>,
}

impl ElfFile {
    /// A file, from the cache if it has not changed.
    pub(super) fn open(path: &Path) -> Option<Arc<ElfFile>> {
        ElfFile::open_at(path, path)
    }

    /// The file that was at `path` when it was mapped and can be read at `at` now.
    pub(super) fn open_at(path: &Path, at: &Path) -> Option<Arc<ElfFile>> {
        // One file for each path: the earlier build of a program that was rebuilt is dropped.
        static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);
        if path == Path::new(VDSO) {
            return vdso();
        }
        let meta = std::fs::metadata(at).ok().filter(std::fs::Metadata::is_file)?;
        let identity = (meta.dev(), meta.ino(), meta.len(), meta.mtime(), meta.mtime_nsec());
        let cache = || CACHE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, file)) = cache().get(path)
            && *known == identity
        {
            return Some(Arc::clone(file));
        }
        let file = Arc::new(ElfFile::parse(path, Bytes::map(at).ok()?)?);
        cache().insert(path.to_owned(), (identity, Arc::clone(&file)));
        Some(file)
    }

    fn parse(path: &Path, bytes: Bytes) -> Option<ElfFile> {
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
        // Only the sections of an object file or a core dump are used.
        if kind != ET_DYN && kind != ET_EXEC {
            layout.segments.clear();
        }
        let mut file = ElfFile { path: path.to_owned(), layout, frames, bytes: Arc::new(bytes) };
        file.frames[1] = eh_frame(&file);
        Some(file)
    }

    /// The GNU build id in hexadecimal, or `file-` and a digest.
    #[must_use]
    pub(super) fn build_id(&self) -> &str {
        &self.layout.build_id
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The content from the address to the end of its segment.
    pub(super) fn part_at(&self, address: u64) -> Option<Part> {
        let [offset, start, size, _] = *self.layout.segments.iter().find(|segment| {
            (segment[1]..segment[1].saturating_add(segment[2])).contains(&address)
        })?;
        let within = address - start;
        part(&self.bytes, address, offset.checked_add(within)?, size - within)
    }

    /// The end of the thread-local variables as an address of the file: in a program it lies at the
    /// thread pointer.
    pub(super) fn thread_local_end(&self) -> Option<u64> {
        let elf = self.elf()?;
        let all = elf.elf_program_headers();
        let segment = all.iter().find(|segment| segment.p_type(LittleEndian) == PT_TLS)?;
        let size = segment.p_memsz(LittleEndian);
        Some(size.next_multiple_of(segment.p_align(LittleEndian).max(1)))
    }

    pub(super) fn elf(&self) -> Option<Elf<'_>> {
        Elf::parse(self.bytes()).ok()
    }
}

/// The `.eh_frame` section, or the one that `.eh_frame_hdr` refers to if the file has no sections.
fn eh_frame(file: &ElfFile) -> Part {
    let [header, section, _] = &file.frames;
    if !section.bytes.is_empty() || header.bytes.is_empty() {
        return section.clone();
    }
    let bytes = file.bytes().get(header.bytes.clone()).unwrap_or_default();
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address);
    let address = match EhFrameHdr::new(bytes, gimli::LittleEndian).parse(&bases, 8) {
        Ok(parsed) => parsed.eh_frame_ptr(),
        Err(_) => return Part::default(),
    };
    // Its length is unknown there; a zero entry terminates it.
    match address {
        Pointer::Direct(address) => file.part_at(address).unwrap_or_default(),
        Pointer::Indirect(_) => Part::default(),
    }
}

/// Finds the sections with call frame information, if the file has sections.
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

/// The kernel's vDSO. It is the same in all processes, so this process's copy is used.
fn vdso() -> Option<Arc<ElfFile>> {
    static VDSO_IMAGE: OnceLock<Option<Arc<ElfFile>>> = OnceLock::new();
    let load = || {
        use std::os::unix::fs::FileExt;
        let maps = maps::read(i32::try_from(std::process::id()).ok()?).ok()?;
        let range = maps.into_iter().find(|mapping| mapping.path == VDSO)?.range;
        let mut bytes = vec![0; usize::try_from(range.end - range.start).ok()?];
        File::open("/proc/self/mem").ok()?.read_exact_at(&mut bytes, range.start).ok()?;
        ElfFile::parse(Path::new(VDSO), Bytes::Owned(bytes)).map(Arc::new)
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
        // SAFETY: the mapping is private and only read. A process that writes to the file meanwhile
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
