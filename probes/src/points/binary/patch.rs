//! Changes of the program's text.

use super::plan::JUMP;
use crate::raw;

/// The breakpoint instruction.
pub(super) const BREAKPOINT: u8 = 0xcc;

pub(super) fn protect(start: u64, len: u64, prot: i32) -> bool {
    // SAFETY: the program's text or our own area; nothing runs there meanwhile.
    unsafe { raw::call!(libc::SYS_mprotect, start, len, prot) == 0 }
}

/// Makes the text writable while `change` runs; false if the system does not let us.
pub(super) fn with_text(text: (u64, u64), change: impl FnOnce()) -> bool {
    let len = text.1 - text.0;
    if !protect(text.0, len, libc::PROT_READ | libc::PROT_WRITE) {
        return false;
    }
    change();
    protect(text.0, len, libc::PROT_READ | libc::PROT_EXEC)
}

/// Sets a breakpoint on an instruction.
pub(super) fn breakpoint(address: u64) {
    // SAFETY: the program's text, writable now.
    unsafe { (address as *mut u8).write(BREAKPOINT) };
}

/// Lets a jump take the place of instructions.
pub(super) fn jump(address: u64, target: u64) {
    let distance = target.wrapping_sub(address + JUMP) as u32;
    // SAFETY: as above; the instructions have as many bytes at least.
    unsafe {
        (address as *mut u8).write(0xe9);
        ((address + 1) as *mut u32).write_unaligned(distance);
    }
}

/// Puts back what the program has there.
pub(super) fn restore(address: u64, original: &[u8]) {
    // SAFETY: as above.
    unsafe {
        std::ptr::copy_nonoverlapping(original.as_ptr(), address as *mut u8, original.len());
    }
}
