//! The program's own modules as the loader mapped them: where their code is, and where each
//! function begins and ends.

use crate::instrument::binary::paths;
use crate::instrument::binary::symbols::Sections;
use gimli::{BaseAddresses, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};
use iced_x86::{Code, Decoder, DecoderOptions, Mnemonic};
use std::ffi::{CStr, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Directories of system libraries, which are not the program's own.
const SYSTEM: [&str; 5] = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/"];

/// Whether a library is the program's own, by its path.
fn is_own(path: &Path) -> bool {
    let real = paths::real(path);
    let path = real.as_deref().unwrap_or(path);
    path.is_absolute() && !SYSTEM.iter().any(|system| path.starts_with(system))
}

/// The dynamic section's tag of the string table.
const NAMES: u64 = 5;

/// The most bytes of a compiler's start-up code, which has no entry in the unwind tables.
const START_UP: u64 = 256;

/// A function, as the unwind tables list it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listed {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Its table of landing pads.
    pub(super) lands: Lands,
}

/// Whether a function has landing pads for exceptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lands {
    Nowhere,
    /// Landing pads, listed in the table at this address.
    By(u64),
    /// The function may have landing pads that are unknown.
    Somewhere,
}

/// Which accesses of a module call the functions of the thread sanitizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instrumentation {
    None,
    /// Atomic accesses only: the plain ones need probes.
    Atomics,
    /// Plain and atomic accesses.
    Full,
}

/// A module's segments.
#[derive(Debug, Default)]
pub(super) struct Image {
    base: u64,
    path: PathBuf,
    segments: Vec<libc::Elf64_Phdr>,
}

/// Libraries that the runtime itself runs on. What their functions do is in the catalogue of effects.
const BASE: [&str; 9] = [
    "libc.so",
    "ld-linux",
    "libm.so",
    "libgcc_s.",
    "libpthread.",
    "librt.",
    "libdl.",
    "libthread_db",
    "linux-vdso",
];

/// How the executable is named among the modules.
const EXECUTABLE: &str = "/proc/self/exe";

/// Whether accesses in a library's code are to be observed, by its path.
pub(super) fn is_observed(path: &Path) -> bool {
    path.is_absolute() && (is_own(path) || is_observed_file(path.as_os_str().as_bytes()))
}

/// The same by the real path of a file, without an allocation.
pub(super) fn is_observed_file(path: &[u8]) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let is_base = BASE.iter().any(|base| name.starts_with(base.as_bytes()));
    !is_base || !SYSTEM.iter().any(|system| path.starts_with(system.as_bytes()))
}

impl Image {
    /// All modules of the process in the loader's order, the executable first.
    pub(super) fn all() -> Vec<Image> {
        extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, to: *mut c_void) -> i32 {
            // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers and a
            // C string, and `to` is the list that was passed to `dl_iterate_phdr`.
            unsafe {
                let headers =
                    std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
                let name = CStr::from_ptr((*info).dlpi_name).to_string_lossy().into_owned();
                let (base, segments) = ((*info).dlpi_addr, headers.to_vec());
                (*to.cast::<Vec<Image>>()).push(Image { base, path: name.into(), segments });
            }
            0
        }
        let mut images: Vec<Image> = Vec::new();
        // SAFETY: the callback has the right type, and the list outlives the call.
        unsafe {
            libc::dl_iterate_phdr(Some(look), (&raw mut images).cast());
        }
        if let Some(program) = images.first_mut() {
            program.path = EXECUTABLE.into();
        }
        images
    }

    /// The executable and the program's own libraries: code that the user can build differently.
    pub(super) fn own() -> Vec<Image> {
        let mut images = Image::all();
        images.retain(Image::is_own);
        images
    }

    pub(crate) fn is_own(&self) -> bool {
        self.path == Path::new(EXECUTABLE) || is_own(&self.path) && !self.is_runtime()
    }

    fn is_runtime(&self) -> bool {
        let (runtime, _) = crate::sys::own_image::text();
        self.bytes(runtime).is_some()
    }

    /// Whether accesses in its code are to be observed: in all modules but the runtime and those that
    /// the runtime itself runs on.
    pub(super) fn is_observed(&self) -> bool {
        self.path == Path::new(EXECUTABLE) || is_observed(&self.path) && !self.is_runtime()
    }

    /// The same for a library that was loaded later, by the path that the loader used.
    pub(super) fn is_observed_by_name(&self) -> bool {
        self.path.is_absolute()
            && is_observed_file(self.path.as_os_str().as_bytes())
            && !self.is_runtime()
    }

    /// The address to which the addresses in its file are relative.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The name of its file, without the directory.
    pub(super) fn file_name(&self) -> String {
        self.path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// The range of its code, from the first byte to the end of the last page.
    pub(super) fn text(&self) -> Option<(u64, u64)> {
        let executable = |segment: &&libc::Elf64_Phdr| segment.p_flags & libc::PF_X != 0;
        let segment = self.of_type(libc::PT_LOAD).find(executable)?;
        Some(self.range(segment))
    }

    fn range(&self, segment: &libc::Elf64_Phdr) -> (u64, u64) {
        let start = self.base + segment.p_vaddr;
        (start, start + segment.p_memsz)
    }

    fn of_type(&self, kind: u32) -> impl Iterator<Item = &libc::Elf64_Phdr> {
        self.segments.iter().filter(move |segment| segment.p_type == kind)
    }

    /// The word of eight bytes at an address.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(address)?.get(..8)?.try_into().ok()?))
    }

    /// The bytes from an address to the end of its segment.
    pub(super) fn bytes(&self, address: u64) -> Option<&'static [u8]> {
        let within = |segment: &&libc::Elf64_Phdr| {
            let (start, end) = self.range(segment);
            segment.p_flags & libc::PF_R != 0 && (start..end).contains(&address)
        };
        let (_, end) = self.range(self.of_type(libc::PT_LOAD).find(within)?);
        // SAFETY: the range is within a loaded, readable segment, which stays mapped while the
        // program runs. Data in a writable segment may change while the slice exists; callers read
        // only what the loader wrote before main, and drop the slice before the program runs again.
        Some(unsafe { std::slice::from_raw_parts(address as *const u8, (end - address) as usize) })
    }

    /// Which accesses the compiler instrumented, by the names that the module imports.
    ///
    /// Every module of a full instrumentation registers itself by `__tsan_init`. LLVM's pass alone
    /// (`-Cpasses=tsan`, without the attribute that asks for plain accesses) instruments nothing
    /// but atomics and registers nothing.
    pub(super) fn instrumentation(&self) -> Instrumentation {
        let names = self.names();
        let has = |wanted: &[u8]| names.windows(wanted.len()).any(|name| name == wanted);
        if has(b"__tsan_init\0") {
            Instrumentation::Full
        } else if has(b"__tsan_") {
            Instrumentation::Atomics
        } else {
            Instrumentation::None
        }
    }

    /// The names that the module imports and exports, each with a zero.
    fn names(&self) -> &'static [u8] {
        const NAMES_LEN: u64 = 10;
        self.table(NAMES, NAMES_LEN).unwrap_or_default()
    }

    /// Whether it imports or exports a symbol of this name, or of one that ends in it.
    pub(super) fn mentions(&self, name: &CStr) -> bool {
        let wanted = name.to_bytes_with_nul();
        self.names().windows(wanted.len()).any(|name| name == wanted)
    }

    /// A table of the dynamic section, by the tags of its address and its length.
    fn table(&self, place: u64, len: u64) -> Option<&'static [u8]> {
        let len = self.entry(len)? as usize;
        self.bytes(self.place(place)?)?.get(..len)
    }

    fn entry(&self, wanted: u64) -> Option<u64> {
        self.dynamic().find(|&(tag, _)| tag == wanted).map(|(_, value)| value)
    }

    /// An address in the dynamic section. The loader relocates it, except in sections that it
    /// cannot write to.
    pub(super) fn place(&self, tag: u64) -> Option<u64> {
        let at = self.entry(tag)?;
        Some(if at < self.base { at + self.base } else { at })
    }

    /// The GOT entries for symbols of other modules, each with the name.
    pub(super) fn slots(&self) -> Vec<(&'static CStr, u64)> {
        const GLOB_DAT: u32 = 6;
        const JUMP_SLOT: u32 = 7;
        self.relocated(&[GLOB_DAT, JUMP_SLOT])
    }

    /// The pointers in the module's data that the loader sets to the address of a symbol, each with the name.
    pub(super) fn pointers(&self) -> Vec<(&'static CStr, u64)> {
        const ADDRESS: u32 = 1;
        self.relocated(&[ADDRESS])
    }

    /// The words that the loader sets by these kinds of relocations, each with the name of the symbol.
    fn relocated(&self, kinds: &[u32]) -> Vec<(&'static CStr, u64)> {
        const SYMBOLS: u64 = 6;
        // The tags of address and length of the relocations for data, and for calls.
        const RELOCATIONS: [(u64, u64); 2] = [(7, 8), (23, 2)];
        let (Some(symbols), Some(names)) = (self.place(SYMBOLS), self.place(NAMES)) else {
            return Vec::new();
        };
        let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(0);
        let slot = |entry: &[u8]| {
            let (offset, info) = (word(&entry[..8]), word(&entry[8..16]));
            if !kinds.contains(&(info as u32)) {
                return None;
            }
            let symbol = self.bytes(symbols + 24 * (info >> 32))?.first_chunk()?;
            let name = self.bytes(names + u64::from(u32::from_le_bytes(*symbol)))?;
            Some((CStr::from_bytes_until_nul(name).ok()?, self.base + offset))
        };
        let tables = RELOCATIONS.iter().filter_map(|&(place, len)| self.table(place, len));
        tables.flat_map(|table| table.chunks_exact(24)).filter_map(slot).collect()
    }

    /// The entries of the dynamic section.
    fn dynamic(&self) -> impl Iterator<Item = (u64, u64)> {
        let table = self.of_type(libc::PT_DYNAMIC).next();
        let bytes = table.and_then(|dynamic| {
            self.bytes(self.base + dynamic.p_vaddr)?.get(..dynamic.p_memsz as usize)
        });
        let word = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).unwrap_or(0);
        let entries = bytes.unwrap_or_default().chunks_exact(16);
        entries
            .map(move |entry| (word(&entry[..8]), word(&entry[8..])))
            .take_while(|&(tag, _)| tag != 0)
    }

    /// Identifies a build of the module: the note with its build id, and the sizes of its segments.
    pub(super) fn identity(&self) -> Vec<u8> {
        let notes = self.of_type(libc::PT_NOTE).filter_map(|segment| {
            let bytes = self.bytes(self.base + segment.p_vaddr)?;
            Some(bytes.get(..segment.p_memsz as usize)?.to_vec())
        });
        let sizes = self.segments.iter().map(|segment| segment.p_filesz.to_le_bytes().to_vec());
        notes.chain(sizes).flatten().collect()
    }

    /// The initialised data of the file: all readable segments that are not code.
    pub(super) fn data(&self) -> impl Iterator<Item = &'static [u8]> {
        let is_data = |segment: &&libc::Elf64_Phdr| {
            segment.p_flags & (libc::PF_X | libc::PF_R) == libc::PF_R && segment.p_filesz >= 8
        };
        self.of_type(libc::PT_LOAD).filter(is_data).map(|segment| {
            let start = self.base + segment.p_vaddr;
            let (from, end) = (start.next_multiple_of(8), start + segment.p_filesz);
            // SAFETY: the first `p_filesz` bytes of a readable segment are mapped while the program
            // runs; callers drop the slice before the program runs again.
            unsafe { std::slice::from_raw_parts(from as *const u8, (end - from) as usize) }
        })
    }

    /// Whether memory at an address cannot change once the program runs.
    pub(super) fn is_constant(&self, address: u64) -> bool {
        let within = |segment: &libc::Elf64_Phdr| {
            let (start, end) = self.range(segment);
            (start..end).contains(&address)
        };
        self.of_type(libc::PT_GNU_RELRO).any(within)
            || self
                .of_type(libc::PT_LOAD)
                .any(|segment| segment.p_flags & libc::PF_W == 0 && within(segment))
    }

    /// Whether the module has unwind tables.
    pub(super) fn lists_functions(&self) -> bool {
        self.of_type(libc::PT_GNU_EH_FRAME).next().is_some()
    }

    /// The functions in the unwind tables, ascending and without overlap.
    pub(super) fn functions(&self, text: (u64, u64)) -> Option<Vec<Listed>> {
        let header = self.of_type(libc::PT_GNU_EH_FRAME).next()?;
        let header_at = self.base + header.p_vaddr;
        let bytes = self.bytes(header_at)?.get(..header.p_memsz as usize)?;
        let bases = BaseAddresses::default().set_eh_frame_hdr(header_at).set_text(text.0);
        let parsed = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
        let gimli::Pointer::Direct(frames_at) = parsed.eh_frame_ptr() else { return None };
        let bases = bases.set_eh_frame(frames_at);
        let frames = EhFrame::new(self.bytes(frames_at)?, LittleEndian);
        let mut functions = Vec::new();
        let mut entries = frames.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            let gimli::CieOrFde::Fde(partial) = entry else { continue };
            let Ok(fde) = partial.parse(EhFrame::cie_from_offset) else { continue };
            let (start, len) = (fde.initial_address(), fde.len());
            if len > 0 && start >= text.0 && start + len <= text.1 {
                let lands = match fde.lsda() {
                    None => Lands::Nowhere,
                    Some(gimli::Pointer::Direct(table)) => Lands::By(table),
                    Some(gimli::Pointer::Indirect(_)) => Lands::Somewhere,
                };
                functions.push(Listed { start, end: start + len, lands });
            }
        }
        functions.sort_unstable_by_key(|function| function.start);
        functions.dedup_by_key(|function| function.start);
        for at in 1..functions.len() {
            functions[at - 1].end = functions[at - 1].end.min(functions[at].start);
        }
        Some(functions)
    }

    /// The range of the `.text` section, if the file still has section headers.
    fn section(&self) -> Option<(u64, u64)> {
        let (address, size) = Sections::of(File::open(&self.path).ok()?)?.range(b".text\0")?;
        let start = self.base + address;
        Some((start, start + size))
    }

    /// The addresses of the functions whose symbols are wanted, each with the result of `wanted`.
    pub(super) fn functions_named<T>(&self, wanted: impl Fn(&[u8]) -> Option<T>) -> Vec<(u64, T)> {
        let sections = File::open(&self.path).ok().and_then(Sections::of);
        let found = sections.and_then(|sections| sections.functions(wanted)).unwrap_or_default();
        found.into_iter().map(|(address, found)| (self.base + address, found)).collect()
    }

    /// The first function that runs at the program's end, which is the compiler's own code.
    fn last_of_all(&self) -> Option<u64> {
        const FINI_ARRAY: u64 = 26;
        let (_, at) = self.dynamic().find(|&(tag, _)| tag == FINI_ARRAY)?;
        self.word(self.base + at)
    }

    /// How many bytes of code belong to no known function, without the padding between functions
    /// and the compiler's start-up code.
    pub(super) fn unlisted(&self, text: (u64, u64), functions: &[Listed]) -> u64 {
        let (start, end) = self.section().unwrap_or(text);
        let last = self.last_of_all();
        let (mut at, mut unlisted) = (start, 0);
        let known = functions.iter().map(|function| (function.start, function.end));
        for (next, behind) in known.chain([(end, end)]) {
            let gap = at..next.min(end);
            let is_start_up = last.is_some_and(|last| gap.contains(&last));
            if !gap.is_empty() {
                let doing = self.unpadded(gap.start, gap.end);
                unlisted += if is_start_up && doing <= START_UP { 0 } else { doing };
            }
            at = at.max(behind);
        }
        unlisted
    }

    /// How many bytes are instructions other than padding.
    fn unpadded(&self, start: u64, end: u64) -> u64 {
        let bytes = self.bytes(start).and_then(|bytes| bytes.get(..(end - start) as usize));
        let Some(bytes) = bytes else { return 0 };
        let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
        let mut doing = 0;
        while decoder.can_decode() {
            let instruction = decoder.decode();
            let at = (instruction.ip() - start) as usize;
            let zeros = bytes[at..(instruction.next_ip() - start) as usize].iter().all(|b| *b == 0);
            // Assemblers put a jump in front of much padding.
            let skips =
                instruction.code() == Code::Jmp_rel32_64 || instruction.code() == Code::Jmp_rel8_64;
            let pads = matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
                || skips && instruction.near_branch_target() == end;
            doing += if pads || zeros { 0 } else { instruction.len() as u64 };
        }
        doing
    }
}
