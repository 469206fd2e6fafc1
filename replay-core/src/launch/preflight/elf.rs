//! Checks the ELF headers: the program must be a native, dynamically linked glibc program.

use super::super::elf_names::find_symbol;
use super::shown::shown;
use object::LittleEndian;
use object::elf::{self, FileHeader64, Machine};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

type Header = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;
/// The bit of `DT_FLAGS_1` for position-independent executables.
const PIE: u64 = 0x0800_0000;

/// Refuses a file that cannot run under control, with a message of one line.
pub(super) fn check(path: &Path, data: &[u8]) -> Result<(), String> {
    let name = shown(path);
    if data.is_empty() {
        return Err(format!("{name} is empty: build the program again"));
    }
    if !data.starts_with(&elf::ELFMAG) {
        return Err(format!("{name} is {}: give a native Linux program (ELF)", format(data)));
    }
    check_machine(&name, data)?;
    let header = Header::parse(data).map_err(|_| cut_off(&name))?;
    check_type(&name, header)?;
    let image = Image::read(header, data).ok_or_else(|| cut_off(&name))?;
    image.check(path, &name)
}

/// The GNU build id of an ELF file, in hexadecimal.
pub(super) fn build_id(data: &[u8]) -> Option<String> {
    let header = Header::parse(data).ok()?;
    let image = Image::read(header, data)?;
    image.build_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a file that is not an ELF file is.
fn format(data: &[u8]) -> &'static str {
    match data {
        [b'M', b'Z', ..] => "a Windows program",
        [0xcf, 0xfa, 0xed, 0xfe, ..] | [0xce, 0xfa, 0xed, 0xfe, ..] => "a macOS program",
        [0, b'a', b's', b'm', ..] => "a WebAssembly module",
        _ if data.starts_with(b"!<arch>\n") => "a static library",
        _ if data.iter().take(512).all(|&byte| byte >= b' ' || byte.is_ascii_whitespace()) => {
            "text, not a program"
        }
        _ => "not a program",
    }
}

fn cut_off(name: &str) -> String {
    format!("{name} is a damaged or truncated ELF file: build or copy it again")
}

/// Reads the word size and the architecture directly: the layout of the rest of the header depends
/// on them.
fn check_machine(name: &str, data: &[u8]) -> Result<(), String> {
    let Some(bytes) = data.get(18..20) else { return Err(cut_off(name)) };
    let bytes = [bytes[0], bytes[1]];
    let (class, encoding) = (data[4], data[5]);
    let machine = match encoding {
        2 => u16::from_be_bytes(bytes),
        _ => u16::from_le_bytes(bytes),
    };
    match (Machine(machine), class) {
        (elf::EM_X86_64, 2) if encoding == 1 => Ok(()),
        (elf::EM_386, _) => {
            Err(format!("{name} is a 32-bit program (x86): build it for x86-64, without -m32"))
        }
        (elf::EM_X86_64, 1) => {
            Err(format!("{name} is a 32-bit program (x32): build it for x86-64, without -mx32"))
        }
        (elf::EM_X86_64, _) => Err(cut_off(name)),
        (other, _) => Err(format!(
            "{name} is a program for {}: Heddle runs programs for x86-64; build it for this machine",
            architecture(other)
        )),
    }
}

fn architecture(machine: Machine) -> String {
    let name = match machine {
        elf::EM_AARCH64 => "64-bit ARM (aarch64)",
        elf::EM_ARM => "32-bit ARM",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC64 => "64-bit PowerPC",
        elf::EM_S390 => "IBM Z (s390x)",
        elf::EM_LOONGARCH => "LoongArch",
        elf::EM_MIPS => "MIPS",
        Machine(other) => return format!("another architecture (ELF machine {other})"),
    };
    name.to_owned()
}

fn check_type(name: &str, header: &Header) -> Result<(), String> {
    match header.e_type(LE) {
        elf::ET_EXEC | elf::ET_DYN => Ok(()),
        elf::ET_CORE => {
            Err(format!("{name} is a core dump, not a program: give the program that left it"))
        }
        elf::ET_REL => Err(format!("{name} is an object file: link it, and give the program")),
        _ => Err(format!("{name} is not a program: its ELF type is unknown")),
    }
}

/// The relevant parts of an x86-64 ELF file.
#[derive(Default)]
struct Image<'data> {
    interpreter: Option<&'data [u8]>,
    build_id: Option<&'data [u8]>,
    position_independent: bool,
    /// Marked by the linker as a position-independent program.
    marked: bool,
    dynamic: bool,
    soname: bool,
    go: bool,
    /// The sanitizer whose library takes control itself: clang's ThreadSanitizer, linked into the
    /// program, or one that replaces the heap. (The code calls a function of it first.)
    sanitizer: Option<&'static str>,
    /// The code was removed, as by `objcopy --only-keep-debug`.
    debug_only: bool,
}

impl<'data> Image<'data> {
    /// None if the headers refer to data outside of the file.
    fn read(header: &'data Header, data: &'data [u8]) -> Option<Self> {
        let mut image =
            Image { position_independent: header.e_type(LE) == elf::ET_DYN, ..Image::default() };
        let sections = header.sections(LE, data).ok()?;
        for section in sections.iter() {
            match sections.section_name(LE, section).unwrap_or_default() {
                b".go.buildinfo" | b".note.go.buildid" => image.go = true,
                b".text" => image.debug_only = section.sh_type(LE) == elf::SHT_NOBITS,
                _ => {}
            }
        }
        let tables = [elf::SHT_DYNSYM, elf::SHT_SYMTAB];
        image.sanitizer = find_symbol(data, &tables, |name, defined| match name {
            b"__tsan_init" if defined => Some("ThreadSanitizer"),
            b"__asan_init" => Some("AddressSanitizer"),
            b"__hwasan_init" => Some("HWAddressSanitizer"),
            b"__msan_init" => Some("MemorySanitizer"),
            _ => None,
        });
        if image.debug_only {
            // The segments have sizes but no content.
            return Some(image);
        }
        for segment in header.program_headers(LE, data).ok()? {
            // Every loadable segment must be complete, even if it is not examined here.
            segment.data(LE, data).ok()?;
            if let Some(path) = segment.interpreter(LE, data).ok()? {
                image.interpreter = Some(path);
            }
            for entry in segment.dynamic(LE, data).ok()?.unwrap_or(&[]) {
                image.dynamic = true;
                match entry.d_tag(LE) {
                    elf::DT_NULL => break,
                    elf::DT_SONAME => image.soname = true,
                    elf::DT_FLAGS_1 => image.marked = entry.d_val(LE) & PIE != 0,
                    _ => {}
                }
            }
            // Notes are optional; a malformed note does not make the program invalid.
            let mut notes = segment.notes(LE, data).ok().flatten();
            while let Some(Ok(Some(note))) = notes.as_mut().map(|notes| notes.next()) {
                match note.name() {
                    b"GNU" if note.n_type(LE) == elf::NT_GNU_BUILD_ID => {
                        image.build_id = Some(note.desc());
                    }
                    b"Go" => image.go = true,
                    _ => {}
                }
            }
        }
        Some(image)
    }

    fn check(&self, path: &Path, name: &str) -> Result<(), String> {
        if self.debug_only {
            return Err(format!(
                "{name} holds only debug information: give the program that belongs to it"
            ));
        }
        if self.go {
            return Err(format!(
                "{name} is a Go program: goroutines do not use the pthreads library, so Heddle \
                 cannot schedule them; use Go's own race detector"
            ));
        }
        if self.sanitizer == Some("ThreadSanitizer") {
            return Err(format!(
                "{name} is linked to clang's ThreadSanitizer runtime, which takes control itself: \
                 link it with `heddle build -- COMMAND`, which omits that runtime \
                 (-fno-sanitize-link-runtime; gcc: without -static-libtsan) and links the names of \
                 Heddle's own"
            ));
        }
        if let Some(sanitizer) = self.sanitizer {
            return Err(format!(
                "{name} is built with {sanitizer}, whose library must be the first in the process, as \
                 Heddle's must: build it without; Heddle itself reports use after free, double free \
                 and overwritten heap blocks"
            ));
        }
        let Some(interpreter) = self.interpreter else { return Err(self.without(path, name)) };
        if self.soname {
            return Err(format!("{name} is a shared library: give a program that uses it"));
        }
        check_interpreter(name, interpreter)
    }

    /// Why a file without an interpreter cannot be run.
    fn without(&self, path: &Path, name: &str) -> String {
        let base = path.file_name().unwrap_or_default().to_string_lossy();
        if base.starts_with("ld-linux") || base.starts_with("ld-musl") {
            return format!("{name} is the dynamic linker: give the program itself");
        }
        // A static-pie has the ELF type of a shared library, but the linker marks it.
        match (self.position_independent, self.dynamic && !self.marked) {
            (true, true) => format!("{name} is a shared library: give a program that uses it"),
            (true, false) => format!(
                "{name} is statically linked (static-pie): nothing can be preloaded into it; link it dynamically, without -static-pie"
            ),
            (false, _) => format!(
                "{name} is statically linked: nothing can be preloaded into it; link it dynamically, without -static"
            ),
        }
    }
}

fn check_interpreter(name: &str, interpreter: &[u8]) -> Result<(), String> {
    let interpreter = interpreter.strip_suffix(b"\0").unwrap_or(interpreter);
    let file = Path::new(OsStr::from_bytes(interpreter));
    // A symbolic link may hide the real name.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let is = |what: &str| {
        [file, &real]
            .iter()
            .any(|path| path.file_name().is_some_and(|base| base.to_string_lossy().contains(what)))
    };
    if is("musl") {
        return Err(format!(
            "{name} is built for musl: Heddle needs glibc; build it for x86_64-linux-gnu"
        ));
    }
    if is("linker64") {
        return Err(format!("{name} is built for Android: Heddle needs glibc; build it for Linux"));
    }
    if !file.exists() {
        return Err(format!(
            "{name} needs the dynamic linker {}, which does not exist here: build it on this machine, or install what it was built for",
            shown(file)
        ));
    }
    Ok(())
}
