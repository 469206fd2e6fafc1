//! The vector registers of a task: the assembly that saves and restores them, which the stubs share
//! that interrupt a program anywhere, and access to those that it saved.
//!
//! The area has the standard format of `xsave` (Intel SDM 1, 13.4), which debuggers read. `xsave` and
//! `xrstor` fill it only while the x87 registers are in use, or on processors that do not report which are:
//! the two take 130 ns together on an AMD EPYC with AVX-512, and the moves here 13 ns.

use crate::sys::dispatch::{VECTOR_MASK, VECTOR_MOVES, VECTOR_OFFSETS, vector_offset};
use std::arch::global_asm;

/// Saves all vector state below the stack: rsp and r12 are then its aligned address. If the program has used the x87
/// registers, they are empty then, as other tasks and functions expect them. Changes rax, rcx and rdx. The
/// template's `size` and `save` are [`VECTOR_SIZE`](crate::sys::dispatch::VECTOR_SIZE) and [`heddle_save_vectors`].
macro_rules! save_vectors {
    () => {
        concat!("mov rax, [rip + {size}]; sub rsp, rax; and rsp, -64; mov r12, rsp;", "call {save}")
    };
}

/// Restores what [`save_vectors`] saved, with r12 as after it. Changes rax, rcx, rdx and the flags. The
/// template's `restore` is [`heddle_restore_vectors`].
macro_rules! restore_vectors {
    () => {
        "call {restore}"
    };
}

/// A line of assembly for each of some registers, whose number is `\\n`.
macro_rules! each {
    ($numbers:literal, $line:literal) => {
        concat!(".irp n, ", $numbers, "\n", $line, "\n.endr")
    };
}

/// The first sixteen vector registers.
macro_rules! each_lower {
    ($line:literal) => {
        each!("0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15", $line)
    };
}

/// Those that only AVX-512 has.
macro_rules! each_upper {
    ($line:literal) => {
        each!("16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31", $line)
    };
}

/// The mask registers.
macro_rules! each_mask {
    ($line:literal) => {
        each!("0, 1, 2, 3, 4, 5, 6, 7", $line)
    };
}

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_save_vectors",
    ".globl heddle_save_vectors",
    "heddle_save_vectors:",
    ".cfi_startproc",
    // Of the header, `xsave` writes the first word only; `xrstor` requires the others to be zero.
    "xor ecx, ecx",
    "mov [r12 + 520], rcx",
    "mov [r12 + 528], rcx",
    "mov [r12 + 536], rcx",
    "mov [r12 + 544], rcx",
    "mov [r12 + 552], rcx",
    "mov [r12 + 560], rcx",
    "mov [r12 + 568], rcx",
    "cmp dword ptr [rip + {moves}], 0",
    "je 3f",
    // Which components are not in their initial state.
    "mov ecx, 1",
    "xgetbv",
    "test al, 1",
    "jnz 3f",
    each_lower!("movaps [r12 + 160 + 16 * \\n], xmm\\n"),
    each_lower!("vextractf128 [r12 + 576 + 16 * \\n], ymm\\n, 1"),
    "cmp dword ptr [rip + {moves}], 2",
    "jne 2f",
    "mov rcx, [rip + {offsets} + 8 * 5]",
    "add rcx, r12",
    each_mask!("kmovq [rcx + 8 * \\n], k\\n"),
    "mov rcx, [rip + {offsets} + 8 * 6]",
    "add rcx, r12",
    each_lower!("vextractf64x4 [rcx + 32 * \\n], zmm\\n, 1"),
    "mov rcx, [rip + {offsets} + 8 * 7]",
    "add rcx, r12",
    each_upper!("vmovdqa64 [rcx + 64 * (\\n - 16)], zmm\\n"),
    "2:",
    // The legacy part of the area, as `xsave` leaves it while the x87 registers are not in use; whatever
    // was there would differ between two iterations of a loop.
    "vpxor xmm0, xmm0, xmm0",
    "vmovdqa [r12], xmm0",
    "vmovdqa [r12 + 16], xmm0",
    "stmxcsr [r12 + 24]",
    "vmovdqa [r12 + 32], ymm0",
    "vmovdqa [r12 + 64], ymm0",
    "vmovdqa [r12 + 96], ymm0",
    "vmovdqa [r12 + 128], ymm0",
    "mov rax, [rip + {mask}]",
    "and eax, -2",
    "mov [r12 + 512], rax",
    "vzeroupper",
    "ret",
    "3:",
    "mov [r12 + 512], rcx",
    "mov eax, [rip + {mask}]",
    "xor edx, edx",
    "xsave64 [r12]",
    "test byte ptr [r12 + 512], 1",
    "jz 4f",
    "fnclex",
    "emms",
    "4:",
    "ret",
    ".cfi_endproc",
    ".p2align 4",
    ".hidden heddle_restore_vectors",
    ".globl heddle_restore_vectors",
    "heddle_restore_vectors:",
    ".cfi_startproc",
    "cmp dword ptr [rip + {moves}], 0",
    "je 3f",
    "test byte ptr [r12 + 512], 1",
    "jnz 3f",
    // Since then, other tasks or a handler of a signal may have used the x87 registers. `xrstor` makes them
    // empty again.
    "mov ecx, 1",
    "xgetbv",
    "test al, 1",
    "jnz 3f",
    // Loading control words is slow, and they are nearly always equal.
    "stmxcsr [rsp - 8]",
    "mov eax, [rsp - 8]",
    "cmp eax, [r12 + 24]",
    "je 1f",
    "ldmxcsr [r12 + 24]",
    "1:",
    each_lower!("vmovdqa xmm\\n, [r12 + 160 + 16 * \\n]"),
    each_lower!("vinsertf128 ymm\\n, ymm\\n, [r12 + 576 + 16 * \\n], 1"),
    "cmp dword ptr [rip + {moves}], 2",
    "jne 2f",
    "mov rcx, [rip + {offsets} + 8 * 5]",
    "add rcx, r12",
    each_mask!("kmovq k\\n, [rcx + 8 * \\n]"),
    "mov rcx, [rip + {offsets} + 8 * 6]",
    "add rcx, r12",
    each_lower!("vinsertf64x4 zmm\\n, zmm\\n, [rcx + 32 * \\n], 1"),
    "mov rcx, [rip + {offsets} + 8 * 7]",
    "add rcx, r12",
    each_upper!("vmovdqa64 zmm\\n, [rcx + 64 * (\\n - 16)]"),
    "2:",
    "ret",
    "3:",
    "mov eax, [rip + {mask}]",
    "xor edx, edx",
    "xrstor64 [r12]",
    "ret",
    ".cfi_endproc",
    moves = sym VECTOR_MOVES,
    mask = sym VECTOR_MASK,
    offsets = sym VECTOR_OFFSETS,
);

unsafe extern "C" {
    /// For [`save_vectors`] alone: its arguments and results are in registers that it names.
    pub(crate) fn heddle_save_vectors();
    /// For [`restore_vectors`] alone, as above.
    pub(crate) fn heddle_restore_vectors();
}

pub(crate) use {restore_vectors, save_vectors};

const SSE: u64 = 1;
const AVX: u64 = 2;
const MASKS: u64 = 5;
const UPPER_HALVES: u64 = 6;
const UPPER_REGISTERS: u64 = 7;

/// The offset of the bits that say which components are not in their initial state.
const IN_USE: usize = 512;
/// The offset of the SSE registers.
const XMM: usize = 160;

/// The area in which `xsave` stored the registers, in the standard format.
#[derive(Debug)]
pub(crate) struct VectorState {
    area: *mut u8,
}

impl VectorState {
    /// # Safety
    ///
    /// `area` is where `xsave` stored all components that the processor has, and nothing else accesses it
    /// while this value exists.
    pub(crate) unsafe fn new(area: *mut u8) -> VectorState {
        VectorState { area }
    }

    /// The component that holds a byte of a vector register, and its address.
    fn place(&self, register: u8, byte: u64) -> (u64, *mut u8) {
        let (register, byte) = (usize::from(register), byte as usize);
        let (component, offset) = match (register, byte) {
            (16.., _) => {
                let offset = vector_offset(UPPER_REGISTERS) + 64 * (register - 16) + byte;
                (UPPER_REGISTERS, offset)
            }
            (_, 32..) => (UPPER_HALVES, vector_offset(UPPER_HALVES) + 32 * register + byte - 32),
            (_, 16..) => (AVX, vector_offset(AVX) + 16 * register + byte - 16),
            _ => (SSE, XMM + 16 * register + byte),
        };
        (component, self.at(offset))
    }

    /// The address at an offset into the area.
    fn at(&self, offset: usize) -> *mut u8 {
        // SAFETY: the offsets are those at which the processor stores its registers, so they are within the
        // area (`new`).
        unsafe { self.area.add(offset) }
    }

    fn in_use(&self) -> u64 {
        // SAFETY: `xsave` wrote the header of the area (`new`).
        unsafe { self.at(IN_USE).cast::<u64>().read_unaligned() }
    }

    /// Makes `xrstor` load a component from the area, instead of setting it to its initial state. `xsave`
    /// has stored all of it in either case.
    fn use_component(&mut self, component: u64) {
        let in_use = self.in_use() | 1 << component;
        // SAFETY: as in `in_use`; `new` promises that nothing else accesses the area.
        unsafe { self.at(IN_USE).cast::<u64>().write_unaligned(in_use) };
    }

    /// A byte of a vector register.
    pub(crate) fn byte(&self, register: u8, byte: u64) -> u64 {
        let (component, place) = self.place(register, byte);
        if self.in_use() >> component & 1 == 0 {
            return 0;
        }
        // SAFETY: the address is within the area, which `xsave` initialised (`new`).
        u64::from(unsafe { place.read() })
    }

    /// An element of a vector register, of at most 8 bytes.
    pub(crate) fn element(&self, register: u8, lane: u64, size: u64) -> u64 {
        let byte = |at: u64| self.byte(register, lane * size + at) << (8 * at);
        (0..size).fold(0, |value, at| value | byte(at))
    }

    /// Changes an element of a vector register, of at most 8 bytes.
    pub(crate) fn set_element(&mut self, register: u8, lane: u64, size: u64, value: u64) {
        for at in 0..size {
            let (component, place) = self.place(register, lane * size + at);
            self.use_component(component);
            // SAFETY: the address is within the area, and nothing else accesses that (`new`).
            unsafe { place.write((value >> (8 * at)) as u8) };
        }
    }

    /// A mask register (AVX-512).
    pub(crate) fn mask(&self, register: u8) -> u64 {
        if self.in_use() >> MASKS & 1 == 0 {
            return 0;
        }
        let place = self.at(vector_offset(MASKS) + 8 * usize::from(register));
        // SAFETY: as in `byte`.
        unsafe { place.cast::<u64>().read_unaligned() }
    }

    /// Changes a mask register.
    pub(crate) fn set_mask(&mut self, register: u8, value: u64) {
        self.use_component(MASKS);
        let place = self.at(vector_offset(MASKS) + 8 * usize::from(register));
        // SAFETY: as in `set_element`.
        unsafe { place.cast::<u64>().write_unaligned(value) };
    }
}

#[cfg(test)]
mod tests;
