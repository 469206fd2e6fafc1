//! How a function of the C library is put aside.
//!
//! Each interposer is a stub that notes its return address, which is the *site* of the operation,
//! and jumps to the code that does the work: the stack is as the program's call left it, so that
//! unwinders see nothing unusual.

use std::cell::Cell;

/// Where the program called the interposer that runs now. One kernel thread, so one is enough; it
/// is read before anything else happens.
pub(crate) struct CallSite(pub(crate) Cell<u64>);
// SAFETY: there is one kernel thread.
unsafe impl Sync for CallSite {}

pub(crate) static CALL_SITE: CallSite = CallSite(Cell::new(0));

/// The site of the call that is being served.
#[inline]
pub(crate) fn site() -> u64 {
    CALL_SITE.0.get()
}

/// Defines interposers: exported stubs and the functions they jump to.
///
/// `real NAME(ARGS)` inside a body calls the function that would have been called without us.
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
                        // A debugger may stand here, and looks for the caller.
                        ".cfi_startproc",
                        "mov r11, [rsp]",
                        "mov [rip + {site}], r11",
                        "jmp {work}",
                        ".cfi_endproc",
                        site = sym $crate::interpose::CALL_SITE,
                        work = sym work,
                    )
                }
            };
        )*
    };
}
pub(crate) use interpose;
