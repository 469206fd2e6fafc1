//! Reads words that the program probably has mapped, without the kernel.
//!
//! A load that faults continues behind it: the runtime's handler of faults recognises the instruction. Asking the
//! kernel takes a microsecond, and the detector of spin loops reads the object of nearly every step. A fault takes
//! longer than that, and a debugger would show it: so what may well be no address is read by [`raw::read`], and
//! everything while a debugger controls the process.

use crate::sys::{raw, stops};
use std::arch::global_asm;
use std::cell::Cell;

/// Whether the handler of faults is installed.
struct Ready(Cell<bool>);
// SAFETY: a `Cell` hands out no references, and the controlled process has one kernel thread.
unsafe impl Sync for Ready {}
static READY: Ready = Ready(Cell::new(false));

/// What a load found.
#[repr(C)]
struct Loaded {
    value: u64,
    /// 0 if the word is not mapped.
    is_mapped: u64,
}

unsafe extern "C" {
    /// Loads the aligned word at an address.
    fn heddle_load(address: u64) -> Loaded;
    /// Where it continues if the load faults.
    fn heddle_load_failed();
}

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_load",
    ".globl heddle_load",
    "heddle_load:",
    ".cfi_startproc",
    // The instruction at this address is the only one that may fault.
    "mov rax, [rdi]",
    "mov edx, 1",
    "ret",
    ".hidden heddle_load_failed",
    ".globl heddle_load_failed",
    "heddle_load_failed:",
    "xor eax, eax",
    "xor edx, edx",
    "ret",
    ".cfi_endproc",
);

/// The handler of faults is installed from here on.
pub(crate) fn begin() {
    READY.0.set(true);
}

/// Reads memory that is probably mapped; false if it is not.
pub(crate) fn read(address: u64, bytes: &mut [u8]) -> bool {
    // A debugger would see the fault before the handler.
    let is_handled = READY.0.get() && !stops::is_there();
    let loaded = if is_handled { within_word(address, bytes) } else { None };
    loaded.unwrap_or_else(|| raw::read(address, bytes))
}

/// Reads bytes that are within one aligned word, and returns whether they are mapped; none for other bytes. The
/// handler of faults is installed.
fn within_word(address: u64, bytes: &mut [u8]) -> Option<bool> {
    let first = (address & 7) as usize;
    if first + bytes.len() > 8 {
        return None;
    }
    // SAFETY: the load is of an aligned word, and where that is not mapped, the handler of faults continues it
    // (`recovers`).
    let Loaded { value, is_mapped } = unsafe { heddle_load(address & !7) };
    bytes.copy_from_slice(&value.to_ne_bytes()[first..first + bytes.len()]);
    Some(is_mapped != 0)
}

/// Continues a load that faulted; false if the fault is another one.
pub(crate) fn recovers(context: &mut libc::ucontext_t) -> bool {
    let rip = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
    let is_load = *rip as u64 == heddle_load as *const () as u64;
    if is_load {
        *rip = heddle_load_failed as *const () as i64;
    }
    is_load
}

#[cfg(test)]
mod tests {
    use super::{recovers, within_word};

    extern "C" fn on_fault(signal: i32, _: *mut libc::siginfo_t, context: *mut libc::ucontext_t) {
        // SAFETY: the kernel passes a valid context to the handler, which has the only reference to it.
        if !recovers(unsafe { &mut *context }) {
            // SAFETY: the instruction faults once more then, and ends the process.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }

    #[test]
    fn words_are_read_and_unmapped_ones_are_none() {
        let mut bytes = [0xee; 8];
        let words = [0x8877_6655_4433_2211_u64, 0x1111_1111_1111_1111];
        let address = words.as_ptr() as u64;
        // SAFETY: the handler has the type that SA_SIGINFO requires, and the mapping is not used otherwise.
        let page = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::ucontext_t) = on_fault;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()), 0);
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0)
        };
        assert_eq!(within_word(address, &mut bytes), Some(true));
        assert_eq!(bytes, words[0].to_ne_bytes());
        assert_eq!(within_word(address + 3, &mut bytes[..2]), Some(true));
        assert_eq!(bytes[..2], [0x44, 0x55]);
        assert_eq!(within_word(address + 7, &mut bytes[..2]), None, "the bytes are in two words");
        assert_eq!(within_word(page as u64 + 8, &mut bytes), Some(false));
        // No address at all: the processor reports it in another way than a page that is not mapped.
        assert_eq!(within_word(1 << 62, &mut bytes[..1]), Some(false));
    }
}
