//! The vDSO, the kernel's shared object that answers queries for the time without a system call.
//! The C library calls it internally (in `mkstemp`, for example), where interposers do not see it.
//!
//! Its functions are overwritten with the system calls that they replace, which dispatch intercepts
//! like all others; rr does the same (O'Callahan et al., "Engineering Record and Replay for
//! Deployability", 2017, section 2.5).

use crate::sys::raw;
use std::ffi::CStr;

/// The functions to overwrite, and the system calls for them.
const FUNCTIONS: [(&CStr, i64); 5] = [
    (c"__vdso_clock_gettime", libc::SYS_clock_gettime),
    (c"__vdso_gettimeofday", libc::SYS_gettimeofday),
    (c"__vdso_time", libc::SYS_time),
    (c"__vdso_clock_getres", libc::SYS_clock_getres),
    (c"__vdso_getcpu", libc::SYS_getcpu),
];

/// `mov eax, NUMBER; syscall; ret`
fn code(number: i64) -> [u8; 8] {
    let [a, b, c, d, ..] = number.to_le_bytes();
    [0xb8, a, b, c, d, 0x0f, 0x05, 0xc3]
}

/// Overwrites the functions; an error says why that failed. Without a vDSO there is nothing to do.
pub(crate) fn silence() -> Result<(), String> {
    // SAFETY: `getauxval` only reads the auxiliary vector.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    if base == 0 {
        return Ok(());
    }
    for (name, number) in FUNCTIONS {
        if let Some(function) = find(base, name) {
            overwrite(base, function, &code(number))?;
        }
    }
    Ok(())
}

/// The address of a function of the vDSO, by its symbols.
fn find(base: u64, name: &CStr) -> Option<u64> {
    // SAFETY: the kernel maps a complete and valid ELF image at this address, with all its
    // sections, and never unmaps it.
    unsafe {
        let header = &*(base as *const libc::Elf64_Ehdr);
        let sections = std::slice::from_raw_parts(
            (base + header.e_shoff) as *const libc::Elf64_Shdr,
            usize::from(header.e_shnum),
        );
        let symbols = sections.iter().find(|section| section.sh_type == SHT_DYNSYM)?;
        let names = sections.get(symbols.sh_link as usize)?;
        let count = symbols.sh_size as usize / size_of::<libc::Elf64_Sym>();
        let table = (base + symbols.sh_offset) as *const libc::Elf64_Sym;
        std::slice::from_raw_parts(table, count)
            .iter()
            .find(|symbol| {
                let at = base + names.sh_offset + u64::from(symbol.st_name);
                symbol.st_value != 0 && CStr::from_ptr(at as *const _) == name
            })
            // Its addresses are linked to begin at 0.
            .map(|symbol| base + symbol.st_value)
    }
}

const SHT_DYNSYM: u32 = 11;

fn overwrite(base: u64, address: u64, code: &[u8]) -> Result<(), String> {
    // The kernel only changes the protection of the whole vDSO. Its section headers come last.
    //
    // SAFETY: as in `find`.
    let header = unsafe { &*(base as *const libc::Elf64_Ehdr) };
    let sections = size_of::<libc::Elf64_Shdr>() as u64 * u64::from(header.e_shnum);
    let len = (header.e_shoff + sections).next_multiple_of(4096);
    let protect = |protection: i32| {
        // SAFETY: the vDSO's pages, which stay readable and executable.
        unsafe { raw::call!(libc::SYS_mprotect, base, len, protection) }
    };
    let readable = libc::PROT_READ | libc::PROT_EXEC;
    if protect(readable | libc::PROT_WRITE) != 0 {
        return Err(
            "the system refuses to make the vDSO writable, whose clock must be replaced".into()
        );
    }
    // SAFETY: the page is writable now, no code runs in it, and the functions are longer than the
    // eight bytes written: even the smallest reads a clock.
    unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), address as *mut u8, code.len()) };
    protect(readable);
    Ok(())
}
