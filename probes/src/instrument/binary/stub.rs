//! The way from a probed instruction to the runtime and back.
//!
//! A jump probe leads to code that calls the stub here, with the probe's number on the stack. For a
//! breakpoint, the signal handler only makes the fiber continue in the same stub, on its own stack;
//! the stub saves all registers and calls [`crate::instrument::binary::probe_hit::heddle_probe`]. Then a copy
//! of the instruction runs, near the program, with all registers restored.

use crate::sys::dispatch::VECTOR_SIZE;
use crate::sys::vector_state::{
    heddle_restore_vectors, heddle_save_vectors, restore_vectors, save_vectors,
};
use std::arch::global_asm;

/// The registers of a task at a probe, in the order of their numbers in instruction encodings. A
/// debugger reads them, too.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Registers {
    pub(super) general: [u64; 16],
    pub(super) flags: u64,
    /// The stub's return address.
    back: u64,
    /// The number of the probe.
    pub(super) probe: u64,
    /// The address of the probed instruction, as the return address for unwinders.
    pub(super) site: u64,
}

impl Registers {
    /// Makes a jump probe continue at the address that [`crate::instrument::binary::probe_hit::heddle_probe`]
    /// returns, as a breakpoint does. Otherwise its own code runs the copy, which follows the call.
    pub(super) fn continue_at_result(&mut self) {
        self.back = heddle_probe_back as *const () as u64;
    }
}

/// How far below the program's stack pointer the stub's frame begins: the red zone, an address, a
/// number, and a return address.
pub(super) const BELOW: u64 = 152;
/// Flags that `sahf` can set from a register: all arithmetic flags except overflow; plus the
/// overflow flag, those that are always set, and the interrupt flag, which is always set in
/// programs.
const COMMON: u32 = 0x8d5 | 0x202;

/// Restores the general registers from a [`Registers`] on the stack, up to its flags, and skips the
/// stack pointer.
macro_rules! pop_general {
    () => {
        concat!(
            "pop rax; pop rcx; pop rdx; pop rbx; lea rsp, [rsp + 8]; pop rbp; pop rsi; pop rdi; pop r8; \
         pop r9; pop r10; pop r11; pop r12; pop r13; pop r14; pop r15"
        )
    };
}

/// Stores the vector registers that the fast path may change.
macro_rules! store_xmm {
    () => {
        concat!(
            "movaps [rsp + 0], xmm0; movaps [rsp + 16], xmm1; movaps [rsp + 32], xmm2; \
         movaps [rsp + 48], xmm3; movaps [rsp + 64], xmm4; movaps [rsp + 80], xmm5; \
         movaps [rsp + 96], xmm6; movaps [rsp + 112], xmm7; movaps [rsp + 128], xmm8; \
         movaps [rsp + 144], xmm9; movaps [rsp + 160], xmm10; movaps [rsp + 176], xmm11; \
         movaps [rsp + 192], xmm12; movaps [rsp + 208], xmm13; movaps [rsp + 224], xmm14; \
         movaps [rsp + 240], xmm15"
        )
    };
}

/// The inverse of `store_xmm`.
macro_rules! load_xmm {
    () => {
        concat!(
            "movaps xmm0, [rsp + 0]; movaps xmm1, [rsp + 16]; movaps xmm2, [rsp + 32]; \
         movaps xmm3, [rsp + 48]; movaps xmm4, [rsp + 64]; movaps xmm5, [rsp + 80]; \
         movaps xmm6, [rsp + 96]; movaps xmm7, [rsp + 112]; movaps xmm8, [rsp + 128]; \
         movaps xmm9, [rsp + 144]; movaps xmm10, [rsp + 160]; movaps xmm11, [rsp + 176]; \
         movaps xmm12, [rsp + 192]; movaps xmm13, [rsp + 208]; movaps xmm14, [rsp + 224]; \
         movaps xmm15, [rsp + 240]"
        )
    };
}

global_asm!(
    ".text",
    ".p2align 4",
    ".hidden heddle_probe_stub",
    ".globl heddle_probe_stub",
    "heddle_probe_stub:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_def_cfa rsp, 152",
    ".cfi_offset rip, -136",
    // No instruction up to here, and none of the pushes, changes a flag.
    "pushfq",
    "push r15",
    "push r14",
    "push r13",
    "push r12",
    "push r11",
    "push r10",
    "push r9",
    "push r8",
    "push rdi",
    "push rsi",
    "push rbp",
    "push rax",
    "push rbx",
    "push rdx",
    "push rcx",
    "push rax",
    "lea rcx, [rsp + {frame}]",
    "mov [rsp + 32], rcx",
    "mov rbx, rsp",
    ".cfi_def_cfa rbx, {frame}",
    ".cfi_offset rbx, -264",
    ".cfi_offset rbp, -248",
    ".cfi_offset r12, -192",
    ".cfi_offset r13, -184",
    ".cfi_offset r14, -176",
    ".cfi_offset r15, -168",
    "cld",
    // The fast path first. It may change no vector state but these registers, which are saved here.
    "sub rsp, 256",
    "and rsp, -64",
    store_xmm!(),
    "mov rdi, rbx",
    "call {seen}",
    load_xmm!(),
    "mov r13, rax",
    "test rax, rax",
    "jnz 2f",
    "mov rsp, rbx",
    "mov rdi, rbx",
    save_vectors!(),
    "mov rsi, r12",
    "call {probe}",
    "mov r13, rax",
    restore_vectors!(),
    "2:",
    "mov rsp, rbx",
    "mov [rsp + 144], r13",
    // `popfq` takes as long as all the rest, so it is only used for flags that arithmetic does not
    // set.
    "mov eax, [rsp + 128]",
    "test eax, {rare}",
    "jnz 3f",
    "mov edx, eax",
    "shr edx, 11",
    "and edx, 1",
    "mov ah, al",
    "mov al, dl",
    "add al, 0x7f",
    "sahf",
    pop_general!(),
    "lea rsp, [rsp + 8]",
    ".cfi_remember_state",
    ".cfi_def_cfa rsp, 152",
    "ret",
    ".cfi_restore_state",
    "3:",
    pop_general!(),
    "popfq",
    ".cfi_def_cfa rsp, 152",
    "ret",
    ".cfi_endproc",
    // For a breakpoint, where nothing called the stub: returns to the copy of the instruction.
    ".hidden heddle_probe_back",
    ".globl heddle_probe_back",
    "heddle_probe_back:",
    ".cfi_startproc",
    ".cfi_signal_frame",
    ".cfi_def_cfa rsp, 144",
    ".cfi_offset rip, -136",
    "ret 136",
    ".cfi_endproc",
    // Where a tail call was made here: returns to the caller of the code that jumps.
    ".hidden heddle_return",
    ".globl heddle_return",
    "heddle_return:",
    ".cfi_startproc",
    "ret",
    ".cfi_endproc",
    frame = const traces::wire::PROBE_FRAME,
    rare = const !COMMON,
    size = sym VECTOR_SIZE,
    save = sym heddle_save_vectors,
    restore = sym heddle_restore_vectors,
    probe = sym crate::instrument::binary::probe_hit::heddle_probe,
    seen = sym crate::instrument::binary::probe_hit::heddle_probe_seen,
);

unsafe extern "C" {
    pub(super) fn heddle_probe_stub();
    pub(super) fn heddle_probe_back();
    pub(super) fn heddle_return();
}
