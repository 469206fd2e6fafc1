//! Interposition of C library functions.
//!
//! Each interposer is a stub that stores its return address, which is the *site* of the operation,
//! and jumps to the function that does the work. The stack stays as the program's call left it, so
//! unwinders see nothing unusual.

use std::cell::Cell;

/// The return address of the interposer in progress. There is one kernel thread, so one is enough;
/// it is read before any other interposer can be called.
pub(crate) struct CallSite(pub(crate) Cell<u64>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread. (In a
// multithreaded process without a controller the stubs store unsynchronised words here, which
// nothing uses.)
unsafe impl Sync for CallSite {}

pub(crate) static CALL_SITE: CallSite = CallSite(Cell::new(0));

/// The site of the call in progress.
#[inline]
pub(crate) fn site() -> u64 {
    CALL_SITE.0.get()
}

/// Defines interposers: exported stubs and the functions that they jump to.
///
/// Inside a body, `real!(NAME(ARGS) as fn(TYPES) -> TYPE)` calls the interposed function.
macro_rules! interpose {
    ($($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty $body:block)*) => {
        $(
            const _: () = {
                $(#[$meta])*
                #[allow(
                    unused_unsafe,
                    clippy::undocumented_unsafe_blocks,
                    reason = "a body works on what the program gave, by the C function's contract"
                )]
                unsafe extern "C-unwind" fn work($($arg: $type),*) -> $ret $body

                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name() {
                    std::arch::naked_asm!(
                        // A debugger may stop here and look for the caller.
                        ".cfi_startproc",
                        "mov r11, [rsp]",
                        "mov [rip + {site}], r11",
                        "jmp {work}",
                        ".cfi_endproc",
                        site = sym $crate::sys::interpose::CALL_SITE,
                        work = sym work,
                    )
                }
            };
        )*
    };
}
pub(crate) use interpose;
