//! Breakpoints in the program's text, and copies of the instructions that they stand on.

use crate::raw;
use iced_x86::{BlockEncoder, BlockEncoderOptions, Decoder, DecoderOptions, InstructionBlock};

/// The breakpoint instruction.
const BREAKPOINT: u8 = 0xcc;
/// Behind the copy of an instruction: an indirect jump to where the program goes on, with the address
/// right behind.
const JUMP: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
/// The most bytes of a copy.
pub(super) const COPY: usize = 48;
/// Copies address the program's data relative to where they lie, so they may not be further away.
const REACH: u64 = 1 << 30;

/// Where copies of instructions lie.
#[derive(Debug)]
pub(super) struct Copies {
    start: u64,
    len: usize,
    used: usize,
}

fn protect(start: u64, len: u64, prot: i32) -> bool {
    // SAFETY: the program's text or our own area; nothing runs there meanwhile.
    unsafe { raw::call!(libc::SYS_mprotect, start, len, prot) == 0 }
}

impl Copies {
    /// An area for copies of so many instructions, near the text.
    pub(super) fn map(text: (u64, u64), sites: usize) -> Option<Copies> {
        let len = (sites * COPY).next_multiple_of(4096).max(4096);
        let prot = libc::PROT_READ | libc::PROT_EXEC;
        let flags = libc::MAP_FIXED_NOREPLACE | libc::MAP_NORESERVE;
        // Below first: above the program its heap grows.
        let below = (1..).map(|step| text.0.checked_sub(len as u64 + step * (1 << 20)));
        let below = below.map_while(|at| at.filter(|at| *at >= 1 << 16 && text.0 - at < REACH));
        let above = (0..).map(|step| text.1 + (64 << 20) + step * (1 << 20));
        let above = above.take_while(|at| at + len as u64 - text.0 < REACH);
        below.chain(above).find_map(|at| {
            let at = at & !4095;
            let start = raw::map(at as usize, len, prot, flags)? as u64;
            Some(Copies { start, len, used: 0 })
        })
    }

    /// Lets copies be written, or be run.
    pub(super) fn open(&self, open: bool) -> bool {
        let prot = if open { libc::PROT_WRITE } else { libc::PROT_EXEC };
        protect(self.start, self.len as u64, libc::PROT_READ | prot)
    }

    /// The part in which an address may lie.
    pub(super) fn range(&self) -> (u64, u64) {
        (self.start, self.start + self.len as u64)
    }

    /// Writes a copy of an instruction that goes on behind the original; its address. The area is open.
    pub(super) fn add(&mut self, address: u64, len: usize) -> Option<u64> {
        let at = self.start + self.used as u64;
        // SAFETY: the program's code, without a breakpoint here as there is no copy yet.
        let original = unsafe { std::slice::from_raw_parts(address as *const u8, len) };
        let instructions = [Decoder::with_ip(64, original, address, DecoderOptions::NONE).decode()];
        let block = InstructionBlock::new(&instructions, at);
        let code = BlockEncoder::encode(64, block, BlockEncoderOptions::NONE).ok()?.code_buffer;
        let mut bytes = code;
        bytes.extend(JUMP);
        bytes.extend((address + len as u64).to_le_bytes());
        if bytes.len() > COPY || self.used + COPY > self.len {
            return None;
        }
        // SAFETY: within the area, which is open.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        self.used += COPY;
        Some(at)
    }
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

/// Sets a breakpoint on an instruction, or takes it away.
pub(super) fn set(address: u64, original: u8, on: bool) {
    let byte = if on { BREAKPOINT } else { original };
    // SAFETY: the program's text, writable now.
    unsafe { (address as *mut u8).write(byte) };
}
