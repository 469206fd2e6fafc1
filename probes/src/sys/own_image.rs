//! The runtime's own code and variables in this process.

use std::cell::Cell;
use std::ffi::{c_int, c_void};

struct Image {
    text: Cell<(u64, u64)>,
    /// The runtime's own variables: `[start, end)`.
    data: Cell<(u64, u64)>,
}
// SAFETY: the fields are `Cell`s, which hand out no references. They are written by `find`, when
// the process has one thread that runs runtime code, and later only read.
unsafe impl Sync for Image {}
static IMAGE: Image = Image { text: Cell::new((0, 0)), data: Cell::new((0, 0)) };

/// Start and length of this library's code.
pub(crate) fn text() -> (u64, u64) {
    IMAGE.text.get()
}

/// Start and end of this library's variables.
pub(crate) fn data() -> (u64, u64) {
    IMAGE.data.get()
}

/// Finds this library's executable segment by its program headers.
pub(crate) fn find() -> Result<(), String> {
    extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, found: *mut c_void) -> c_int {
        let me = find as *const () as u64;
        // SAFETY: the loader passes a valid description with `dlpi_phnum` program headers, and
        // `found` is the array that `find` passed to `dl_iterate_phdr`.
        unsafe {
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum.into());
            let loads = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
            let start = |header: &libc::Elf64_Phdr| (*info).dlpi_addr + header.p_vaddr;
            let Some(text) = loads().find(|header| {
                let start = start(header);
                header.p_flags & libc::PF_X != 0 && (start..start + header.p_memsz).contains(&me)
            }) else {
                return 0;
            };
            let data = loads().filter(|header| header.p_flags & libc::PF_W != 0);
            let data = data.fold((u64::MAX, 0), |(low, high), header| {
                let end = (start(header) + header.p_memsz).next_multiple_of(4096);
                (low.min(start(header) & !4095), high.max(end))
            });
            *found.cast::<[(u64, u64); 2]>() = [(start(text), text.p_memsz), data];
            1
        }
    }
    let mut found = [(0u64, 0u64); 2];
    // SAFETY: `look` has the type that the function expects and writes only to `found`, which
    // outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
    }
    if found[0].1 == 0 {
        return Err("the runtime cannot find its own code".into());
    }
    IMAGE.text.set(found[0]);
    IMAGE.data.set(found[1]);
    Ok(())
}
