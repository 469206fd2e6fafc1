//! Changes to the program's code.

use crate::instrument::binary::jump_plan::JUMP;
use crate::sys::raw;

/// The breakpoint instruction.
pub(super) const BREAKPOINT: u8 = 0xcc;

pub(super) fn protect(start: u64, len: u64, prot: i32) -> bool {
    // SAFETY: callers pass pages of the program's code or of a trampoline area; no task executes
    // there while they are not executable, since this code runs instead.
    unsafe { raw::call!(libc::SYS_mprotect, start, len, prot) == 0 }
}

/// Writes a breakpoint over an instruction.
pub(super) fn breakpoint(address: u64) {
    // SAFETY: callers pass an address in text that `with_text` has made writable; no reference to
    // the text exists.
    unsafe { (address as *mut u8).write(BREAKPOINT) };
}

/// Writes a jump over instructions.
pub(super) fn jump(address: u64, target: u64) {
    let distance = target.wrapping_sub(address + JUMP) as u32;
    // SAFETY: as above; callers replace instructions of at least five bytes.
    unsafe {
        (address as *mut u8).write(0xe9);
        ((address + 1) as *mut u32).write_unaligned(distance);
    }
}

/// Restores the program's own bytes.
pub(super) fn restore(address: u64, original: &[u8]) {
    // SAFETY: as above; `original` is a separate copy.
    unsafe {
        std::ptr::copy_nonoverlapping(original.as_ptr(), address as *mut u8, original.len());
    }
}
