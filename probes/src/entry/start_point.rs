//! Where executions begin: at `main`, or later if the program chooses that.
//!
//! A program that refers to `heddle_begin` (a weak symbol, so that it also runs without Heddle)
//! runs without control until it calls that function. What it does before, such as reading its
//! input, is done once and not in each execution.

use crate::state::start;
use crate::sys::channel;
use std::ffi::{CStr, c_int, c_void};

/// The symbol to which the program refers.
const NAME: &[u8] = b"heddle_begin";

/// Whether executions begin later than main; called where main begins.
pub(crate) fn is_later() -> bool {
    start::set_cancels(is_referred_to(b"pthread_cancel"));
    let is_later = is_referred_to(NAME);
    start::set_awaited(is_later);
    is_later
}

/// Main returned; a program that refers to `heddle_begin` must have called it.
pub(crate) fn main_returned() {
    if start::is_awaited() {
        channel::fail(
            "its main returned without a call of heddle_begin(), which it refers to: call it where \
             executions are to begin",
        );
    }
}

/// Whether a module of the program refers to a function of this name without defining it.
pub(crate) fn is_referred_to(name: &[u8]) -> bool {
    struct Search<'n> {
        name: &'n [u8],
        found: bool,
    }
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers of a
        // loaded module, and `search` is the local below, to which no other reference is used
        // meanwhile.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let dynamic = headers.iter().find(|header| header.p_type == libc::PT_DYNAMIC);
            let Some(dynamic) = dynamic else { return 0 };
            let base = (*info).dlpi_addr;
            let search = &mut *search.cast::<Search<'_>>();
            let table = (base + dynamic.p_vaddr) as *const [u64; 2];
            search.found |= refers(base, table, search.name);
            c_int::from(search.found)
        }
    }
    let mut search = Search { name, found: false };
    // SAFETY: the callback has the right type, and `search` outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut search).cast());
    }
    search.found
}

/// Whether a module's undefined symbols contain a name. They come first in the symbol table, before
/// those that the hash table covers.
///
/// # Safety
/// `dynamic` is the dynamic section of a loaded module with this base.
unsafe fn refers(base: u64, mut dynamic: *const [u64; 2], wanted: &[u8]) -> bool {
    const END: u64 = 0;
    const STRINGS: u64 = 5;
    const SYMBOLS: u64 = 6;
    const GNU_HASH: u64 = 0x6fff_fef5;
    let (mut strings, mut symbols, mut hash) = (0, 0, 0);
    // SAFETY: the dynamic section of a loaded module ends with `END`. Addresses in it are absolute
    // once the module is loaded, except where the section is read-only (the vDSO's). The tables
    // have the layout of the ELF specification.
    unsafe {
        while (*dynamic)[0] != END {
            let [tag, value] = *dynamic;
            let address = if value < base { base + value } else { value };
            match tag {
                STRINGS => strings = address,
                SYMBOLS => symbols = address,
                GNU_HASH => hash = address,
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
        if strings == 0 || symbols == 0 || hash == 0 {
            return false;
        }
        let first_hashed = *((hash + 4) as *const u32);
        (1..u64::from(first_hashed)).any(|index| {
            let symbol = &*((symbols + index * 24) as *const libc::Elf64_Sym);
            let name = (strings + u64::from(symbol.st_name)) as *const i8;
            symbol.st_shndx == 0 && CStr::from_ptr(name).to_bytes() == wanted
        })
    }
}
